//! Accounts and postings: double-entry bookkeeping (PL-09, BW-18).
//!
//! The sum over all accounts is zero per currency at every position. Money enters and leaves only through
//! [`Account::External`], [`Account::SeedFunding`] and [`Account::Promotion`], which are negative by the amounts paid
//! in.

use core::fmt;

use super::currency::Currency;
use super::money::Nano;

/// Account of the books.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Account<'a> {
    /// Player's cash, never negative.
    Player {
        /// Operator.
        operator: &'a str,
        /// Player.
        player: &'a str,
    },
    /// Outside world of an operator: withdrawals minus deposits.
    External(&'a str),
    /// Operator's house: bets minus wins and contributions.
    House(&'a str),
    /// Minus the bets of free rounds, paid by the operator's promotion (PL-18).
    Promotion(&'a str),
    /// Credits due to an operator's wallet (PL-31).
    Transit(&'a str),
    /// Pool's contributions bet but not pooled, less those voided but not taken back; EUR.
    ContributionsDue(&'a str),
    /// K, increments of the running cycle; EUR.
    Increments(&'a str),
    /// R, reserve of a pool; EUR.
    Reserve(&'a str),
    /// Minus H, seed funding by the house; EUR.
    SeedFunding(&'a str),
    /// Pool's awards priced but not paid; EUR.
    JackpotPayable(&'a str),
    /// Exchange of EUR for the player's currency.
    Exchange,
    /// Money between retired pools and their receivers; EUR.
    Transfer,
    /// Debt of this partition to others for contributions, less theirs for awards (see
    /// [`PartitionReported`](crate::PartitionReported)); EUR. The sum over all partitions is the money logged by one
    /// side only.
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

/// Change of an account's holding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Posting<'a> {
    /// Account.
    pub account: Account<'a>,
    /// Currency.
    pub currency: Currency,
    /// Change, negative for the giving account.
    pub amount: Nano,
}
