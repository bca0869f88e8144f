//! Reports: significant events, returns compared with theory, statements of pools, transactions, revenue, and the
//! program's identity (PL-22, 23, 24, 29, 34).
//!
//! A [`Follower`] loads the figures of the [checkpoint](view) into memory and adds all later commits. Until it reaches the
//! log's end, calls wait a bounded time, then fail with REPORT_BEHIND. After a restart, at most 200,000 commits are decoded
//! again.

mod band;
mod dues;
mod events;
mod features;
mod figures;
mod follower;
mod history;
mod identity;
mod level_days;
mod open_round;
mod operator_rounds;
mod pool_operators;
mod pools;
mod refused_calls;
mod returns;
mod revenue;
mod service;
mod service_status;
mod shown;
mod significant;
mod transactions;
mod view;
mod void_days;
mod void_shares;

pub use follower::{Counts, Follower};
pub use history::Disk;
pub use identity::{Identity, SelfCheck, log as log_finding};
pub use service::ReportApi;
pub use service_status::{CallCounters, ServiceStatus};
pub use void_days::VoidShare;
