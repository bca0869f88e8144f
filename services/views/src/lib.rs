//! Stores a partition's views (state derived from its log) in immutable files.
//!
//! ```text
//! <folder>/
//!   catalogue/             sled: the current checkpoint, and pins
//!   tables/<digest>        sorted entries of one keyspace
//!   checkpoints/<digest>   position, hash of the record there, versions, and the tables of each keyspace
//! ```
//!
//! * A [`Table`] has the entries of one [`Keyspace`] for a range of log positions; a [`Run`] has all tables of one
//!   range. If a key is in several runs, the newest run's entry is valid.
//! * A [`Checkpoint`] names the tables of all views at one log position. Startup uses the log's newest intact checkpoint,
//!   and reads only later records.
//! * A [`Store`] writes tables and checkpoints, and removes files that no checkpoint or pin names.
//!
//! The folder can be deleted, because all views are derived from the log. Digests and checksums are verified before an
//! entry is returned, so damage causes an error, never a wrong value. A file is written under a temporary name, synced and
//! renamed, and the folder is synced, before a checkpoint or the catalogue names the file.

mod catalogue;
mod checkpoint;
mod copy;
mod cursor;
mod error;
mod filter;
mod output;
mod run;
mod store;
mod table;
mod writer;

pub use checkpoint::{Checkpoint, KeyspaceTables, RunTables};
pub use copy::TableCopy;
pub use cursor::{Cursor, merge};
pub use error::ViewError;
pub use filter::filter_hash;
pub use run::{Run, mergeable};
pub use store::Store;
pub use table::{Keyspace, Table};
pub use writer::{TABLE_BYTES_MAX, Writer};
