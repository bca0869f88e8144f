//! Table of requests: positions of the commits by request, for the whole log.
//!
//! The caller compares stream and request id at each position, so equal hashes cost a log read, never a wrong answer.
//! The newest names are in memory, the others in runs of the [keyspace](table::REQUESTS) in the store of views. A new
//! request costs one memory access per filter, a repeated one a block read. While a run is unreadable, a request that
//! may be in it is refused as unknown, and the run is rebuilt from the log.
//!
//! Costs per commit: 16 bytes of memory for the newest, 1.5 for others within the budget of filters; beyond it a read
//! per lookup and run. 13.5 bytes on disk, written about six times at 1 G commits.

mod name;
mod stretch;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use name::{Key, Name};
pub(crate) use table::{Requests, WriteError};
