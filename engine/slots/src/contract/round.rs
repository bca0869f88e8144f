//! A round in play, and what its player does.
//!
//! A round is driven in steps. Each [`Round::resolve`] takes the player's choice and the draws of a
//! fresh seed and fills an [`Outcome`]; a round is rebuilt by resolving its logged steps again.

use thiserror::Error;

use crate::contract::carried::Carried;
use crate::contract::draws::Draws;
use crate::contract::outcome::{Awaiting, Card, Outcome, PICKS_MAX, PickOffer};

/// The conditions, besides the stake, that a round is played on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// The pool is open. False while it's suspended and in demo play: the jackpot's chances go
    /// back to the money prizes that they were traded from, so the rest of the return is the same.
    pub jackpot: bool,
    /// The player keeps the gamble open after a win; without it the round settles (BW-23, ME-14).
    pub double: bool,
    /// Worth of a minor unit of the account's currency, in millionths of the major unit: 10,000 for a cent.
    pub minor_micros: u64,
    /// The limit of the gamble in minor units (ME-14, ME-15); what it's on is said by the game's rules version.
    pub gamble_max_minor: u64,
    /// The figures that the player carries when the round opens.
    pub carried: Carried,
}

impl Terms {
    /// The terms of a simulation, of a description, of mathematics: cents, the pool open, no gamble, and a player who
    /// carries this.
    #[must_use]
    pub fn plain(carried: Carried) -> Self {
        Self { jackpot: true, double: false, minor_micros: 10_000, gamble_max_minor: 0, carried }
    }
}

/// A player's step in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Spins the reels: the first step of every round.
    Spin,
    /// Picks different objects, such as vials or treasures.
    Pick(Picked),
    /// Plays the free spins won, or goes on with them.
    StartFreeSpins,
    /// Plays the feature won, or goes on with it.
    StartFeature,
    /// Guesses the next card: the heart for red, the spade for black.
    Double(Card),
    /// Secures half of what is at risk and keeps the rest at risk (ME-16).
    Halve,
    /// Takes the win and ends the gamble.
    Collect,
}

impl Choice {
    /// The wait that this choice ends.
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

/// Objects that the player picked, by number from 0, in the order picked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Picked {
    len: u8,
    at: [u8; PICKS_MAX],
}

impl Picked {
    /// Objects in the order picked; `None` when they are more than a game asks for.
    #[must_use]
    pub fn new(objects: &[u8]) -> Option<Self> {
        let mut at = [0; PICKS_MAX];
        at.get_mut(..objects.len())?.copy_from_slice(objects);
        Some(Self { len: u8::try_from(objects.len()).ok()?, at })
    }

    /// The objects in the order picked.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        self.at.get(..usize::from(self.len)).unwrap_or_default()
    }

    /// Checks that these are `needs` different objects out of `of`.
    ///
    /// # Errors
    /// The first fault: their number, then the first object that doesn't exist, then the first named twice.
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

/// Why a choice isn't accepted. Nothing was drawn and the round is as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ChoiceRefused {
    /// The round waits for something else.
    #[error("the round awaits {awaiting:?}")]
    NotAwaited {
        /// The step that it waits for.
        awaiting: Awaiting,
    },
    /// Too few or too many objects were picked.
    #[error("{given} objects are picked, not {needs}")]
    PickCount {
        /// How many the round asks for.
        needs: u8,
        /// How many were named.
        given: u8,
    },
    /// There is no such object.
    #[error("object {object} does not exist: there are {of}")]
    UnknownObject {
        /// The object named, from 0.
        object: u8,
        /// How many there are.
        of: u8,
    },
    /// The same object was named twice.
    #[error("object {object} is named twice")]
    SameObject {
        /// The object named twice, from 0.
        object: u8,
    },
    /// The game doesn't offer it here: a double past the limit, a half of nothing, a guess that is no colour.
    #[error("the round does not offer this: {what}")]
    NotOffered {
        /// The choice that isn't offered, for people.
        what: &'static str,
    },
}

/// A round in play.
pub trait Round: Send {
    /// The step that the round waits for.
    fn awaiting(&self) -> Awaiting;
    /// The pick that it waits for, if it waits for one.
    fn pick(&self) -> Option<PickOffer> {
        None
    }
    /// The choice made for a player who doesn't choose (PL-03); `None` when the round is over. Whatever the rules of
    /// a game say otherwise, what was won is taken and never risked, features are played, and of hidden objects, which
    /// are all alike, the first are picked.
    fn automatic(&self) -> Option<Choice> {
        choice_for(self.awaiting(), self.pick())
    }
    /// Resolves one step: clears `out` and fills it.
    ///
    /// # Errors
    /// The choice isn't one that the round waits for, or is malformed. Nothing was drawn then, the
    /// round is as it was, and `out` says nothing.
    fn resolve(&mut self, choice: &Choice, draws: &mut Draws, out: &mut Outcome) -> Result<(), ChoiceRefused>;
    /// Makes it a new round at the same stake and terms, but for what the player carries, without allocating.
    fn reopen(&mut self, carried: &Carried);
}

/// The choice that brings a round on without risking anything; `None` when it's over.
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
