//! Seeds of steps. Only older logs contain seeds. In newer logs, a seed is derived from a dealt value, which the log
//! reveals at the end of the round; before, the log contains only the value's hash (seal).

use motherlode_slots::Seed;
use motherlode_state::{Dealt, DrawName, DrawSealed, Drawn, Event, RecordHash, Seal, SealReason, StepResolved, draw};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the key of the player's draw {draw} is unavailable: restore the draw key file")]
pub struct KeyLost {
    pub draw: u64,
}

/// Function that returns a draw's dealt value, from which seeds are derived, or `None` if the draw's key is missing.
pub type DealtOf<'a> = dyn Fn(DrawName) -> Option<Dealt> + 'a;

/// Implements [`DealtOf`] for programs without draw keys, which can use only dealt values that the log reveals.
#[must_use]
pub fn no_key(_: DrawName) -> Option<Dealt> {
    None
}

/// Returns a step's seed. Fails if the draw's dealt value, which determines the seed, is unavailable or does not match
/// the draw's seal.
pub fn seed_of(drawn: &Drawn, round: &str, step: u32, dealt_of: &DealtOf<'_>) -> Result<Seed, KeyLost> {
    match drawn {
        Drawn::Seed(seed) => Ok(*seed),
        &Drawn::Sealed { number, epoch, generation, seal, ref client_seed } => {
            let dealt = dealt_of(DrawName { number, epoch, generation }).filter(|dealt| draw::seal(dealt) == seal);
            let dealt = dealt.ok_or(KeyLost { draw: number })?;
            Ok(draw::seed(&dealt, client_seed, round, step))
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepDraw {
    pub name: DrawName,
    pub client_seed: Vec<u8>,
    pub dealt: Option<Dealt>,
    pub seal: Option<Seal>,
    pub sealed_by: Option<RecordHash>,
}

impl StepDraw {
    #[must_use]
    pub fn from_step(step: &StepResolved, request_id: &str) -> Option<Self> {
        step.draw.as_ref().map(|draw| Self {
            name: draw.name(),
            client_seed: draw.client_seed(request_id).to_vec(),
            dealt: None,
            seal: None,
            sealed_by: draw.sealed_by,
        })
    }

    pub fn reveal(&mut self, dealt: Dealt, round: &str, step: u32) -> Seed {
        (self.dealt, self.seal) = (Some(dealt), Some(draw::seal(&dealt)));
        draw::seed(&dealt, &self.client_seed, round, step)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sealed {
    pub name: DrawName,
    pub seal: Seal,
    /// Reason why the draw was sealed in an event of its own; `None` if a step's event sealed it.
    pub reason: Option<SealReason>,
}

pub fn sealed(events: &[Event]) -> impl Iterator<Item = Sealed> {
    events.iter().filter_map(|event| match event {
        Event::StepResolved(step) => {
            let draw = step.draw.as_ref()?;
            Some(Sealed { name: draw.next_name(), seal: draw.next_seal, reason: None })
        }
        Event::DrawSealed(sealed) => {
            let DrawSealed { number, epoch, generation, seal, reason } = *sealed;
            Some(Sealed { name: DrawName { number, epoch, generation }, seal, reason: Some(reason) })
        }
        _ => None,
    })
}

pub fn used(events: &[Event], round: u64) -> impl Iterator<Item = u64> {
    events.iter().filter_map(move |event| match event {
        Event::StepResolved(step) if step.round == round => Some(step.draw.as_ref()?.number),
        _ => None,
    })
}

pub fn sealed_by(events: &[Event]) -> impl Iterator<Item = RecordHash> {
    events.iter().filter_map(|event| match event {
        Event::StepResolved(step) => step.draw.as_ref()?.sealed_by,
        _ => None,
    })
}

/// Returns whether a commit may be shown; false if it contains a seed, from which hidden values could be computed (NP-12).
#[must_use]
pub fn may_be_shown(events: &[Event]) -> bool {
    !events.iter().any(|event| matches!(event, Event::StepResolved(step) if step.seed.is_some()))
}
