//! The seeds of steps: logged, or worked out from a sealed draw.

use motherlode_books::{Dealt, DrawName, DrawSealed, Drawn, Event, RecordHash, Seal, SealReason, StepResolved, draw};
use motherlode_slots::Seed;

/// The key of a draw that a round used is not to be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the key of draw {draw} of the player is not to be had")]
pub struct KeyLost {
    /// The number of the draw.
    pub draw: u64,
}

/// Gives the dealt value under the seal of a draw of the player in question; `None` without its key.
pub type DealtOf<'a> = dyn Fn(DrawName) -> Option<Dealt> + 'a;

/// Knows no dealt value: whoever reads the log alone.
#[must_use]
pub fn no_key(_: DrawName) -> Option<Dealt> {
    None
}

/// The seed of a step of an open round. `round` is the round's name.
///
/// # Errors
/// [`KeyLost`] where the dealt value isn't to be had, or isn't the one that was sealed.
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

/// The sealed draw of a step, as far as it's told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepDraw {
    /// Its name among the player's.
    pub name: DrawName,
    /// The client seed that the seed follows from.
    pub client_seed: Vec<u8>,
    /// The dealt value, once it's revealed.
    pub dealt: Option<Dealt>,
    /// Its seal, where it's known.
    pub seal: Option<Seal>,
    /// The record in which it was sealed, where the step names it.
    pub sealed_by: Option<RecordHash>,
}

impl StepDraw {
    /// As a step is logged, by a commit with this request id; none where the seed itself is logged.
    #[must_use]
    pub fn of(step: &StepResolved, request_id: &str) -> Option<Self> {
        step.draw.as_ref().map(|draw| Self {
            name: draw.name(),
            client_seed: draw.client_seed(request_id).to_vec(),
            dealt: None,
            seal: None,
            sealed_by: draw.sealed_by,
        })
    }

    /// Takes up the dealt value, once it's revealed; the seed that follows from it.
    pub fn reveal(&mut self, dealt: Dealt, round: &str, step: u32) -> Seed {
        (self.dealt, self.seal) = (Some(dealt), Some(draw::seal(&dealt)));
        draw::seed(&dealt, &self.client_seed, round, step)
    }
}

/// A draw that a commit sealed, to be used by a later one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sealed {
    /// Its name among the player's.
    pub name: DrawName,
    /// Its seal.
    pub seal: Seal,
    /// Why it was sealed apart from a step; none where the step before did.
    pub reason: Option<SealReason>,
}

/// The draws that a commit's events sealed, in order.
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

/// The numbers of the draws that a round's steps among a commit's events used.
pub fn used(events: &[Event], round: u64) -> impl Iterator<Item = u64> {
    events.iter().filter_map(move |event| match event {
        Event::StepResolved(step) if step.round == round => Some(step.draw.as_ref()?.number),
        _ => None,
    })
}

/// The records in which the draws of a commit's steps were sealed, as far as its steps name them.
pub fn sealed_by(events: &[Event]) -> impl Iterator<Item = RecordHash> {
    events.iter().filter_map(|event| match event {
        Event::StepResolved(step) => step.draw.as_ref()?.sealed_by,
        _ => None,
    })
}

/// Whether a commit may be shown as the one in which a draw was sealed: one with a logged seed may tell what another round of
/// an older log still hides (NP-12).
#[must_use]
pub fn may_be_shown(events: &[Event]) -> bool {
    !events.iter().any(|event| matches!(event, Event::StepResolved(step) if step.seed.is_some()))
}
