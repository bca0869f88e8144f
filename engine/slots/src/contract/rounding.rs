use crate::contract::par::Exact;

/// Value of a coin in minor units, as a positive fraction in lowest terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CoinFraction {
    pub numerator: u64,
    pub denominator: u64,
}

impl CoinFraction {
    #[must_use]
    pub fn new(coin_micros: u64, minor_micros: u64) -> Self {
        let common = gcd(coin_micros, minor_micros).max(1);
        Self { numerator: coin_micros / common, denominator: (minor_micros / common).max(1) }
    }

    #[must_use]
    pub fn whole(self, coins: u64) -> bool {
        coins.is_multiple_of(self.denominator)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Rounding {
    pub rtp: Exact,
    /// Mean amount by which rounding changes a round's win, in coins.
    pub adds: Exact,
    pub adds_to_own: Exact,
    /// Upper bound on the amount that rounding adds to the standard deviation of a round's win, in bets.
    pub spread_at_most: f64,
    /// Largest possible error of `adds`.
    pub within: Exact,
    /// Upper bound on the additional rounding error of spins that pay at the mean coin value of several rounds (DM-12).
    pub mixed_at_most: Exact,
    pub published: Exact,
}

pub(crate) fn gcd(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}
