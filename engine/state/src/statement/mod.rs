mod due;
mod revenue;
mod transaction;

pub use due::{Dues, add_due, due_change};
pub use revenue::{Revenue, RevenueKey, RevenueSums};
pub use transaction::{Bet, RoundKey, Statement, Transaction, TransactionKind, UnknownBet, rounds_named};
