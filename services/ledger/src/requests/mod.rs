//! Idempotency table: maps each request to its commit's position, for the whole log.
//!
//! Names are hashes, so the caller compares stream and request id in the record at each position found; an equal hash of a
//! different request costs a read of the log, but never gives a wrong answer. The newest names are in memory; older names
//! are in sorted files ("runs") of the [keyspace](table::REQUESTS) in the store of views. A lookup costs one memory access
//! per filter; a repeated request also costs a block read. While a run is unreadable, a request that may be in it is refused
//! with an unknown outcome, and the run is rebuilt from the log.
//!
//! Cost per commit: 16 bytes of memory until its run is written, and 1.5 bytes afterwards if the run's filter fits the
//! memory limit; otherwise each lookup reads the run.

mod name;
mod stretch;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use name::{Key, Name};
pub(crate) use table::{Requests, WriteError};
