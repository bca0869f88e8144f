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

#[cfg(test)]
mod tests {
    use super::*;

    /// DM-17's table: halves to the even cent, and 21 coins at 0.004 pay 0.08.
    #[test]
    fn dm_17_halves_go_to_the_even_cent() {
        for (tenths, cents) in [
            (14, 1),
            (16, 2),
            (5, 0),
            (15, 2),
            (25, 2),
            (35, 4),
            (45, 4),
            (55, 6),
            (65, 6),
            (75, 8),
            (85, 8),
            (95, 10),
            (84, 8),
        ] {
            assert_eq!(half_even(tenths, 10), cents, "{tenths} tenths");
        }
        assert_eq!(CoinWorth::new(4_000, 10_000).minor(21), 8);
    }

    #[test]
    fn dm_12_a_mean_is_an_exact_fraction() {
        let mean = |sum_micros, count| CoinWorth::mean(MeanCoin { sum_micros, count }, 10_000);
        // 0.01, 0.01 and 0.02: 100 coins of 0.01333... are 133.33 cents.
        assert_eq!(mean(40_000, 3).minor(100), 133);
        assert_eq!(mean(30_000, 2).minor(1), 2);
        assert_eq!(mean(50_000, 2).minor(1), 2);
    }

    #[test]
    fn large_wins_do_not_overflow() {
        assert_eq!(CoinWorth::new(10_000_000, 10_000).minor(u64::MAX / 1_000), u64::MAX / 1_000 * 1_000);
        assert_eq!(CoinWorth::new(u64::MAX, 1).minor(u64::MAX), u64::MAX);
    }
}
