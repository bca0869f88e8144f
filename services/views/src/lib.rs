//! Store of views: state derived from a partition's log, in files that never change.
//!
//! ```text
//! <folder>/
//!   catalogue/             sled: the current checkpoint, and pins
//!   tables/<digest>        sorted entries of one keyspace
//!   checkpoints/<digest>   position, hash of the record there, versions, and the tables of each keyspace
//! ```
//!
//! * A [`Table`] has the entries of one [`Keyspace`] for a range of positions. A [`Run`] is the tables of one range, and of several
//!   entries with the same key the newest run's counts.
//! * A [`Checkpoint`] names the tables that make up the views at one position of the log. A start uses the newest one
//!   of its log, if it is whole, and reads only the records after it.
//! * A [`Store`] writes tables and checkpoints, and removes files that no checkpoint and no pin names.
//!
//! The folder can be deleted: all of it follows from the log. Digests and checksums are verified before an entry is
//! returned, so damage is an error and never a wrong value. A file is written under a temporary name, synced and renamed, and its
//! folder is synced, before another file names it.

mod catalogue;
mod checkpoint;
mod cursor;
mod error;
mod filter;
mod output;
mod run;
mod store;
mod table;
mod writer;

pub use checkpoint::{Checkpoint, KeyspaceTables, RunTables};
pub use cursor::{Cursor, merge};
pub use error::ViewError;
pub use filter::filter_hash;
pub use run::{Run, mergeable};
pub use store::Store;
pub use table::{Keyspace, Table};
pub use writer::{TABLE_BYTES_MAX, Writer};
