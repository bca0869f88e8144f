//! Currencies with a minor unit in ISO 4217 (list one as of 2026-01-01), and XTS as play money (PL-35).

use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Serialize};

use super::error::MoneyError;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u8")]
pub struct Currency(u8);

/// Currency codes and numbers of decimal digits. Logged records refer to currencies by position in this list, so new
/// currencies are appended, and withdrawn currencies stay.
#[rustfmt::skip]
static CURRENCIES: [(&str, u32); 166] = [
    ("EUR", 2), ("USD", 2), ("SEK", 2), ("JPY", 0), ("KWD", 3), ("XTS", 2), ("AED", 2), ("AFN", 2), ("ALL", 2),
    ("AMD", 2), ("AOA", 2), ("ARS", 2), ("AUD", 2), ("AWG", 2), ("AZN", 2), ("BAM", 2), ("BBD", 2), ("BDT", 2),
    ("BHD", 3), ("BIF", 0), ("BMD", 2), ("BND", 2), ("BOB", 2), ("BOV", 2), ("BRL", 2), ("BSD", 2), ("BTN", 2),
    ("BWP", 2), ("BYN", 2), ("BZD", 2), ("CAD", 2), ("CDF", 2), ("CHE", 2), ("CHF", 2), ("CHW", 2), ("CLF", 4),
    ("CLP", 0), ("CNY", 2), ("COP", 2), ("COU", 2), ("CRC", 2), ("CUP", 2), ("CVE", 2), ("CZK", 2), ("DJF", 0),
    ("DKK", 2), ("DOP", 2), ("DZD", 2), ("EGP", 2), ("ERN", 2), ("ETB", 2), ("FJD", 2), ("FKP", 2), ("GBP", 2),
    ("GEL", 2), ("GHS", 2), ("GIP", 2), ("GMD", 2), ("GNF", 0), ("GTQ", 2), ("GYD", 2), ("HKD", 2), ("HNL", 2),
    ("HTG", 2), ("HUF", 2), ("IDR", 2), ("ILS", 2), ("INR", 2), ("IQD", 3), ("IRR", 2), ("ISK", 0), ("JMD", 2),
    ("JOD", 3), ("KES", 2), ("KGS", 2), ("KHR", 2), ("KMF", 0), ("KPW", 2), ("KRW", 0), ("KYD", 2), ("KZT", 2),
    ("LAK", 2), ("LBP", 2), ("LKR", 2), ("LRD", 2), ("LSL", 2), ("LYD", 3), ("MAD", 2), ("MDL", 2), ("MGA", 2),
    ("MKD", 2), ("MMK", 2), ("MNT", 2), ("MOP", 2), ("MRU", 2), ("MUR", 2), ("MVR", 2), ("MWK", 2), ("MXN", 2),
    ("MXV", 2), ("MYR", 2), ("MZN", 2), ("NAD", 2), ("NGN", 2), ("NIO", 2), ("NOK", 2), ("NPR", 2), ("NZD", 2),
    ("OMR", 3), ("PAB", 2), ("PEN", 2), ("PGK", 2), ("PHP", 2), ("PKR", 2), ("PLN", 2), ("PYG", 0), ("QAR", 2),
    ("RON", 2), ("RSD", 2), ("RUB", 2), ("RWF", 0), ("SAR", 2), ("SBD", 2), ("SCR", 2), ("SDG", 2), ("SGD", 2),
    ("SHP", 2), ("SLE", 2), ("SOS", 2), ("SRD", 2), ("SSP", 2), ("STN", 2), ("SVC", 2), ("SYP", 2), ("SZL", 2),
    ("THB", 2), ("TJS", 2), ("TMT", 2), ("TND", 3), ("TOP", 2), ("TRY", 2), ("TTD", 2), ("TWD", 2), ("TZS", 2),
    ("UAH", 2), ("UGX", 0), ("USN", 2), ("UYI", 0), ("UYU", 2), ("UYW", 4), ("UZS", 2), ("VED", 2), ("VES", 2),
    ("VND", 0), ("VUV", 0), ("WST", 2), ("XAD", 2), ("XAF", 0), ("XCD", 2), ("XCG", 2), ("XOF", 0), ("XPF", 0),
    ("YER", 2), ("ZAR", 2), ("ZMW", 2), ("ZWG", 2),
];

impl Currency {
    /// Currency of every pool (BW-12).
    pub const EUR: Self = Self(0);
    pub const USD: Self = Self(1);
    pub const SEK: Self = Self(2);
    pub const JPY: Self = Self(3);
    pub const KWD: Self = Self(4);
    /// Play money (PL-17), with the code that ISO 4217 reserves for tests.
    pub const PLAY: Self = Self(5);

    pub fn all() -> impl Iterator<Item = Self> {
        (0u8..).zip(&CURRENCIES).map(|(place, _)| Self(place))
    }

    #[must_use]
    pub fn code(self) -> &'static str {
        CURRENCIES[usize::from(self.0)].0
    }

    #[must_use]
    pub fn digits(self) -> u32 {
        CURRENCIES[usize::from(self.0)].1
    }

    #[must_use]
    pub fn is_real(self) -> bool {
        self != Self::PLAY
    }
}

impl TryFrom<u8> for Currency {
    type Error = MoneyError;

    fn try_from(place: u8) -> Result<Self, MoneyError> {
        CURRENCIES.get(usize::from(place)).map(|_| Self(place)).ok_or(MoneyError::UnknownCurrency)
    }
}

impl FromStr for Currency {
    type Err = MoneyError;

    fn from_str(code: &str) -> Result<Self, MoneyError> {
        Self::all().find(|currency| currency.code() == code).ok_or(MoneyError::UnknownCurrency)
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl fmt::Debug for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}
