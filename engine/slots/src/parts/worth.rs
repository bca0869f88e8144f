//! The worth of coins in whole minor units of a currency, rounded half to even (PL-09, DM-17).

use crate::contract::outcome::MeanCoin;

/// The worth of one coin in minor units, an exact fraction: 0.004 EUR is 4,000 / 10,000 of a cent. An average of coin
/// values (DM-12) is the same with a sum above and a count more below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoinWorth {
    numerator: u64,
    denominator: u64,
}

impl CoinWorth {
    /// `coin_micros` of the major unit, counted in minor units of `minor_micros` (10,000 for a cent); both above 0.
    #[must_use]
    pub fn new(coin_micros: u64, minor_micros: u64) -> Self {
        Self { numerator: coin_micros, denominator: minor_micros.max(1) }
    }

    /// The mean of several coin values, counted in minor units of `minor_micros`.
    #[must_use]
    pub fn mean(of: MeanCoin, minor_micros: u64) -> Self {
        Self { numerator: of.sum_micros, denominator: minor_micros.saturating_mul(of.count).max(1) }
    }

    /// Coins in minor units, halves to even. Saturates at the largest number, which no bet offered comes near.
    #[inline]
    #[must_use]
    pub fn minor(self, coins: u64) -> u64 {
        match coins.checked_mul(self.numerator) {
            Some(product) if product.is_multiple_of(self.denominator) => product / self.denominator,
            _ => half_even(u128::from(coins) * u128::from(self.numerator), u128::from(self.denominator)),
        }
    }
}

/// A fraction as the nearest whole number, halves to even (1.5 is 2, 2.5 is 2). The denominator is above 0.
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
