use serde::{Deserialize, Serialize};

use crate::values::{DrawName, Epoch, RecordHash, Seal};

/// Next draw of a player, which no step has used yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct NextDraw {
    pub number: u64,
    pub epoch: Epoch,
    /// See [`Generations`](crate::Generations).
    pub generation: u64,
    pub seal: Seal,
    pub sealed_by: Option<RecordHash>,
}

impl NextDraw {
    #[must_use]
    pub fn name(&self) -> DrawName {
        DrawName { number: self.number, epoch: self.epoch, generation: self.generation }
    }
}
