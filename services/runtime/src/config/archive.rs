use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct ArchiveReads {
    /// Folder or `s3://BUCKET/PREFIX` of the archive, as in `motherlode archive`; default: no archive is read.
    pub place: Option<String>,
    /// Maximum bytes of archived segments in memory; at least the size of one segment.
    pub memory_bytes_max: u64,
}

impl Default for ArchiveReads {
    fn default() -> Self {
        Self { place: None, memory_bytes_max: 256 << 20 }
    }
}
