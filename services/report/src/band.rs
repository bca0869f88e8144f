//! Bounds on the deviation of a correct game's live return from its exact return (PL-23).
//!
//! A row of the report sums the wins of independent rounds. Each win is divided by its bet, then multiplied by a weight
//! `w`: the bet in rows weighted by stake, otherwise 1. The probability that the row of a correct game is ever outside
//! its band is at most [`FALSE_ALARM`]. This probability covers all checks together, for any number of rounds and any
//! distribution of wins:
//!
//! * **Too high**: each win is counted only up to a cap, which rises with the number of rounds. Freedman's inequality bounds
//!   the sum of the capped wins (Freedman 1975, Theorem 1.6).
//! * **Too low**: wins are not negative, so their sum is `t` below its mean with a probability of at most
//!   `exp(-t^2 / 2v)`, where `v` is the sum of the weighted wins' second moments (Maurer 2003).
//!
//! The bounds hold even if players choose stakes depending on earlier wins. The variance of a row is the sum of
//! `w^2 sigma^2` over its rounds, where `sigma` is the standard deviation of a round's win in bets. Possible variances
//! are divided into ranges; range `k` ends at `1.25^k`. One bound holds for all checks in a range, and the false-alarm
//! probabilities of all ranges add up to [`FALSE_ALARM`].

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub(crate) const FALSE_ALARM: f64 = 1e-4;

const GROWTH: f64 = 1.25;
const CAP: f64 = 1.5;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Theory {
    pub(crate) rtp: f64,
    pub(crate) rtp_least: f64,
    pub(crate) std_dev: f64,
}

/// Number of wins per size class. Class `c` contains wins of at least `2^c` and less than `2^(c + 1)` bets.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Wins {
    pub(crate) rounds: u64,
    classes: BTreeMap<i32, (u64, f64)>,
}

impl Wins {
    pub(crate) fn add(&mut self, bets: f64) {
        self.rounds += 1;
        if bets > 0.0 {
            #[allow(
                clippy::cast_possible_truncation,
                reason = "the logarithm of a 64-bit number fits into the integer type"
            )]
            let class = self.classes.entry(bets.log2().floor() as i32).or_default();
            class.0 += 1;
            class.1 += bets;
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.rounds += other.rounds;
        for (class, (count, bets)) in &other.classes {
            let class = self.classes.entry(*class).or_default();
            class.0 += count;
            class.1 += bets;
        }
    }

    fn sum(&self) -> f64 {
        self.classes.values().map(|(_, bets)| bets).sum()
    }

    #[allow(clippy::cast_precision_loss, reason = "statistics")]
    fn capped(&self, class: i32) -> f64 {
        let each = |(of, (count, bets)): (&i32, &(u64, f64))| {
            if *of < class { *bets } else { *count as f64 * f64::from(class).exp2() }
        };
        self.classes.iter().map(each).sum()
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Stratum<'a> {
    pub(crate) weight: f64,
    pub(crate) wins: &'a Wins,
    pub(crate) theory: Theory,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Verdict {
    pub(crate) rtp: f64,
    pub(crate) theoretical_rtp: f64,
    pub(crate) effective_rounds: f64,
    pub(crate) above: f64,
    pub(crate) below: f64,
    pub(crate) out_of_band: bool,
}

/// Compares a row's wins with the band of a correct game. `owed` raises the upper bound by the maximum that gifts of
/// crystals, and rounding at mean coin values, add to the weighted wins.
pub(crate) fn verdict(parts: &[Stratum<'_>], owed: f64) -> Verdict {
    verdict_at(parts, owed, FALSE_ALARM)
}

#[allow(clippy::cast_precision_loss, reason = "statistics")]
fn verdict_at(parts: &[Stratum<'_>], owed: f64, false_alarm: f64) -> Verdict {
    let sum =
        |of: &dyn Fn(&Stratum<'_>) -> f64| parts.iter().map(|part| part.wins.rounds as f64 * of(part)).sum::<f64>();
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
        #[allow(clippy::cast_possible_truncation, reason = "the logarithm fits into the integer type")]
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

/// For a row whose variances add up to `variances`, returns the number of standard deviations that the false-alarm
/// probability allows, and the standard deviation at the end of the row's range of variances.
fn bound(variances: f64, false_alarm: f64) -> (f64, f64) {
    let stretch = variances.max(1.0).log(GROWTH).ceil();
    let chance = false_alarm / 2.0 / ((stretch + 1.0) * (stretch + 2.0));
    ((-2.0 * chance.ln()).sqrt(), GROWTH.powf(stretch).sqrt())
}

#[cfg(test)]
mod tests;
