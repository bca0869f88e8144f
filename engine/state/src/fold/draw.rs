use smallvec::SmallVec;

use super::transition::Transition;
use crate::events::{DrawSealed, Refused, SealReason, StepResolved};
use crate::state::{Drawn, NextDraw};
use crate::values::draw;

impl Transition<'_, '_> {
    pub fn seal_draw(&mut self, sealed: &DrawSealed) -> Result<(), Refused> {
        let DrawSealed { number, epoch, generation, seal, reason } = *sealed;
        self.expect_generation(number, generation)?;
        let generations = &self.view.system().generations;
        let player = self.player()?;
        let founded = match (player.draw, reason) {
            (None, SealReason::Opened | SealReason::Unsealed) => number == 1,
            (Some(out), SealReason::KeyLost) => out.number.checked_add(1) == Some(number),
            (Some(out), SealReason::SealsEnded) => {
                !generations.is_usable(out.generation) && out.number.checked_add(1) == Some(number)
            }
            _ => false,
        };
        if !founded {
            return Err(Refused::SealUnfounded { number });
        }
        player.draw = Some(NextDraw { number, epoch, generation, seal, sealed_by: None });
        self.delta.sealed = true;
        Ok(())
    }

    fn expect_generation(&self, number: u64, found: u64) -> Result<(), Refused> {
        let expected = self.view.system().generations.current().number;
        match expected == found {
            true => Ok(()),
            false => Err(Refused::SealOfOtherGeneration { number, expected, found }),
        }
    }

    /// Consumes the player's current draw for a step. In older logs, a step contains its seed instead of a draw.
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
        if draw.name() != next.name() {
            return Err(Refused::WrongDraw { expected: next.number, found: draw.number });
        }
        if draw.client_seed.len() > draw::CLIENT_SEED_MAX {
            return Err(Refused::ClientSeedTooLong { bytes: draw.client_seed.len() });
        }
        if draw.sealed_by.is_some() && draw.sealed_by != next.sealed_by {
            return Err(Refused::SealedElsewhere { number: next.number });
        }
        if !self.view.system().generations.is_usable(next.generation) {
            return Err(Refused::SealEnded { number: next.number, generation: next.generation });
        }
        let number = next.number.checked_add(1).ok_or(Refused::WrongDraw { expected: 0, found: next.number })?;
        let generation = draw.next_generation;
        let after = NextDraw { number, epoch: draw.next_epoch, generation, seal: draw.next_seal, sealed_by: None };
        player.draw = Some(after);
        self.delta.sealed = true;
        self.expect_generation(number, generation)?;
        let NextDraw { number, epoch, generation, seal, .. } = next;
        Ok(Drawn::Sealed {
            number,
            epoch,
            generation,
            seal,
            client_seed: SmallVec::from_slice(draw.client_seed(request_id)),
        })
    }
}
