//! Records: the plain values that all of the log speaks of.

use bytes::Bytes;

/// A record's place in its partition: 1 for the first, dense, never reused. 0 stands for "before the first".
pub type Position = u64;

/// One record as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its place in the partition.
    pub position: Position,
    /// Its bytes, exactly as they were appended. They may share memory with the records around them, up to a
    /// megabyte or the longer block: copy what is kept for long.
    pub bytes: Bytes,
}

/// A SHA-256 digest.
pub type Hash = [u8; 32];
