//! Accounts and postings (PL-09, BW-18), which sum to zero per currency. Money enters only through
//! [`Account::External`], [`Account::SeedFunding`] and [`Account::Promotion`], which become negative.

use core::fmt;

use super::currency::Currency;
use super::money::Nano;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Account<'a> {
    /// Cash, never negative.
    Player {
        operator: &'a str,
        player: &'a str,
    },
    /// Outside: withdrawals minus deposits.
    External(&'a str),
    House(&'a str),
    /// Minus the bets of free rounds (PL-18).
    Promotion(&'a str),
    /// Credits due (PL-31).
    Transit(&'a str),
    /// EUR; not pooled yet.
    ContributionsDue(&'a str),
    /// K; EUR.
    Increments(&'a str),
    /// R; EUR.
    Reserve(&'a str),
    /// Minus H; EUR.
    SeedFunding(&'a str),
    /// EUR; not paid yet.
    JackpotPayable(&'a str),
    /// Exchange of EUR for currencies.
    Exchange,
    /// Money of retired pools in transit; EUR.
    Transfer,
    /// Debt to other partitions for contributions, less theirs for awards (see
    /// [`PartitionReported`](crate::PartitionReported)); EUR.
    Interpartition,
}

impl fmt::Display for Account<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Player { operator, player } => write!(f, "player/{operator}/{player}"),
            Self::External(operator) => write!(f, "external/{operator}"),
            Self::House(operator) => write!(f, "house/{operator}"),
            Self::Promotion(operator) => write!(f, "promotion/{operator}"),
            Self::Transit(operator) => write!(f, "transit/{operator}"),
            Self::ContributionsDue(pool) => write!(f, "contributions-due/{pool}"),
            Self::Increments(pool) => write!(f, "increments/{pool}"),
            Self::Reserve(pool) => write!(f, "reserve/{pool}"),
            Self::SeedFunding(pool) => write!(f, "seed-funding/{pool}"),
            Self::JackpotPayable(pool) => write!(f, "jackpot-payable/{pool}"),
            Self::Exchange => f.write_str("exchange"),
            Self::Transfer => f.write_str("transfer"),
            Self::Interpartition => f.write_str("interpartition"),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Posting<'a> {
    pub account: Account<'a>,
    pub currency: Currency,
    /// Negative for the giving account.
    pub amount: Nano,
}
