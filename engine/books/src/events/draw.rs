//! The parts of sealed draws in the log.

use serde::{Deserialize, Serialize};

use crate::values::{DrawName, Epoch, RecordHash, Salt, Seal};

/// The sealed draw that a step used, and the seal of the next (see [`draw`](crate::draw)).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draw {
    /// Its number among the player's.
    pub number: u64,
    /// The key that gives its dealt value.
    pub epoch: Epoch,
    /// Generation in which it was sealed; 0 in older logs.
    pub generation: u64,
    /// The caller's part of the seed, at most [`CLIENT_SEED_MAX`](crate::draw::CLIENT_SEED_MAX) bytes; where it's empty, the
    /// commit's request id serves.
    pub client_seed: Vec<u8>,
    /// The key of the next draw.
    pub next_epoch: Epoch,
    /// Generation of the next draw: the current one of the partition (PL-40).
    pub next_generation: u64,
    /// The seal of the next draw.
    pub next_seal: Seal,
    /// The record in which this draw was sealed, an earlier one of the player's: so whoever trusts the step's record can trust that
    /// one. None in older logs.
    pub sealed_by: Option<RecordHash>,
}

impl Draw {
    /// Name of the player's next draw, which the step seals.
    #[must_use]
    pub fn next_name(&self) -> DrawName {
        DrawName { number: self.number.saturating_add(1), epoch: self.next_epoch, generation: self.next_generation }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> DrawName {
        DrawName { number: self.number, epoch: self.epoch, generation: self.generation }
    }

    /// The client seed that the step's seed follows from.
    #[must_use]
    pub fn client_seed<'a>(&'a self, request_id: &'a str) -> &'a [u8] {
        if self.client_seed.is_empty() { request_id.as_bytes() } else { &self.client_seed }
    }
}

/// A draw was sealed apart from a step (see [`Event::DrawSealed`](crate::Event::DrawSealed)).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrawSealed {
    /// Its number among the player's: 1 for the first, one above the draw that it replaces.
    pub number: u64,
    /// The key that gives its dealt value.
    pub epoch: Epoch,
    /// Its generation: the current one of the partition (PL-40).
    pub generation: u64,
    /// Its seal.
    pub seal: Seal,
    /// Why it was sealed apart.
    pub reason: SealReason,
}

/// Why a draw was sealed apart from a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SealReason {
    /// The player was opened.
    Opened,
    /// The player was opened by an older program, or by a process without draw keys.
    Unsealed,
    /// The key of the draw that was out is gone: the draw is given up, unused. It's the one freedom that there is, one more
    /// try at an outcome that nobody knew; so it's counted and reported.
    KeyLost,
    /// A start could not rule out a loss of records, so the unused seals of earlier generations ended (PL-40).
    SealsEnded,
}

/// A start or takeover of a partition's writer began a generation of draws (see [`Generations`](crate::Generations)).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GenerationBegun {
    /// Number of the generation: one above that of the generation before.
    pub number: u64,
    /// Fresh random bytes of the operating system.
    pub salt: Salt,
    /// Whether the unused seals of all generations before it end.
    pub unused_seals_end: bool,
    /// Evidence on which the start relies.
    pub evidence: StartEvidence,
    /// Largest position of a longer version of this log whose loss is accepted with this start; 0 for none.
    pub lost_to: u64,
    /// Draw keys named for the first time.
    pub keys_added: Vec<Epoch>,
    /// Draw keys whose loss is accepted with this start.
    pub keys_lost: Vec<Epoch>,
}

/// Evidence about a loss of a log's last records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum StartEvidence {
    /// The log was empty: nothing was sealed.
    EmptyLog,
    /// A page in memory-backed storage, written before each answer since this machine booted, names a record of the log.
    MemoryPage,
    /// A mark on another volume, written at an orderly stop, names the end of the log.
    StopMark,
    /// This process followed the log from its store until it became the writer.
    Followed,
    /// None: unused seals end.
    Missing,
    /// A longer version of the log is known, and its loss was accepted: unused seals end.
    Restored,
}
