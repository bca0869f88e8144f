//! A coin as a fraction of a minor unit, and what rounding wins to whole minor units does to a game's return (DM-17).

use crate::contract::par::Exact;

/// The worth of a coin in minor units, in lowest terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CoinFraction {
    /// Above 0.
    pub numerator: u64,
    /// Above 0; 1 where a coin is whole minor units.
    pub denominator: u64,
}

impl CoinFraction {
    /// Of a coin value where a minor unit is worth so much, both in millionths of the major unit and above 0.
    #[must_use]
    pub fn new(coin_micros: u64, minor_micros: u64) -> Self {
        let common = gcd(coin_micros, minor_micros).max(1);
        Self { numerator: coin_micros / common, denominator: (minor_micros / common).max(1) }
    }

    /// Whether so many coins are whole minor units.
    #[must_use]
    pub fn whole(self, coins: u64) -> bool {
        coins.is_multiple_of(self.denominator)
    }
}

/// The effect of rounding on the return of a game.
#[derive(Clone, Debug, PartialEq)]
pub struct Rounding {
    /// The return in coins.
    pub rtp: Exact,
    /// The part that rounding adds, for a player who keeps to the coin value; below 0 where it takes.
    pub adds: Exact,
    /// The same of what each round wins by itself, without what is collected over rounds.
    pub adds_to_own: Exact,
    /// The most that it adds to the standard deviation of a round, in bets.
    pub spread_at_most: f64,
    /// How far what it adds may be from the truth.
    pub within: Exact,
    /// The most that it adds or takes besides, whatever coin values were played before: where what was collected at
    /// several is played at their mean (DM-12).
    pub mixed_at_most: Exact,
    /// The published return.
    pub published: Exact,
}

/// The greatest number that divides both; the other one where one is 0.
pub(crate) fn gcd(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}
