//! Coin values as fractions of a minor unit, and the effect of rounding (DM-17).

use crate::contract::par::Exact;

/// Coin in minor units, in lowest terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CoinFraction {
    /// Numerator, above 0.
    pub numerator: u64,
    /// Denominator, above 0.
    pub denominator: u64,
}

impl CoinFraction {
    /// Creates the fraction from values above 0, in millionths of the major unit.
    #[must_use]
    pub fn new(coin_micros: u64, minor_micros: u64) -> Self {
        let common = gcd(coin_micros, minor_micros).max(1);
        Self { numerator: coin_micros / common, denominator: (minor_micros / common).max(1) }
    }

    /// Returns whether `coins` are whole minor units.
    #[must_use]
    pub fn whole(self, coins: u64) -> bool {
        coins.is_multiple_of(self.denominator)
    }
}

/// Effect of rounding on a return.
#[derive(Clone, Debug, PartialEq)]
pub struct Rounding {
    /// Return in coins.
    pub rtp: Exact,
    /// Change of the return, negative if rounding takes.
    pub adds: Exact,
    /// Change of the round's own wins, without collections.
    pub adds_to_own: Exact,
    /// Upper bound of the increase of a round's standard deviation, in bets.
    pub spread_at_most: f64,
    /// Error bound of `adds`.
    pub within: Exact,
    /// Upper bound of the further change by a mean of several coin values (DM-12).
    pub mixed_at_most: Exact,
    /// Published return.
    pub published: Exact,
}

pub(crate) fn gcd(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}
