use serde::{Deserialize, Serialize};

use crate::values::RecordHash;

/// The log was restored to an earlier position, and continues as another log (PL-37).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogRestored {
    /// Above 0.
    pub number: u64,
    pub position: u64,
    /// Hash of the record at `position`; the genesis hash if `position` is 0.
    pub record_hash: RecordHash,
    pub origin: String,
    pub checkpoint: String,
}
