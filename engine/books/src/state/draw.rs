//! Next draw of a player.

use serde::{Deserialize, Serialize};

use crate::values::{DrawName, Epoch, RecordHash, Seal};

/// Draw that no step has used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct NextDraw {
    /// Player's draw number, 1-based.
    pub number: u64,
    /// Draw key of its dealt value.
    pub epoch: Epoch,
    /// Generation of its seal (see [`Generations`](crate::Generations)).
    pub generation: u64,
    /// Seal.
    pub seal: Seal,
    /// Record with its seal; `None` in a fold without hashes.
    pub sealed_by: Option<RecordHash>,
}

impl NextDraw {
    /// Returns the name of the draw.
    #[must_use]
    pub fn name(&self) -> DrawName {
        DrawName { number: self.number, epoch: self.epoch, generation: self.generation }
    }
}
