//! Operators' own wallets (PL-31): the calls that debit, credit and roll back, and who pays what is due.
//!
//! Each operator's wallet stands by itself: a connection, a circuit breaker, a bound on the bets that wait for it, and a payer a
//! partition. So one that is dead, slow or hanging holds up nobody else's bets. Nothing here decides anything: what is under way
//! is in the books, and each call repeats what they say until its answer is known.

mod breaker;
mod call;
mod client;
mod ids;
mod json;
mod link;
mod metrics;
mod payer;
mod round;
mod sign;
mod wallets;

pub use breaker::{Breaker, Leave};
pub use call::{Call, Names};
pub use client::{Answer, Client};
pub use payer::{Payer, roll_back};
pub use wallets::{OperatorWallet, WalletError, Wallets};
