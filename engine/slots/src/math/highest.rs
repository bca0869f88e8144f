//! The highest win of a round, "win up to" (WF-04, PL-13): a proven bound of the win, and of the chance to win as much.
//!
//! Where free spins can be won in free spins without limit there is no highest win. Then the figure is that of a round
//! whose free spins win none, and the chance is that of a round that wins as much or more by whatever it is dealt.
//!
//! The chance of a series is bounded by Chernoff's method. A free spin wins `X`, from 0 to `M` bets and `m` on average,
//! and awards `A` more, at most `a`. The exponential is convex, so `e^tX - 1 <= (e^tM - 1) X / M`, and
//! `E[e^(tX + cA)] <= E[e^cA] + (e^tM - 1) e^ca m / M`. Where that is at most `e^c`, `e^(t won + c left)` is a
//! supermartingale of the series, which begins at `e^cn`: so `n` free spins with all that they award win `W` or more
//! with a chance of at most `e^(cn - tW)`. Any `c` gives a bound; some are tried.

use num_traits::ToPrimitive;

use crate::contract::par::{Exact, exact, float};

/// A free spin with what it may win and award.
#[derive(Clone, Debug)]
pub struct FreeSpin {
    /// Most bets that it wins.
    pub most: Exact,
    /// Bets that it wins on average.
    pub mean: Exact,
    /// Free spins that it awards, with their chances; the rest awards none.
    pub awards: Vec<(u32, f64)>,
}

impl FreeSpin {
    /// The decimal logarithm of a bound of the chance that so many of them, with all that they award, win as much as
    /// all of them at their most.
    #[must_use]
    pub fn log_chance_of_most(&self, spins: u32) -> f64 {
        self.log_chance_of(spins, &(exact(spins) * &self.most))
    }

    /// Decimal logarithm of a bound of the chance: a series that starts with so many free spins wins so many bets.
    #[must_use]
    pub fn log_chance_of(&self, spins: u32, bets: &Exact) -> f64 {
        let share = float(&self.mean) / float(&self.most);
        // In the most of a spin; rounded down by more than its error.
        let wanted = float(bets) / float(&self.most) * (1.0 - 1e-12);
        let highest = self.awards.iter().map(|of| of.0).max().unwrap_or(0);
        let awarding: f64 = self.awards.iter().map(|of| of.1).sum();
        // For a c, the most that t M may be.
        let bound = |c: f64| {
            let awards: f64 = self.awards.iter().map(|&(spins, chance)| chance * (c * f64::from(spins)).exp()).sum();
            let room = c.exp() - (1.0 - awarding + awards);
            let most = (1.0 + (room / share) * (-c * f64::from(highest)).exp()).ln();
            c * f64::from(spins) - wanted * most.max(0.0)
        };
        let tried = (1..=400).map(|step| bound(f64::from(step) / 1_000.0)).filter(|bound| bound.is_finite());
        tried.fold(0.0, f64::min) / std::f64::consts::LN_10
    }
}

/// The decimal logarithm of a chance above 0.
#[must_use]
pub fn log_chance(of: &Exact) -> f64 {
    // Numerator and denominator may be beyond a float's range: their bits give the difference.
    let log = |n: &num_bigint::BigInt| {
        let shift = n.bits().saturating_sub(60);
        let head = (n >> shift).to_f64().unwrap_or(f64::NAN);
        head.log10() + shift as f64 * std::f64::consts::LOG10_2
    };
    log(of.numer()) - log(of.denom())
}

/// The exponent of the lowest power of ten that is no less than this chance, given as its logarithm. Roundings of
/// floats are far below the hundredth that's added.
#[must_use]
pub fn exponent(log_chance: f64) -> i32 {
    // Chances are above 10^-10000, and at most 1.
    #[expect(clippy::cast_possible_truncation, reason = "within 32 bits by far")]
    let exponent = (log_chance + 0.01).ceil() as i32;
    exponent.min(0)
}
