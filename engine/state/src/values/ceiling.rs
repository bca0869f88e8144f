use super::currency::Currency;
use super::money::Minor;

/// Limits on bets and deposits in a currency, in minor units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ceiling {
    /// Maximum balance after a deposit.
    pub balance: Minor,
    pub amount: Minor,
}

const CEILINGS: [Ceiling; 5] = [
    Ceiling { balance: Minor(10_000_000_000_000), amount: Minor(100_000_000_000) },
    Ceiling { balance: Minor(100_000_000_000_000), amount: Minor(1_000_000_000_000) },
    Ceiling { balance: Minor(1_000_000_000_000_000), amount: Minor(10_000_000_000_000) },
    Ceiling { balance: Minor(1_000_000_000_000_000), amount: Minor(10_000_000_000_000) },
    Ceiling { balance: Minor(1_000_000_000_000_000), amount: Minor(10_000_000_000_000) },
];

impl Currency {
    #[must_use]
    pub fn ceiling(self) -> Ceiling {
        let digits = usize::try_from(self.digits()).unwrap_or(usize::MAX);
        CEILINGS[digits.min(CEILINGS.len() - 1)]
    }
}
