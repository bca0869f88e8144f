//! How far the return of a sound game may be from its mathematics (PL-23).
//!
//! A row sums independent rounds: of one stake, or of many, each weighted by what was staked. With weights `w`, the
//! effective number of rounds is `(sum w)^2 / sum w^2`: a few large stakes among many small ones count as few. A band
//! holds at every look at once: a sound row leaves it, ever in its life, with a chance of at most [`FALSE_ALARM`].
//!
//! Wins are rare and great, so the normal band is wrong for few rounds, and the band of the highest win so wide that it
//! hides everything. So the two sides are bound differently, both for any number of rounds and any tail:
//!
//! * **Too much**: each win counts up to a cap only, the higher the more rounds there are. What is left of the wins has at
//!   most their mean and their variance, and Freedman's inequality bounds its sum (Freedman 1975, Theorem 1.6).
//! * **Too little**: wins are never below 0, so that their sum has a lower tail like a normal one's with the second moment
//!   in place of the variance (Maurer 2003).
//!
//! Both take stakes that depend on what was won before. Variances are summed as `w^2 sigma^2`; the bound of a sum below
//! `1.25^k` holds for all looks with such a sum at once, and the chances of all `k` add up to the stated one.
//!
//! Statistics, not money: floating point is enough here.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The chance that a sound row is ever out of its band, however often it's looked at.
pub(crate) const FALSE_ALARM: f64 = 1e-4;

/// How much the sum of variances grows until the bound is drawn anew.
const GROWTH: f64 = 1.25;
/// The cap is this many times what moves the band by a third: `cap z^2 / 6` is a quarter of `z s`.
const CAP: f64 = 1.5;

/// The exact mathematics of a round at one stake, in bets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Theory {
    /// The return.
    pub(crate) rtp: f64,
    /// The least that it is while nothing has been collected or unlocked; the same where nothing is.
    pub(crate) rtp_least: f64,
    /// The standard deviation of a round, or more.
    pub(crate) std_dev: f64,
}

/// Wins of rounds at one stake, by their size in bets: class `c` has those from `2^c` on, below `2^(c + 1)`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Wins {
    /// Rounds, those that won nothing too.
    pub(crate) rounds: u64,
    classes: BTreeMap<i32, (u64, f64)>,
}

impl Wins {
    /// Counts a round that won so many bets.
    pub(crate) fn add(&mut self, bets: f64) {
        self.rounds += 1;
        if bets > 0.0 {
            #[allow(clippy::cast_possible_truncation, reason = "a logarithm of a 64-bit figure is small")]
            let class = self.classes.entry(bets.log2().floor() as i32).or_default();
            class.0 += 1;
            class.1 += bets;
        }
    }

    /// Counts those of another as well.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.rounds += other.rounds;
        for (class, (count, bets)) in &other.classes {
            let class = self.classes.entry(*class).or_default();
            class.0 += count;
            class.1 += bets;
        }
    }

    /// Their sum in bets.
    fn sum(&self) -> f64 {
        self.classes.values().map(|(_, bets)| bets).sum()
    }

    /// Their sum in bets, each counted up to `2^class` only.
    #[allow(clippy::cast_precision_loss, reason = "statistics")]
    fn capped(&self, class: i32) -> f64 {
        let each = |(of, (count, bets)): (&i32, &(u64, f64))| {
            if *of < class { *bets } else { *count as f64 * f64::from(class).exp2() }
        };
        self.classes.iter().map(each).sum()
    }
}

/// Rounds of one stake within a row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part<'a> {
    /// The weight of each round.
    pub(crate) weight: f64,
    pub(crate) wins: &'a Wins,
    pub(crate) theory: Theory,
}

/// A row against its mathematics; returns in what was staked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Verdict {
    /// The return.
    pub(crate) rtp: f64,
    /// The return by the mathematics.
    pub(crate) theoretical_rtp: f64,
    /// `(sum w)^2 / sum w^2`.
    pub(crate) effective_rounds: f64,
    /// How far above it may be, each win counted up to the cap.
    pub(crate) above: f64,
    /// How far below.
    pub(crate) below: f64,
    /// It's further.
    pub(crate) out_of_band: bool,
}

/// Holds a row against its mathematics. `owed` is what sound rounds may have won besides, weighted as they are: what was
/// given away.
pub(crate) fn verdict(parts: &[Part<'_>], owed: f64) -> Verdict {
    verdict_at(parts, owed, FALSE_ALARM)
}

/// The same for another chance of a false alarm.
#[allow(clippy::cast_precision_loss, reason = "statistics")]
fn verdict_at(parts: &[Part<'_>], owed: f64, false_alarm: f64) -> Verdict {
    let sum = |of: &dyn Fn(&Part<'_>) -> f64| parts.iter().map(|part| part.wins.rounds as f64 * of(part)).sum::<f64>();
    let staked = sum(&|part| part.weight).max(f64::MIN_POSITIVE);
    let squares = sum(&|part| part.weight.powi(2)).max(f64::MIN_POSITIVE);
    let expected = sum(&|part| part.weight * part.theory.rtp);
    let least = sum(&|part| part.weight * part.theory.rtp_least);
    let variance = sum(&|part| (part.weight * part.theory.std_dev).powi(2));
    let second = sum(&|part| part.weight.powi(2) * (part.theory.std_dev.powi(2) + part.theory.rtp.powi(2)));
    let won: f64 = parts.iter().map(|part| part.weight * part.wins.sum()).sum();

    let (z, s) = bound(variance, false_alarm);
    let cap = CAP * s / z;
    let capped = parts.iter().map(|part| {
        #[allow(clippy::cast_possible_truncation, reason = "a logarithm is small")]
        let class = (cap / part.weight).log2().floor() as i32;
        part.weight * part.wins.capped(class)
    });
    let tail = cap * z * z / 6.0;
    let above = tail + (tail * tail + z * z * s * s).sqrt() + owed;
    let (z, s) = bound(second, false_alarm);
    let below = z * s;
    Verdict {
        rtp: won / staked,
        theoretical_rtp: expected / staked,
        effective_rounds: staked * staked / squares,
        above: above / staked,
        below: (below + expected - least) / staked,
        out_of_band: capped.sum::<f64>() - expected > above || won - least < -below,
    }
}

/// Deviations on either side, and the deviation, of a sum of variances: of the end of the stretch that it's in.
fn bound(variances: f64, false_alarm: f64) -> (f64, f64) {
    let stretch = variances.max(1.0).log(GROWTH).ceil();
    // Over all stretches 1 / ((k + 1) (k + 2)) adds up to 1; half of the chance is for either side.
    let chance = false_alarm / 2.0 / ((stretch + 1.0) * (stretch + 2.0));
    ((-2.0 * chance.ln()).sqrt(), GROWTH.powf(stretch).sqrt())
}

#[cfg(test)]
mod tests;
