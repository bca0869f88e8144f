use serde::{Deserialize, Serialize};

use crate::values::RecordHash;

/// Digest of the state at a log position, logged by a platform credential (PL-37).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaseTaken {
    pub position: u64,
    pub record_hash: RecordHash,
    /// Version of the digest's definition, see [`StateDigest`](crate::StateDigest).
    pub form: u32,
    pub digest: [u8; 32],
    pub actor: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaseConfirmed {
    pub position: u64,
    pub digest: [u8; 32],
    pub actor: String,
}
