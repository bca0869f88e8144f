//! Reports: significant events, returns against theory, statements of pools, transactions and revenue, and what the program is (PL-22, 23,
//! 24, 29, 34).
//!
//! A [`Follower`] reads the log from its start and keeps what the reports are made of; nothing here is a second truth:
//! every figure is folded from the log, in memory, and is the same after a restart. A start begins at the figures that were [kept] last;
//! while what came after them is read, calls wait a bounded time and then say REPORT_BEHIND.
//!
//! Costs: one decoding of each commit, and of at most 200,000 again at a start; a fifth of a byte of memory a significant event,
//! which files have, and a few hundred bytes per game and bet and per pool and day.

mod band;
mod dues;
mod events;
mod features;
mod figures;
mod follower;
mod identity;
mod kept;
mod level_days;
mod open_round;
mod pool_operators;
mod pools;
mod returns;
mod revenue;
mod service;
mod shown;
mod significant;
mod transactions;
mod vitals;
mod void_days;
mod void_shares;

pub use follower::{Counts, Follower};
pub use identity::{Identity, SelfCheck, log as log_finding};
pub use service::ReportApi;
pub use vitals::{Calls, Vitals};
pub use void_days::VoidShare;
