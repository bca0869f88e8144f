//! Accounts and postings: the double-entry view of every event (PL-09, BW-18).
//!
//! An account holds nano-units per currency; what one account gives another takes, so the sum over all accounts is zero
//! per currency at every position. Money enters and leaves only through [`Account::External`], for the seeds of
//! pools through [`Account::SeedFunding`] and for free rounds through [`Account::Promotion`]: they go negative by what they
//! paid in.

use core::fmt;

use super::currency::Currency;
use super::money::Nano;

/// An account of the books. Borrows its names from the commit and the books.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Account<'a> {
    /// A player's cash: never negative.
    Player {
        /// The tenant.
        operator: &'a str,
        /// The player.
        player: &'a str,
    },
    /// The world outside an operator's wallet: minus what was deposited, plus what was withdrawn.
    External(&'a str),
    /// An operator's house: bets come in, wins and contributions go out. Goes negative in the currency it owes.
    House(&'a str),
    /// Minus the bets of free rounds, which an operator's promotion pays to its house (PL-18).
    Promotion(&'a str),
    /// Credits that are due to an operator's own wallet and not paid: zero when everything is confirmed (PL-31).
    Transit(&'a str),
    /// A pool's contributions that are bet but not pooled yet, less those voided but not taken back yet; EUR.
    ContributionsDue(&'a str),
    /// K, the increments of a pool's running cycle; EUR.
    Increments(&'a str),
    /// R, the reserve of a pool; EUR.
    Reserve(&'a str),
    /// Minus H: the seed money that the house paid into a pool; EUR.
    SeedFunding(&'a str),
    /// Awards of a pool that are priced but not yet with the player; EUR.
    JackpotPayable(&'a str),
    /// The exchange desk: takes EUR for awards, gives the player's currency.
    Exchange,
    /// Money of retired pools on its way to others; EUR.
    Transfer,
    /// The debt of this partition to others for its bets' contributions, less their debt to it for its awards (see
    /// [`PartitionReported`](crate::PartitionReported)); EUR. Summed over all partitions it's the money that one side has logged
    /// and the other not yet.
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

/// One line of the journal: an account's holding changed by an amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Posting<'a> {
    /// The account whose holding changed.
    pub account: Account<'a>,
    /// The currency.
    pub currency: Currency,
    /// The change; below 0 where the account gave.
    pub amount: Nano,
}
