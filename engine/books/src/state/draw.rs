//! A player's next draw.

use serde::{Deserialize, Serialize};

use crate::values::{DrawName, Epoch, RecordHash, Seal};

/// A draw that no step has used yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct NextDraw {
    /// Its number among the player's, from 1; none is used twice.
    pub number: u64,
    /// The key that gives its dealt value.
    pub epoch: Epoch,
    /// Generation in which it was sealed (see [`Generations`](crate::Generations)).
    pub generation: u64,
    /// Its seal.
    pub seal: Seal,
    /// The record in which it was sealed, where the fold was told of records.
    pub sealed_by: Option<RecordHash>,
}

impl NextDraw {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> DrawName {
        DrawName { number: self.number, epoch: self.epoch, generation: self.generation }
    }
}
