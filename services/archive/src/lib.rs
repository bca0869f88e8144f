//! Archive of a log in an object store (PL-37): a folder, or a bucket of an S3-compatible server.
//!
//! ```text
//! archive                                  number of partitions; written when the first run is complete
//! <partition>/segments/<first>-<digest>    sealed segment, in the format of segment files
//! <partition>/manifests/<first>            manifest of a full segment; written once
//! <partition>/tail                         manifest of the last segment until it is full
//! <partition>/checkpoint                   newest signed checkpoint, at or before the archived end
//! ```
//!
//! * [`Upload`] adds records. An object is read back before another names it, so the next run can continue after a stop
//!   at any point.
//! * [`restore`] verifies digests, blocks, hash chain, and the root in the signed checkpoint, which covers all records
//!   before it.
//! * One run at a time writes to an archive.
//!
//! Memory: two segments at most. Each object takes at most ten minutes.

mod error;
mod manifest;
mod objects;
mod restore;
mod s3;
mod upload;

pub use error::ArchiveError;
pub use manifest::Manifest;
pub use objects::Archive;
pub use restore::{Restored, restore};
pub use upload::{Archived, Options, Upload};
