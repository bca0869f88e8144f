//! Operators' own wallets (PL-31): debits, credits and rollbacks.
//!
//! Wallets are isolated: each has its connection, circuit breaker, limit of waiting bets, and a payer per partition.
//! Pending transactions are in the books, and calls are repeated until their answer is known.

mod breaker;
mod client;
mod json;
mod link;
mod metrics;
mod payer;
mod sign;
mod wallets;

pub use breaker::{Breaker, Leave};
pub use client::{Answer, Client, Transaction};
pub use payer::{Payer, roll_back};
pub use wallets::{OperatorWallet, WalletError, Wallets};
