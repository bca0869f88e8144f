//! The load test: many players at a running service at once, timed, and held to its books afterwards.
//!
//! [`run`] opens and funds players of its own, plays rounds, and reports rates and latencies. Two ways of driving:
//! a *closed loop* keeps a number of rounds in flight and shows what the service can do; a *constant rate* starts rounds
//! by a schedule and times each from the moment it was due, so that a service that stalls cannot hide it by slowing its
//! caller down (coordinated omission).
//!
//! Then it checks the books against what it was told: every balance, the pool's contributions, no round left open. A
//! service that is fast and wrong fails.
//!
//! Costs: some 10 microseconds of client a call; run it on another machine where that matters. Every loop is bounded,
//! by rounds and by time.

mod books;
mod connect;
mod drive;
mod lane;
mod options;
mod pace;
mod player;
mod readers;
mod report;
mod retry;
mod run;
mod tally;
mod usage;

pub use books::{Actual, Balances, Books, PoolBooks, PoolCheck};
pub use connect::Error;
pub use options::{Options, Thresholds};
pub use readers::Reads;
pub use report::{LatencyMs, Report, Verdict};
pub use run::{run, run_until};
pub use usage::{Cost, Usage};
