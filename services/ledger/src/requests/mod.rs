//! Table of requests: which commit a request made, for all commits of the log.
//!
//! It answers with positions. The caller reads the commit there and compares stream and request id, so that equal hashes cost a read of
//! the log and never a wrong answer. The newest names are in memory, at 16 bytes per commit; those before are in the runs of the
//! [keyspace](table::REQUESTS) in the store of views. A new request costs one memory access per run's filter, a repeated one a read of a block.
//! While a run cannot be read, a request that may be in it is refused as unknown, and the run is rebuilt from the log.
//!
//! Costs: 1.5 bytes of memory per commit until the budget of filters is used up, then a read for each lookup in a run without a filter;
//! 13.5 bytes per commit on disk, written about six times at 1 G commits.

mod name;
mod stretch;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use name::{Key, Name};
pub(crate) use table::{Requests, WriteError};
