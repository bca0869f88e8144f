use bytes::Bytes;

/// Contiguous and 1-based, never reused. 0 is before the first.
pub type Position = u64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    pub position: Position,
    /// Part of a larger buffer; copy it before keeping it.
    pub bytes: Bytes,
}

pub type Hash = [u8; 32];
