use serde::{Deserialize, Serialize};

use crate::values::RecordHash;

/// Claim of a state digest at a log position (PL-37).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaseTaken {
    pub position: u64,
    /// Hash of the record at `position`.
    pub record_hash: RecordHash,
    /// Version of the digest, see [`StateDigest`](crate::StateDigest).
    pub form: u32,
    pub digest: [u8; 32],
    pub actor: String,
}

/// An audit computed, from a copy of the log, the digest that the latest `BaseTaken` claims (PL-37).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaseConfirmed {
    pub position: u64,
    pub digest: [u8; 32],
    pub actor: String,
}
