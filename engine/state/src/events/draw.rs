use serde::{Deserialize, Serialize};

use crate::values::{DrawName, Epoch, RecordHash, Salt, Seal};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draw {
    /// Contiguous per player.
    pub number: u64,
    pub epoch: Epoch,
    pub generation: u64,
    /// Caller's part of the seed, at most [`CLIENT_SEED_MAX`](crate::draw::CLIENT_SEED_MAX) bytes; if empty, the request id
    /// is used.
    pub client_seed: Vec<u8>,
    pub next_epoch: Epoch,
    pub next_generation: u64,
    pub next_seal: Seal,
    /// Hash of the record that sealed the draw; `None` in older logs.
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
    /// Number of the draw: 1, or one more than the number of the draw that it replaces.
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
    /// The draw's key is lost. The audit reports each such draw, because the new draw could replace an outcome that the
    /// player had not seen.
    KeyLost,
    /// A restart revoked the unused seals of earlier generations (PL-40).
    SealsEnded,
}

/// A writer started and began a new draw generation (see [`Generations`](crate::Generations)).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GenerationBegun {
    pub number: u64,
    pub salt: Salt,
    pub unused_seals_end: bool,
    pub evidence: StartEvidence,
    /// Last position of lost commits that the start accepts; 0 if none were lost.
    pub lost_to: u64,
    /// Names of draw keys that no earlier generation had.
    pub keys_added: Vec<Epoch>,
    pub keys_lost: Vec<Epoch>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum StartEvidence {
    EmptyLog,
    /// The log's end matches a page in memory-backed storage, which the writer updates before each answer.
    MemoryPage,
    /// The log's end matches a mark on another volume, which the writer leaves at an orderly stop.
    StopMark,
    /// This process followed the log before it became writer.
    Followed,
    Missing,
    /// The loss of a longer log was accepted, so unused seals are revoked.
    Restored,
}
