//! Events of sealed draws: which draw a step uses.

use smallvec::SmallVec;

use super::transition::Transition;
use crate::events::{DrawSealed, Refused, SealReason, StepResolved};
use crate::state::{Drawn, NextDraw};
use crate::values::draw;

impl Transition<'_, '_> {
    pub fn seal_draw(&mut self, sealed: &DrawSealed) -> Result<(), Refused> {
        let DrawSealed { number, epoch, seal, reason } = *sealed;
        let player = self.player()?;
        let founded = match (player.draw, reason) {
            (None, SealReason::Opened | SealReason::Unsealed) => number == 1,
            (Some(out), SealReason::KeyLost) => out.number.checked_add(1) == Some(number),
            _ => false,
        };
        if !founded {
            return Err(Refused::SealUnfounded { number });
        }
        player.draw = Some(NextDraw { number, epoch, seal, sealed_by: None });
        self.delta.sealed = true;
        Ok(())
    }

    /// Uses the player's next draw for a step, and takes up the seal of the one after it. A player who has none sealed is of
    /// an older log, and the step holds its seed.
    pub fn draw(&mut self, step: &StepResolved) -> Result<Drawn, Refused> {
        let request_id = &self.commit.request_id;
        let player = self.delta.player.as_mut().ok_or(Refused::WrongStream)?;
        let (next, draw) = match (player.draw, &step.draw, step.seed) {
            (None, None, Some(seed)) => return Ok(Drawn::Seed(seed)),
            (None, None, None) => return Err(Refused::DrawMissing { number: 0 }),
            (None, Some(draw), _) => return Err(Refused::WrongDraw { expected: 0, found: draw.number }),
            (Some(next), Some(draw), None) => (next, draw),
            (Some(next), ..) => return Err(Refused::DrawMissing { number: next.number }),
        };
        if (draw.number, draw.epoch) != (next.number, next.epoch) {
            return Err(Refused::WrongDraw { expected: next.number, found: draw.number });
        }
        if draw.client_seed.len() > draw::CLIENT_SEED_MAX {
            return Err(Refused::ClientSeedTooLong { bytes: draw.client_seed.len() });
        }
        if draw.sealed_by.is_some() && draw.sealed_by != next.sealed_by {
            return Err(Refused::SealedElsewhere { number: next.number });
        }
        let number = next.number.checked_add(1).ok_or(Refused::WrongDraw { expected: 0, found: next.number })?;
        player.draw = Some(NextDraw { number, epoch: draw.next_epoch, seal: draw.next_seal, sealed_by: None });
        self.delta.sealed = true;
        let NextDraw { number, epoch, seal, .. } = next;
        Ok(Drawn::Sealed { number, epoch, seal, client_seed: SmallVec::from_slice(draw.client_seed(request_id)) })
    }
}
