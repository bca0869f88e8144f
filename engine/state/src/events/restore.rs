use serde::{Deserialize, Serialize};

use crate::values::RecordHash;

/// The log was restored to an earlier position, and continues as another log (PL-37).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogRestored {
    /// Random number that identifies the restore, above 0; the same in all partitions.
    pub number: u64,
    /// Position to which the log was restored, immediately before this commit.
    pub position: u64,
    /// Hash of the record at `position`; the genesis hash if `position` is 0.
    pub record_hash: RecordHash,
    /// Origin line of the previous log's checkpoints; empty if no checkpoint is known.
    pub origin: String,
    /// Last known checkpoint (signed note) of the previous log; empty if none is known.
    pub checkpoint: String,
}
