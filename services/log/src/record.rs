use bytes::Bytes;

/// Positions are contiguous, 1-based and never reused; 0 is the position before the first record.
pub type Position = u64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    pub position: Position,
    /// Bytes of the record, which are part of a larger shared buffer. If the bytes must be kept for long, copy them, so
    /// that the buffer can be freed.
    pub bytes: Bytes,
}

pub type Hash = [u8; 32];
