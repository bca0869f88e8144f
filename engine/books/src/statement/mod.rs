//! Commits as transactions of players' accounts, and revenue (PL-34). It does not use the state of the fold; a test
//! compares both.

mod due;
mod revenue;
mod transaction;

pub use due::{Dues, add_due, due_change};
pub use revenue::{Revenue, RevenueKey, RevenueSums};
pub use transaction::{Bet, RoundKey, Statement, Transaction, TransactionKind, UnknownBet, rounds_named};
