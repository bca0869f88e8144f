//! Round in play and the player's choices.
//!
//! [`Round::resolve`] takes a choice and the draws of a fresh seed and fills an [`Outcome`]. Resolving the logged steps again
//! rebuilds a round.

use thiserror::Error;

use crate::contract::carried::Carried;
use crate::contract::draws::Draws;
use crate::contract::outcome::{Awaiting, Card, Outcome, PICKS_MAX, PickOffer};

/// Conditions of a round other than the stake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Whether the pool is open. If false (suspended, demo play), the jackpot's chances go back to the money prizes that they were
    /// traded from, so the rest of the return is unchanged.
    pub jackpot: bool,
    /// Whether a win waits for the gamble instead of settling the round (BW-23, ME-14).
    pub double: bool,
    /// Worth of a minor unit in millionths of the major unit: 10,000 for a cent.
    pub minor_micros: u64,
    /// Gamble limit in minor units (ME-14, ME-15); the rules version defines the limited amount.
    pub gamble_max_minor: u64,
    /// Carried figures at the start of the round.
    pub carried: Carried,
}

impl Terms {
    /// Terms for simulation, description and mathematics: cents, open pool, no gamble.
    #[must_use]
    pub fn plain(carried: Carried) -> Self {
        Self { jackpot: true, double: false, minor_micros: 10_000, gamble_max_minor: 0, carried }
    }
}

/// Player's step in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Spins the reels: first step of each round.
    Spin,
    /// Picks different objects, such as vials or treasures.
    Pick(Picked),
    /// Plays or continues the free spins.
    StartFreeSpins,
    /// Plays or continues the feature.
    StartFeature,
    /// Guesses the next card: heart for red, spade for black.
    Double(Card),
    /// Secures half of the amount at risk (ME-16).
    Halve,
    /// Takes the win and ends the gamble.
    Collect,
}

impl Choice {
    /// Returns the wait that this choice ends.
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

/// Picked objects, numbered from 0, in picking order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Picked {
    len: u8,
    at: [u8; PICKS_MAX],
}

impl Picked {
    /// Creates a pick; `None` above [`PICKS_MAX`] objects.
    #[must_use]
    pub fn new(objects: &[u8]) -> Option<Self> {
        let mut at = [0; PICKS_MAX];
        at.get_mut(..objects.len())?.copy_from_slice(objects);
        Some(Self { len: u8::try_from(objects.len()).ok()?, at })
    }

    /// Objects in picking order.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        self.at.get(..usize::from(self.len)).unwrap_or_default()
    }

    /// Checks for `needs` different objects out of `of`.
    ///
    /// # Errors
    /// First fault: wrong number, then the first unknown object, then the first duplicate.
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

/// Reason for a refused choice. No draw was consumed and the round is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ChoiceRefused {
    /// The round awaits another step.
    #[error("the round awaits {awaiting:?}")]
    NotAwaited {
        /// Awaited step.
        awaiting: Awaiting,
    },
    /// Wrong number of objects.
    #[error("{given} objects are picked, not {needs}")]
    PickCount {
        /// Required number.
        needs: u8,
        /// Given number.
        given: u8,
    },
    /// Unknown object.
    #[error("object {object} does not exist: there are {of}")]
    UnknownObject {
        /// Object, from 0.
        object: u8,
        /// Number of objects.
        of: u8,
    },
    /// Duplicate object.
    #[error("object {object} is named twice")]
    SameObject {
        /// Object, from 0.
        object: u8,
    },
    /// Not offered here: a double above the limit, a half of nothing, a guess that is no colour.
    #[error("the round does not offer this: {what}")]
    NotOffered {
        /// Refused choice, for people.
        what: &'static str,
    },
}

/// A round in play.
pub trait Round: Send {
    /// Awaited step.
    fn awaiting(&self) -> Awaiting;
    /// Awaited pick.
    fn pick(&self) -> Option<PickOffer> {
        None
    }
    /// Choice for an absent player (PL-03); `None` if the round is over. By default wins are collected, features played, and the
    /// first of the indistinguishable hidden objects picked.
    fn automatic(&self) -> Option<Choice> {
        choice_for(self.awaiting(), self.pick())
    }
    /// Resolves one step: clears and fills `out`.
    ///
    /// # Errors
    /// The choice is malformed or not awaited. No draw was consumed, the round is unchanged, and `out` is unspecified.
    fn resolve(&mut self, choice: &Choice, draws: &mut Draws, out: &mut Outcome) -> Result<(), ChoiceRefused>;
    /// Restarts the round at the same stake and terms with other carried figures, without allocating.
    fn reopen(&mut self, carried: &Carried);
}

/// Choice that continues a round without risk; `None` if it's over.
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
