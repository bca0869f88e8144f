use bytes::Bytes;

/// Position of a record: contiguous, 1-based and never reused. 0 means before the first record.
pub type Position = u64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    pub position: Position,
    /// Bytes of the record. They share a larger buffer, so copy them to keep them for long.
    pub bytes: Bytes,
}

pub type Hash = [u8; 32];
