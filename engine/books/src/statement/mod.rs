//! Commits as transactions of players' accounts, and what these come to in revenue (PL-34). It stands beside the fold and asks
//! nothing of its state: both are told by the same events, and a test holds one against the other.

mod due;
mod revenue;
mod transaction;

pub use due::{Dues, add_due, due_change};
pub use revenue::{Revenue, RevenueKey, RevenueSums};
pub use transaction::{Bet, RoundKey, Statement, Transaction, TransactionKind, UnknownBet, rounds_named};
