//! The ends of streams and of partitions.

use serde::{Deserialize, Serialize};

/// The head of a stream: its next commit must build on it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The partition that the stream lives in; meaningless at version 0.
    pub partition: u32,
    /// The stream's version; 0 before its first commit.
    pub version: u64,
    /// Position of its last commit; 0 before its first.
    pub position: u64,
}

/// The end of a partition's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// Position of the last commit; 0 when empty.
    pub position: u64,
    /// Time of the last commit, Unix ms; the next is at or after it.
    pub time_ms: i64,
}

impl End {
    /// The end of an empty log.
    pub(crate) const EMPTY: Self = Self { position: 0, time_ms: i64::MIN };
}

impl Default for End {
    fn default() -> Self {
        Self::EMPTY
    }
}
