use thiserror::Error;

use crate::contract::carried::Carried;
use crate::contract::draws::Draws;
use crate::contract::outcome::{Awaiting, Card, Outcome, PICKS_MAX, PickOffer};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Whether the jackpot's pool is open. While it is closed, money prizes take over the jackpot's probability.
    pub jackpot: bool,
    /// Whether the player may gamble a win (BW-23, ME-14).
    pub double: bool,
    pub minor_micros: u64,
    /// Gamble limit in minor units (ME-14, ME-15); 0 if the player may not gamble.
    pub gamble_max_minor: u64,
    pub carried: Carried,
}

impl Terms {
    #[must_use]
    pub fn plain(carried: Carried) -> Self {
        Self { jackpot: true, double: false, minor_micros: 10_000, gamble_max_minor: 0, carried }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    Spin,
    Pick(Picked),
    StartFreeSpins,
    StartFeature,
    Double(Card),
    Halve,
    Collect,
}

impl Choice {
    #[must_use]
    pub fn awaited(&self) -> Awaiting {
        match self {
            Self::Spin => Awaiting::Spin,
            Self::Pick(_) => Awaiting::Pick,
            Self::StartFreeSpins => Awaiting::FreeSpins,
            Self::StartFeature => Awaiting::Feature,
            Self::Double(_) | Self::Halve | Self::Collect => Awaiting::Double,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Picked {
    len: u8,
    at: [u8; PICKS_MAX],
}

impl Picked {
    #[must_use]
    pub fn new(objects: &[u8]) -> Option<Self> {
        let mut at = [0; PICKS_MAX];
        at.get_mut(..objects.len())?.copy_from_slice(objects);
        Some(Self { len: u8::try_from(objects.len()).ok()?, at })
    }

    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        self.at.get(..usize::from(self.len)).unwrap_or_default()
    }

    pub fn check(&self, needs: u8, of: u8) -> Result<(), ChoiceRefused> {
        let objects = self.as_slice();
        if self.len != needs {
            return Err(ChoiceRefused::PickCount { needs, given: self.len });
        }
        if let Some(&object) = objects.iter().find(|&&object| object >= of) {
            return Err(ChoiceRefused::UnknownObject { object, of });
        }
        let twice = objects.iter().enumerate().find(|(place, object)| objects[..*place].contains(object));
        twice.map_or(Ok(()), |(_, &object)| Err(ChoiceRefused::SameObject { object }))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ChoiceRefused {
    #[error("the choice is not possible now: the round waits for {awaiting:?}")]
    NotAwaited { awaiting: Awaiting },
    #[error("{given} bonus objects were picked, but {needs} are required")]
    PickCount { needs: u8, given: u8 },
    #[error("the picked numbers must be from 1 to {of}")]
    UnknownObject { object: u8, of: u8 },
    #[error("a bonus object was picked twice")]
    SameObject { object: u8 },
    #[error("the round does not offer this choice: {what}")]
    NotOffered { what: &'static str },
}

pub trait Round: Send {
    fn awaiting(&self) -> Awaiting;
    fn pick(&self) -> Option<PickOffer> {
        None
    }
    fn automatic(&self) -> Option<Choice> {
        choice_for(self.awaiting(), self.pick())
    }
    /// Resolves one step and writes its outcome to `out`. On error, no draw is used, the round is unchanged, and the
    /// content of `out` is unspecified.
    fn resolve(&mut self, choice: &Choice, draws: &mut Draws, out: &mut Outcome) -> Result<(), ChoiceRefused>;
    /// Restarts the round at the same stake and terms, without allocating memory.
    fn reopen(&mut self, carried: &Carried);
}

#[must_use]
pub fn choice_for(awaiting: Awaiting, pick: Option<PickOffer>) -> Option<Choice> {
    const FIRST: [u8; PICKS_MAX] = [0, 1, 2, 3, 4];
    match awaiting {
        Awaiting::Nothing => None,
        Awaiting::Spin => Some(Choice::Spin),
        Awaiting::Pick => {
            let needs = pick.map_or(0, |offer| usize::from(offer.needs));
            Some(Choice::Pick(Picked::new(&FIRST[..needs.min(PICKS_MAX)]).unwrap_or_default()))
        }
        Awaiting::FreeSpins => Some(Choice::StartFreeSpins),
        Awaiting::Feature => Some(Choice::StartFeature),
        Awaiting::Double => Some(Choice::Collect),
    }
}
