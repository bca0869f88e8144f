//! Accounts and postings (PL-09, BW-18). The postings of a commit sum to zero per currency. Money enters the system only
//! through [`Account::External`], [`Account::SeedFunding`] and [`Account::Promotion`], whose balances become negative.

use core::fmt;

use super::currency::Currency;
use super::money::Nano;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Account<'a> {
    /// Player's cash; never negative.
    Player {
        operator: &'a str,
        player: &'a str,
    },
    /// Withdrawals minus deposits.
    External(&'a str),
    House(&'a str),
    /// Source of the bets of free rounds (PL-18).
    Promotion(&'a str),
    /// Credits due to seamless wallets (PL-31).
    Transit(&'a str),
    /// Contributions not yet in the pool, in EUR.
    ContributionsDue(&'a str),
    /// Contributions since the latest jackpot, in EUR.
    Increments(&'a str),
    /// Money that earlier jackpots left in the pool, in EUR.
    Reserve(&'a str),
    /// Counter account for money that the house paid into the pool, in EUR.
    SeedFunding(&'a str),
    /// Awards that are not paid yet, in EUR.
    JackpotPayable(&'a str),
    /// Counter account for exchanges between EUR and other currencies.
    Exchange,
    /// Money that left a retired pool and has not reached the receiving pool yet, in EUR.
    Transfer,
    /// Contributions owed to other partitions, minus awards that the other partitions owe, in EUR (see `PartitionReported`).
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
    /// Posted amount; negative for the paying account.
    pub amount: Nano,
}
