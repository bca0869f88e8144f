//! Ends of streams and partitions.

use serde::{Deserialize, Serialize};

/// Head of a stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Partition; undefined at version 0.
    pub partition: u32,
    /// Version; 0 before the first commit.
    pub version: u64,
    /// Last commit's position, or 0.
    pub position: u64,
}

/// End of a partition's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// Last commit's position, or 0.
    pub position: u64,
    /// Last commit's time, Unix ms.
    pub time_ms: i64,
}

impl End {
    pub(crate) const EMPTY: Self = Self { position: 0, time_ms: i64::MIN };
}

impl Default for End {
    fn default() -> Self {
        Self::EMPTY
    }
}
