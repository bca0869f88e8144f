//! Parts of sealed draws in the log.

use serde::{Deserialize, Serialize};

use crate::values::{DrawName, Epoch, RecordHash, Salt, Seal};

/// Draw used by a step, and the seal of the next one (see [`draw`](crate::draw)).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draw {
    /// Number among the player's draws.
    pub number: u64,
    /// Draw key of its dealt value.
    pub epoch: Epoch,
    /// Generation of its seal; 0 in older logs.
    pub generation: u64,
    /// Caller's part of the seed, at most [`CLIENT_SEED_MAX`](crate::draw::CLIENT_SEED_MAX) bytes; if empty, the
    /// commit's request id is used.
    pub client_seed: Vec<u8>,
    /// Draw key of the next draw.
    pub next_epoch: Epoch,
    /// Generation of the next draw, the partition's current one (PL-40).
    pub next_generation: u64,
    /// Seal of the next draw.
    pub next_seal: Seal,
    /// Hash of the record that sealed this draw; `None` in older logs.
    pub sealed_by: Option<RecordHash>,
}

impl Draw {
    /// Returns the name of the next draw.
    #[must_use]
    pub fn next_name(&self) -> DrawName {
        DrawName { number: self.number.saturating_add(1), epoch: self.next_epoch, generation: self.next_generation }
    }

    /// Returns the name of the draw.
    #[must_use]
    pub fn name(&self) -> DrawName {
        DrawName { number: self.number, epoch: self.epoch, generation: self.generation }
    }

    /// Returns the client seed that the step's seed is derived from.
    #[must_use]
    pub fn client_seed<'a>(&'a self, request_id: &'a str) -> &'a [u8] {
        if self.client_seed.is_empty() { request_id.as_bytes() } else { &self.client_seed }
    }
}

/// Draw sealed outside a step (see [`Event::DrawSealed`](crate::Event::DrawSealed)).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrawSealed {
    /// Number among the player's draws: 1, or one above the draw that it replaces.
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

/// Reason for sealing a draw outside a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SealReason {
    /// A new player.
    Opened,
    /// The player was opened by an older program, or by a process without draw keys.
    Unsealed,
    /// The key of the pending draw is lost and the draw is revoked. This allows one more try at an unknown outcome, so
    /// it is counted and reported.
    KeyLost,
    /// A start could not rule out a loss of records, so the unused seals of earlier generations were revoked (PL-40).
    SealsEnded,
}

/// Start or takeover of a partition's writer, with a new generation of draws (see [`Generations`](crate::Generations)).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GenerationBegun {
    /// Number of the generation, one above the previous.
    pub number: u64,
    /// Random bytes from the operating system.
    pub salt: Salt,
    /// Whether the unused seals of all earlier generations are revoked.
    pub unused_seals_end: bool,
    /// Evidence that the start relies on.
    pub evidence: StartEvidence,
    /// Last position of a longer version of the log whose loss is accepted; 0 for none.
    pub lost_to: u64,
    /// Draw keys named for the first time.
    pub keys_added: Vec<Epoch>,
    /// Draw keys whose loss is accepted.
    pub keys_lost: Vec<Epoch>,
}

/// Evidence about a loss of a log's last records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum StartEvidence {
    /// The log was empty.
    EmptyLog,
    /// A page in memory-backed storage, written before each answer since the last reboot, names a record of the log.
    MemoryPage,
    /// A mark on another volume, written at an orderly stop, names the end of the log.
    StopMark,
    /// This process followed the log until it became the writer.
    Followed,
    /// No evidence: unused seals are revoked.
    Missing,
    /// A longer version of the log existed and its loss was accepted: unused seals are revoked.
    Restored,
}
