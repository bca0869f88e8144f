//! Load test: plays with many players on a running service, measures latencies, and checks the books.
//!
//! A *closed loop* always has the same number of rounds in flight and measures the service's limit. A *constant rate* starts
//! rounds on schedule and times each round from its due time, so a stalled service cannot slow the load down (no
//! coordinated omission).

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
pub use pace::Pace;
pub use readers::Reads;
pub use report::{LatencyMs, Report, Verdict};
pub use run::{run, run_until};
pub use usage::{Cost, Usage};
