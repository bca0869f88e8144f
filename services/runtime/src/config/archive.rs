use serde::{Deserialize, Serialize};

/// Archive from which removed records are read.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct ArchiveReads {
    /// Folder or `s3://BUCKET/PREFIX`, as in `motherlode archive`; default: removed records are not read.
    pub place: Option<String>,
    /// Bytes of segments in memory; at least the size of an archived segment.
    pub memory_bytes_max: u64,
}

impl Default for ArchiveReads {
    fn default() -> Self {
        Self { place: None, memory_bytes_max: 256 << 20 }
    }
}
