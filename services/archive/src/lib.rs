//! Archive of a log in an object store (PL-37), which is a folder or a bucket of an S3-compatible server.
//!
//! ```text
//! archive                                  end of each partition at the last complete run
//! <partition>/segments/<first>-<digest>    sealed segment, in the format of segment files
//! <partition>/manifests/<first>            manifest of a full segment; written once
//! <partition>/tail                         manifest of the last segment until it is full
//! <partition>/checkpoint                   newest signed checkpoint, at or before the archived end
//! ```
//!
//! * [`Upload`] adds records. Each object is read back before another object refers to it, so the next upload can continue
//!   an upload that stopped at any point.
//! * [`restore`] verifies digests, blocks and the hash chain. It computes a root from the records up to the signed
//!   checkpoint and compares it with the checkpoint's root.
//! * [`Segments`] reads single records.
//! * Only one process may write to an archive at a time.
//!
//! An object's transfer times out after ten minutes.

mod compare;
mod error;
mod manifest;
mod objects;
mod restore;
mod s3;
mod segments;
mod slots;
mod upload;

pub use compare::{compare, needed_from};
pub use error::ArchiveError;
pub use manifest::Manifest;
pub use objects::Archive;
pub use restore::{Restored, checkpoint, restore, restore_while};
pub use segments::{Limits, Segment, Segments};
pub use slots::{Slot, Slots};
pub use upload::{Archived, Options, Upload};
