use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Partition of the stream; meaningless if `version` is 0.
    pub partition: u32,
    /// Version of the stream; 0 before the first commit.
    pub version: u64,
    /// Position of the stream's last commit; 0 if it has none.
    pub position: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// Position of the log's last commit; 0 if there is none.
    pub position: u64,
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
