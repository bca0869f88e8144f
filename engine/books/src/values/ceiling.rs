//! Ceilings: the most of a currency that a balance is filled up to, and that one amount can be.

use super::currency::Currency;
use super::money::Minor;

/// The most of a currency, in its minor units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ceiling {
    /// That deposits fill a balance up to.
    pub balance: Minor,
    /// That one deposit, one bet or one limit can be.
    pub amount: Minor,
}

/// By the digits of the minor unit, 0 to 4: about as many major units of each, and fewer where the minor unit is finer.
const CEILINGS: [Ceiling; 5] = [
    Ceiling { balance: Minor(10_000_000_000_000), amount: Minor(100_000_000_000) },
    Ceiling { balance: Minor(100_000_000_000_000), amount: Minor(1_000_000_000_000) },
    Ceiling { balance: Minor(1_000_000_000_000_000), amount: Minor(10_000_000_000_000) },
    Ceiling { balance: Minor(1_000_000_000_000_000), amount: Minor(10_000_000_000_000) },
    Ceiling { balance: Minor(1_000_000_000_000_000), amount: Minor(10_000_000_000_000) },
];

impl Currency {
    /// The most that an account of this currency is filled up to, and that one call moves.
    #[must_use]
    pub fn ceiling(self) -> Ceiling {
        let digits = usize::try_from(self.digits()).unwrap_or(usize::MAX);
        CEILINGS[digits.min(CEILINGS.len() - 1)]
    }
}
