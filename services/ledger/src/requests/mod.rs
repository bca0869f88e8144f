//! Idempotency table: maps each request to its commit's position, for the whole log.
//!
//! Names are hashes, so the caller must compare stream and request id in each record found. If two requests have the
//! same hash, the lookup reads one more record. The newest names are in memory; older names are in sorted files
//! ("runs") of the [keyspace](table::REQUESTS) in the store of views. A lookup costs one memory access per filter. For
//! a repeated request, the lookup also reads a block. If a run is unreadable, it is rebuilt from the log; meanwhile,
//! requests that it may contain fail with an unknown outcome.
//!
//! A commit costs 16 bytes of memory until its run is written. Then the run's filter costs 1.5 bytes per commit; a
//! filter above the memory limit stays on disk.

mod name;
mod stretch;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use name::{Key, Name};
pub(crate) use table::{Requests, WriteError};
