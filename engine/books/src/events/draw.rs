//! The parts of sealed draws in the log.

use serde::{Deserialize, Serialize};

use crate::values::{Epoch, RecordHash, Seal};

/// The sealed draw that a step used, and the seal of the next (see [`draw`](crate::draw)).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draw {
    /// Its number among the player's.
    pub number: u64,
    /// The key that gives its dealt value.
    pub epoch: Epoch,
    /// The caller's part of the seed, at most [`CLIENT_SEED_MAX`](crate::draw::CLIENT_SEED_MAX) bytes; where it's empty, the
    /// commit's request id serves.
    pub client_seed: Vec<u8>,
    /// The key of the next draw.
    pub next_epoch: Epoch,
    /// The seal of the next draw.
    pub next_seal: Seal,
    /// The record in which this draw was sealed, an earlier one of the player's: so whoever trusts the step's record can trust that
    /// one. None in older logs.
    pub sealed_by: Option<RecordHash>,
}

impl Draw {
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
}
