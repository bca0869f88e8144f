//! Amounts as exact integers: [`Minor`] for accounts, [`Nano`] (1e-9) for pools (BW-11), [`CoinValue`] (1e-6) for
//! coins. An overflow returns a [`MoneyError`].

use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Serialize};

use super::currency::Currency;
use super::decimal;
use super::error::MoneyError;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Minor(pub i64);

impl Minor {
    pub const ZERO: Self = Self(0);

    #[must_use]
    pub fn checked_add(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).map(Self)
    }

    #[must_use]
    pub fn checked_sub(self, other: Self) -> Option<Self> {
        self.0.checked_sub(other.0).map(Self)
    }

    /// Cannot overflow.
    #[must_use]
    pub fn to_nano(self, currency: Currency) -> Nano {
        Nano(i128::from(self.0) * currency.nanos_per_minor())
    }

    #[must_use]
    pub fn to_decimal(self, currency: Currency) -> String {
        let digits = currency.digits();
        decimal::format(i128::from(self.0), digits, digits as usize)
    }
}

impl fmt::Display for Minor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Nano(pub i128);

impl Nano {
    pub const ZERO: Self = Self(0);
    pub const DIGITS: u32 = 9;
    pub const PER_MAJOR: i128 = 1_000_000_000;

    #[must_use]
    pub const fn major(units: i64) -> Self {
        Self(units as i128 * Self::PER_MAJOR)
    }

    #[must_use]
    pub fn checked_add(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).map(Self)
    }

    #[must_use]
    pub fn checked_sub(self, other: Self) -> Option<Self> {
        self.0.checked_sub(other.0).map(Self)
    }
}

impl core::ops::Neg for Nano {
    type Output = Self;

    fn neg(self) -> Self {
        Self(self.0.saturating_neg())
    }
}

impl fmt::Display for Nano {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&decimal::format(self.0, Self::DIGITS, 2))
    }
}

impl FromStr for Nano {
    type Err = MoneyError;

    fn from_str(text: &str) -> Result<Self, MoneyError> {
        decimal::parse(text, Self::DIGITS).map(Self).ok_or(MoneyError::Malformed)
    }
}

impl Currency {
    #[must_use]
    pub fn nanos_per_minor(self) -> i128 {
        10i128.pow(Nano::DIGITS - self.digits())
    }
}

/// Coin value in 1e-6 of a major unit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CoinValue(pub u64);

impl CoinValue {
    pub const DIGITS: u32 = 6;
}

impl fmt::Display for CoinValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&decimal::format(i128::from(self.0), Self::DIGITS, 0))
    }
}

impl FromStr for CoinValue {
    type Err = MoneyError;

    fn from_str(text: &str) -> Result<Self, MoneyError> {
        let micros = decimal::parse(text, Self::DIGITS).ok_or(MoneyError::Malformed)?;
        u64::try_from(micros).map(Self).map_err(|_| MoneyError::Malformed)
    }
}

/// The result is rounded half to even (PL-09).
pub fn cash(coins: u64, coin: CoinValue, currency: Currency) -> Result<Minor, MoneyError> {
    i128::from(coins)
        .checked_mul(i128::from(coin.0))
        .and_then(|micros| {
            let micros_per_minor = 10i128.pow(CoinValue::DIGITS - currency.digits());
            decimal::divide_half_even(micros, micros_per_minor)
        })
        .and_then(|minor| i64::try_from(minor).ok())
        .map(Minor)
        .ok_or(MoneyError::OutOfRange)
}
