//! Idempotency table: maps each request to its commit's position, for the whole log.
//!
//! A name is a hash of a request's stream and id, so the caller must compare both in each record found. The newest
//! names are in memory; older names are in sorted files ("runs") in the store of views (keyspace
//! [`REQUESTS`](table::REQUESTS)). A lookup costs one memory access per filter, and reads one block for a repeated
//! request. An unreadable run is rebuilt from the log; meanwhile, requests that it may contain fail with an unknown
//! outcome.

mod name;
mod stretch;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use name::{Key, Name};
pub(crate) use table::{Requests, WriteError};
