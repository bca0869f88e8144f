//! Proposed voids of rounds that hit the jackpot (PL-38). They're part of the player's state, so that a payment of an award
//! and the proposal that holds it are decided on one stream.

use serde::{Deserialize, Serialize};

use crate::events::Refused;

/// Logged time for which a proposed void holds the awards of its round, milliseconds: 72 hours.
pub const VOID_HOLD_MS: i64 = 72 * 3_600_000;

/// Logged time after a proposal's end before the same round's void can be proposed again, milliseconds. By then its awards
/// are paid.
const REPEAT_AFTER_MS: i64 = 24 * 3_600_000;

/// Most proposals of one player.
const PROPOSALS_MAX: usize = 16;

/// A proposed void.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VoidProposal {
    /// The player's round.
    pub round: u64,
    /// Position of the proposal.
    pub position: u64,
    /// Its time, Unix ms.
    pub time_ms: i64,
    /// The actor.
    pub actor: String,
    /// The reason.
    pub reason: String,
    /// Whether it was rejected or taken back.
    pub rejected: bool,
}

impl VoidProposal {
    /// The time from which on it can't be approved and holds nothing, Unix ms.
    #[must_use]
    pub fn lapses_ms(&self) -> i64 {
        self.time_ms.saturating_add(VOID_HOLD_MS)
    }

    /// Whether it waits for the platform, and holds the awards of its round.
    #[must_use]
    pub fn waits(&self, now_ms: i64) -> bool {
        !self.rejected && now_ms < self.lapses_ms()
    }

    /// Adds a proposal to a player's, and drops those that ended long ago.
    ///
    /// # Errors
    /// [`Refused::VoidProposedBefore`], [`Refused::TooManyChanges`].
    pub(crate) fn add(self, all: &mut Vec<Self>) -> Result<(), Refused> {
        all.retain(|other| self.time_ms < other.lapses_ms().saturating_add(REPEAT_AFTER_MS));
        if all.iter().any(|other| other.round == self.round) {
            return Err(Refused::VoidProposedBefore { round: self.round });
        }
        if all.len() >= PROPOSALS_MAX {
            return Err(Refused::TooManyChanges { most: PROPOSALS_MAX });
        }
        all.push(self);
        Ok(())
    }
}
