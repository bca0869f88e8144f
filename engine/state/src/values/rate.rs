use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Serialize};

use super::currency::Currency;
use super::decimal;
use super::error::MoneyError;
use super::money::{CoinValue, Minor, Nano};

/// Exchange rate in EUR per major unit: `mantissa * 10^exponent`, positive and normalised. Mantissa and exponent are
/// limited so that pool arithmetic fits in 128 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FxRate {
    mantissa: u64,
    exponent: i8,
}

impl FxRate {
    pub const ONE: Self = Self { mantissa: 1, exponent: 0 };
    pub const MANTISSA_LIMIT: u64 = 1_000_000_000_000;
    pub const EXPONENT_MIN: i8 = -12;
    pub const EXPONENT_MAX: i8 = 6;

    pub fn new(mantissa: u64, exponent: i8) -> Result<Self, MoneyError> {
        let (mut mantissa, mut exponent) = (mantissa, exponent);
        while mantissa != 0 && mantissa % 10 == 0 && exponent < Self::EXPONENT_MAX {
            mantissa /= 10;
            exponent += 1;
        }
        let fits = (1..Self::MANTISSA_LIMIT).contains(&mantissa)
            && (Self::EXPONENT_MIN..=Self::EXPONENT_MAX).contains(&exponent);
        if fits { Ok(Self { mantissa, exponent }) } else { Err(MoneyError::OutOfRange) }
    }

    #[must_use]
    pub fn mantissa(self) -> u64 {
        self.mantissa
    }

    #[must_use]
    pub fn exponent(self) -> i8 {
        self.exponent
    }

    pub(crate) fn fraction(self) -> (i128, i128) {
        let power = 10i128.pow(u32::from(self.exponent.unsigned_abs()));
        if self.exponent < 0 { (i128::from(self.mantissa), power) } else { (i128::from(self.mantissa) * power, 1) }
    }

    /// Returns the largest number of minor units worth at most `eur`.
    pub fn minor_within(self, eur: Nano, currency: Currency) -> Result<Minor, MoneyError> {
        let (numerator, denominator) = self.fraction();
        let minor = eur.0.checked_mul(denominator).map(|n| n.div_euclid(currency.nanos_per_minor() * numerator));
        minor.and_then(|minor| i64::try_from(minor).ok()).map(Minor).ok_or(MoneyError::OutOfRange)
    }

    /// See BW-21.
    #[must_use]
    pub fn coin_within(self, coin: CoinValue, base: CoinValue) -> bool {
        let (numerator, denominator) = self.fraction();
        i128::from(coin.0) * numerator <= i128::from(base.0) * denominator
    }
}

impl fmt::Display for FxRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (numerator, denominator) = self.fraction();
        let places = if denominator == 1 { 0 } else { u32::from(self.exponent.unsigned_abs()) };
        f.write_str(&decimal::format(numerator, places, 0))
    }
}

impl FromStr for FxRate {
    type Err = MoneyError;

    /// Fails if the text has more than twelve decimals.
    fn from_str(text: &str) -> Result<Self, MoneyError> {
        let places = u32::from(Self::EXPONENT_MIN.unsigned_abs());
        let mut value = decimal::parse(text, places).ok_or(MoneyError::Malformed)?;
        let mut exponent = Self::EXPONENT_MIN;
        while value != 0 && value % 10 == 0 && exponent < Self::EXPONENT_MAX {
            value /= 10;
            exponent += 1;
        }
        let mantissa = u64::try_from(value).map_err(|_| MoneyError::Malformed)?;
        Self::new(mantissa, exponent)
    }
}

/// 10^18 EUR.
const CONTRIBUTION_MAX: Nano = Nano(1_000_000_000 * 1_000_000_000 * Nano::PER_MAJOR);

/// Returns the contribution of a bet in EUR (BW-11), rounded half to even to 1e-9. Fails if the contribution exceeds 10^18
/// EUR, so that sums fit in 128 bits.
pub fn contribution(bet: Minor, currency: Currency, rate: FxRate, ppm: u32) -> Result<Nano, MoneyError> {
    let (numerator, denominator) = rate.fraction();
    let product = i128::from(bet.0).checked_mul(numerator).and_then(|n| n.checked_mul(i128::from(ppm)));
    let exact = || {
        let scale = currency.nanos_per_minor();
        let divisor = denominator * 1_000_000;
        let (scale, divisor) = if divisor >= scale { (1, divisor / scale) } else { (scale / divisor, 1) };
        decimal::divide_half_even(product?.checked_mul(scale)?, divisor)
    };
    exact().map(Nano).filter(|amount| *amount <= CONTRIBUTION_MAX).ok_or(MoneyError::OutOfRange)
}

pub type Rates<'a> = &'a dyn Fn(Currency) -> Option<FxRate>;

/// The result is rounded down, so that a loss (a negative amount) never becomes zero.
pub(crate) fn exchange(amount: i128, from: Currency, to: Currency, rates: Rates<'_>) -> Option<i128> {
    if from == to {
        return Some(amount);
    }
    let minor = |amount: i128| Minor(i64::try_from(amount).unwrap_or(i64::MAX));
    let eur = contribution(minor(amount.abs()), from, rates(from)?, 1_000_000).ok()?;
    let whole = i128::from(rates(to)?.minor_within(eur, to).ok()?.0);
    Some(if amount < 0 { -whole - 1 } else { whole })
}
