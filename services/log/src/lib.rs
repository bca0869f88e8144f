//! A *partition* is a totally ordered log of opaque records at contiguous, 1-based [`Position`]s. One [`Store`] writes
//! the partition; any number of [`Reader`]s follow it. [`SegmentStore`] stores the log in files, [`MemoryStore`] in
//! memory for tests. [`scan`] verifies the files.
//!
//! Acknowledged appends survive any crash unchanged. Damage is reported with file and offset, and is never skipped or
//! repaired.

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
pub use segment::{
    Options, Scan, Sealed, SealedDamage, Sealer, SegmentStore, Tail, Unsealer, read_present, scan, scan_after, scan_on,
};
pub use start::LogStart;
pub use store::{Limit, Reader, Store};
