//! Operators' own wallets (PL-31): debits, credits and rollbacks.

mod breaker;
mod call;
pub mod check;
mod client;
mod ids;
mod json;
mod link;
mod metrics;
mod outbox;
mod round;
mod sign;
mod wallets;

pub use breaker::{Breaker, Leave};
pub use call::{Call, Names};
pub use client::{Answer, Client};
pub use ids::{opening_id, uuid};
pub use outbox::{WalletOutbox, roll_back};
pub use wallets::{ByOperator, OperatorWallet, WalletError, WalletState, Wallets};
