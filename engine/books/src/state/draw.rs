//! A player's next draw.

use serde::{Deserialize, Serialize};

use crate::values::{DrawName, Epoch, RecordHash, Seal};

/// A draw that no step has used yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct NextDraw {
    /// Number among the player's draws, 1-based; each number is used once.
    pub number: u64,
    /// The key that gives its dealt value.
    pub epoch: Epoch,
    /// Generation in which it was sealed (see [`Generations`](crate::Generations)).
    pub generation: u64,
    /// Its seal.
    pub seal: Seal,
    /// Hash of the record with its seal; `None` in a fold without hashes.
    pub sealed_by: Option<RecordHash>,
}

impl NextDraw {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> DrawName {
        DrawName { number: self.number, epoch: self.epoch, generation: self.generation }
    }
}
