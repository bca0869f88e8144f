//! Records and their positions.

use bytes::Bytes;

/// Position of a record in its partition, contiguous and 1-based, never reused. 0 is before the first.
pub type Position = u64;

/// A stored record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Position in the partition.
    pub position: Position,
    /// Bytes as appended. They share memory with other records: copy before keeping.
    pub bytes: Bytes,
}

/// A SHA-256 digest.
pub type Hash = [u8; 32];
