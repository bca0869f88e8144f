use serde::{Deserialize, Serialize};

use crate::values::{DrawName, Epoch, RecordHash, Salt, Seal};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draw {
    pub number: u64,
    pub epoch: Epoch,
    pub generation: u64,
    /// Caller's part of the seed, at most [`CLIENT_SEED_MAX`](crate::draw::CLIENT_SEED_MAX) bytes; if empty, the request id
    /// is used.
    pub client_seed: Vec<u8>,
    pub next_epoch: Epoch,
    pub next_generation: u64,
    pub next_seal: Seal,
    /// Hash of the earlier log record that contains this draw's seal (commitment); `None` in older logs.
    pub sealed_by: Option<RecordHash>,
}

impl Draw {
    #[must_use]
    pub fn next_name(&self) -> DrawName {
        DrawName { number: self.number.saturating_add(1), epoch: self.next_epoch, generation: self.next_generation }
    }

    #[must_use]
    pub fn name(&self) -> DrawName {
        DrawName { number: self.number, epoch: self.epoch, generation: self.generation }
    }

    #[must_use]
    pub fn client_seed<'a>(&'a self, request_id: &'a str) -> &'a [u8] {
        if self.client_seed.is_empty() { request_id.as_bytes() } else { &self.client_seed }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrawSealed {
    /// A draw that replaces an unused draw gets the next number.
    pub number: u64,
    pub epoch: Epoch,
    pub generation: u64,
    pub seal: Seal,
    pub reason: SealReason,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SealReason {
    Opened,
    Unsealed,
    /// The key of the previous draw is lost. The audit reports each draw with this reason, because replacing a draw could
    /// hide an outcome that the player had not seen.
    KeyLost,
    /// The previous draw was unused when the writer started, and was revoked (PL-40).
    SealsEnded,
}

/// Start of the process that writes the log. The process seals draws with a new salt, so that no revealed value is
/// dealt again (PL-40).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GenerationBegun {
    pub number: u64,
    pub salt: Salt,
    pub unused_seals_end: bool,
    pub evidence: StartEvidence,
    /// Position of the last commit whose loss an administrator accepted at this start; 0 if none.
    pub lost_to: u64,
    pub keys_added: Vec<Epoch>,
    pub keys_lost: Vec<Epoch>,
}

/// Evidence at the writer's start that the log is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum StartEvidence {
    EmptyLog,
    /// Before each reply, the previous writer noted its last record in memory-backed storage. The log
    /// contains this record.
    MemoryPage,
    /// When the writer last stopped normally, it noted its last record on another volume. The log
    /// ends with this record.
    StopMark,
    /// As a standby, the process received the previous writer's records, and the log contains all of them.
    Followed,
    Missing,
    /// An administrator accepted a loss of commits. These may have revealed draws, so all unused draws are revoked.
    Restored,
}
