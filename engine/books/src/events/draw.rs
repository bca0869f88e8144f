//! Sealed draws in the log.

use serde::{Deserialize, Serialize};

use crate::values::{DrawName, Epoch, RecordHash, Salt, Seal};

/// Draw used by a step, with the next one's seal (see [`draw`](crate::draw)).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draw {
    /// Number among the player's draws.
    pub number: u64,
    /// Draw key of its dealt value.
    pub epoch: Epoch,
    /// Generation; 0 in older logs.
    pub generation: u64,
    /// Caller's part of the seed, at most [`CLIENT_SEED_MAX`](crate::draw::CLIENT_SEED_MAX) bytes; if empty, the
    /// request id is used.
    pub client_seed: Vec<u8>,
    /// Draw key of the next draw.
    pub next_epoch: Epoch,
    /// Next draw's generation, the partition's current one (PL-40).
    pub next_generation: u64,
    /// Seal of the next draw.
    pub next_seal: Seal,
    /// Record that sealed this draw; `None` in older logs.
    pub sealed_by: Option<RecordHash>,
}

impl Draw {
    /// Returns the next draw's name.
    #[must_use]
    pub fn next_name(&self) -> DrawName {
        DrawName { number: self.number.saturating_add(1), epoch: self.next_epoch, generation: self.next_generation }
    }

    /// Returns the name of the draw.
    #[must_use]
    pub fn name(&self) -> DrawName {
        DrawName { number: self.number, epoch: self.epoch, generation: self.generation }
    }

    /// Returns the client seed in use.
    #[must_use]
    pub fn client_seed<'a>(&'a self, request_id: &'a str) -> &'a [u8] {
        if self.client_seed.is_empty() { request_id.as_bytes() } else { &self.client_seed }
    }
}

/// Draw sealed outside a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrawSealed {
    /// Player's draw number: 1, or one above the replaced draw.
    pub number: u64,
    /// Draw key of its dealt value.
    pub epoch: Epoch,
    /// Generation, the partition's current one (PL-40).
    pub generation: u64,
    /// Seal.
    pub seal: Seal,
    /// Reason.
    pub reason: SealReason,
}

/// Reason for sealing outside a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SealReason {
    /// A new player.
    Opened,
    /// A player opened by an older program or without draw keys.
    Unsealed,
    /// The draw's key is lost and the draw revoked. This allows another try at an unknown outcome, so it is reported.
    KeyLost,
    /// A start revoked the unused seals of earlier generations (PL-40).
    SealsEnded,
}

/// Start of a partition's writer with a new generation of draws (see [`Generations`](crate::Generations)).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GenerationBegun {
    /// Number, one above the previous.
    pub number: u64,
    /// Random bytes from the operating system.
    pub salt: Salt,
    /// Whether unused earlier seals are revoked.
    pub unused_seals_end: bool,
    /// Evidence that the start relies on.
    pub evidence: StartEvidence,
    /// Last position accepted as lost; 0 for none.
    pub lost_to: u64,
    /// Draw keys named first here.
    pub keys_added: Vec<Epoch>,
    /// Draw keys whose loss is accepted.
    pub keys_lost: Vec<Epoch>,
}

/// Evidence about lost records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum StartEvidence {
    /// The log was empty.
    EmptyLog,
    /// A page in memory-backed storage, written before each answer since the last reboot, matches the log.
    MemoryPage,
    /// A mark on another volume, written at an orderly stop, matches the log's end.
    StopMark,
    /// This process followed the log before.
    Followed,
    /// Evidence is missing: unused seals are revoked.
    Missing,
    /// A longer log's loss was accepted: unused seals are revoked.
    Restored,
}
