//! The append-only log: the one place where anything becomes true.
//!
//! A *partition* is one totally ordered log of opaque records at dense [`Position`]s from 1. Every record
//! begins with the SHA-256 of the record before it, so that one hash vouches for the whole history. One
//! [`Store`] writes a partition; any number of [`Reader`]s follow it.
//!
//! * [`SegmentStore`] keeps a partition in files of its own format: durable, self-checking, the default.
//! * [`MemoryStore`] keeps it in memory: tests and demonstrations.
//! * [`scan`] reads a partition's files without trusting or changing anything: the auditor's side.
//!
//! A log keeps its records from [`LogStart`] on: 1, or a later position once older segments were archived and removed. Reading an
//! archived position is an error, and never an empty answer.
//!
//! The contract of [`Store`] and [`Reader`] is in `tests/kit` as tests, run against every store.
//!
//! Costs: an append is one write and one `fdatasync` whatever the number of its records; a read is one or
//! two `pread`s; opening reads and verifies everything, at the speed of the hashing (some 600 MB a second a core).
//!
//! Promises: what an append acknowledged is there after any crash, byte for byte; what is damaged is
//! reported with its file and byte, never skipped and never repaired by guessing.

mod authority;
pub mod block;
mod chain;
mod damage;
mod disk;
mod error;
mod memory;
mod record;
mod segment;
mod start;
mod store;

pub use authority::{Authority, uptime};
pub use chain::{Chained, genesis, hash, previous_hash, verify_chain};
pub use damage::{Damage, DamagedMessage, OpenError, ScanError};
pub use disk::{Access, Disk, File, Folder, LockGuard, os::OsDisk};
pub use error::{AppendError, ReadError};
pub use memory::MemoryStore;
pub use record::{Hash, Position, Record};
pub use segment::{Options, Scan, SegmentStore, Tail, scan, scan_after, scan_on};
pub use start::LogStart;
pub use store::{Limit, Reader, Store};
