//! Upper bounds on a round's highest win and its probability (WF-04, PL-13).
//!
//! The probability is bounded by Chernoff's method. If `t` and `c` satisfy the last line below, `e^(t won + c left)` is
//! a supermartingale, where `won` is the total win in bets, and `left` is the number of free spins left. The
//! supermartingale starts at `e^cn`, so `n` free spins, together with all free spins that they award, win at least `W`
//! bets with a probability of at most `e^(cn - tW)`.
//!
//! ```text
//! a free spin wins X bets, 0 <= X <= M, with mean m, and awards A free spins
//! e^tX - 1 <= (e^tM - 1) X / M                                     by convexity
//! E[e^(tX + cA)] <= E[e^cA] + (e^tM - 1) e^ca m / M                for A <= a
//!                <= e^c
//! ```

use num_traits::ToPrimitive;

use crate::contract::par::{Exact, exact, float};

#[derive(Clone, Debug)]
pub struct FreeSpin {
    pub most: Exact,
    pub mean: Exact,
    pub awards: Vec<(u32, f64)>,
}

impl FreeSpin {
    #[must_use]
    pub fn log_chance_of_most(&self, spins: u32) -> f64 {
        self.log_chance_of(spins, &(exact(spins) * &self.most))
    }

    /// Returns the decimal logarithm of an upper bound on the probability that `spins` free spins win `bets`.
    #[must_use]
    pub fn log_chance_of(&self, spins: u32, bets: &Exact) -> f64 {
        let share = float(&self.mean) / float(&self.most);
        let wanted = float(bets) / float(&self.most) * (1.0 - 1e-12);
        let highest = self.awards.iter().map(|of| of.0).max().unwrap_or(0);
        let awarding: f64 = self.awards.iter().map(|of| of.1).sum();
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

#[must_use]
pub fn log_chance(of: &Exact) -> f64 {
    let log = |n: &num_bigint::BigInt| {
        let shift = n.bits().saturating_sub(60);
        let head = (n >> shift).to_f64().unwrap_or(f64::NAN);
        head.log10() + shift as f64 * std::f64::consts::LOG10_2
    };
    log(of.numer()) - log(of.denom())
}

#[must_use]
pub fn exponent(log_chance: f64) -> i32 {
    #[expect(clippy::cast_possible_truncation, reason = "far below 32 bits")]
    let exponent = (log_chance + 0.01).ceil() as i32;
    exponent.min(0)
}
