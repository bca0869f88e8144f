//! Converts coins to whole minor units, rounded half to even (PL-09, DM-17).

use crate::contract::outcome::MeanCoin;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoinWorth {
    numerator: u64,
    denominator: u64,
}

impl CoinWorth {
    #[must_use]
    pub fn new(coin_micros: u64, minor_micros: u64) -> Self {
        Self { numerator: coin_micros, denominator: minor_micros.max(1) }
    }

    #[must_use]
    pub fn mean(of: MeanCoin, minor_micros: u64) -> Self {
        Self { numerator: of.sum_micros, denominator: minor_micros.saturating_mul(of.count).max(1) }
    }

    /// Returns the amount in minor units, rounded half to even; returns `u64::MAX` on overflow.
    #[inline]
    #[must_use]
    pub fn minor(self, coins: u64) -> u64 {
        match coins.checked_mul(self.numerator) {
            Some(product) if product.is_multiple_of(self.denominator) => product / self.denominator,
            _ => half_even(u128::from(coins) * u128::from(self.numerator), u128::from(self.denominator)),
        }
    }
}

#[must_use]
pub fn half_even(numerator: u128, denominator: u128) -> u64 {
    let (whole, rest) = (numerator / denominator, numerator % denominator);
    let up = match (rest * 2).cmp(&denominator) {
        std::cmp::Ordering::Greater => 1,
        std::cmp::Ordering::Equal => whole % 2,
        std::cmp::Ordering::Less => 0,
    };
    u64::try_from(whole + up).unwrap_or(u64::MAX)
}
