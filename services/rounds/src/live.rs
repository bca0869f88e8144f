//! A round in the engine: begun, or rebuilt from the log with the very model that it was played with.
//!
//! The log holds a step as the bytes of [`v1::Choice`] and [`v1::Outcome`].

use crate::{
    draws::{DealtOf, KeyLost, seed_of},
    terms::{terms_from_log, terms_of},
};
use motherlode_books::{OpenRound, RoundStarted, StepResolved};
use motherlode_proto::{
    convert::{
        Malformed,
        play::{choice_from_wire, choice_to_wire, hex, write_outcome},
    },
    round::v1::{self, choice::Kind},
};
use motherlode_slots::{self as slots, Choice, ChoiceRefused, Draws, Game, Outcome, Round, Seed, Stake, Terms};
use prost::Message;

/// Why a logged round cannot be resolved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unresolvable {
    /// This binary does not have the game or the version.
    #[error("unknown game {game} {rules_version}")]
    UnknownGame {
        /// The game.
        game: String,
        /// The version of its rules.
        rules_version: String,
    },
    /// This binary has the version with another model.
    #[error("model {logged} of {game} is unknown: this binary has {known}")]
    UnknownModel {
        /// The game.
        game: String,
        /// SHA-256 of the model that the round was played with.
        logged: String,
        /// SHA-256 of the model that this binary has.
        known: String,
    },
    /// The stake is not one that the game offers.
    #[error("the game refuses the stake: {0}")]
    Stake(#[from] slots::StakeRefused),
    /// The choice is not one that the round waits for.
    #[error("the round refuses the choice: {0}")]
    Choice(#[from] ChoiceRefused),
    /// The choice is logged as the game's rule's, and the rule has another.
    #[error("the step is logged as automatic, but the game's rule chooses {rule:?}")]
    NotByRule {
        /// The choice of the rule; none where it chooses nothing, as the bet is the player's alone.
        rule: Option<Choice>,
    },
    /// The key of a draw that the round used is not to be had.
    #[error(transparent)]
    KeyLost(#[from] KeyLost),
    /// A message is malformed.
    #[error(transparent)]
    Malformed(#[from] Malformed),
}

/// The game of a logged round, with the very model that it was played with.
///
/// # Errors
/// This binary does not have it.
pub fn game_of(started: &RoundStarted) -> Result<&'static dyn Game, Unresolvable> {
    let game = slots::game(&started.game, &started.rules_version).ok_or_else(|| Unresolvable::UnknownGame {
        game: started.game.to_string(),
        rules_version: started.rules_version.to_string(),
    })?;
    if game.model_hash() != started.model_hash {
        return Err(Unresolvable::UnknownModel {
            game: started.game.to_string(),
            logged: hex(&started.model_hash),
            known: hex(&game.model_hash()),
        });
    }
    Ok(game)
}

/// Whether a logged choice is a turn of the gamble, which returns exactly what it takes, or its end.
#[must_use]
pub fn is_gamble(choice: &[u8]) -> bool {
    let kind = v1::Choice::decode(choice).ok().and_then(|choice| choice.kind);
    matches!(kind, Some(Kind::Double(_) | Kind::Halve(_) | Kind::Collect(_)))
}

/// A round in play.
pub struct Live {
    /// Its game.
    pub game: &'static dyn Game,
    /// Its stake.
    pub stake: Stake,
    /// The terms that it was opened on.
    pub terms: Terms,
    round: Box<dyn Round>,
}

impl Live {
    /// A new round, which awaits [`Choice::Spin`].
    ///
    /// # Errors
    /// The first fault of the stake.
    pub fn begin(game: &'static dyn Game, stake: Stake, terms: Terms) -> Result<Self, slots::StakeRefused> {
        let round = game.open(&stake, &terms)?;
        Ok(Self { game, stake, terms, round })
    }

    /// A logged round as its bet opened it.
    ///
    /// # Errors
    /// See [`Unresolvable`].
    pub fn open(started: &RoundStarted) -> Result<Self, Unresolvable> {
        let game = game_of(started)?;
        let (stake, terms) = terms_from_log(terms_of(started)?, game.carries(), started.coin_value, started.currency)?;
        Ok(Self::begin(game, stake, terms)?)
    }

    /// An open round as it stands, by resolving its logged steps again. `name` is the round's.
    ///
    /// # Errors
    /// See [`Unresolvable`].
    pub fn rebuild(open: &OpenRound, name: &str, dealt_of: &DealtOf<'_>) -> Result<Self, Unresolvable> {
        let (mut live, mut outcome) = (Self::open(&open.started)?, Outcome::default());
        for (step, number) in open.steps.iter().zip(1..) {
            live.again(seed_of(&step.drawn, name, number, dealt_of)?, &step.choice, &mut outcome)?;
        }
        Ok(live)
    }

    /// The step that the round waits for.
    #[must_use]
    pub fn awaiting(&self) -> slots::Awaiting {
        self.round.awaiting()
    }

    /// The choice of the game's rule; none where the round is over, or hasn't begun: the bet is the player's alone.
    #[must_use]
    pub fn automatic(&self) -> Option<Choice> {
        self.round.automatic().filter(|choice| *choice != Choice::Spin)
    }

    /// Resolves a step into `outcome`.
    ///
    /// # Errors
    /// The round does not wait for the choice; nothing was drawn then.
    pub fn resolve(&mut self, choice: &Choice, seed: Seed, outcome: &mut Outcome) -> Result<(), ChoiceRefused> {
        self.round.resolve(choice, &mut Draws::from_seed(seed), outcome)
    }

    /// Resolves a step from its seed and its choice as logged.
    ///
    /// # Errors
    /// See [`Unresolvable`].
    pub fn again(&mut self, seed: Seed, choice: &[u8], outcome: &mut Outcome) -> Result<(), Unresolvable> {
        let choice = choice_from_wire(&v1::Choice::decode(choice).map_err(Malformed::from)?)?;
        Ok(self.resolve(&choice, seed, outcome)?)
    }

    /// Resolves a step as logged, from its seed: one that was automatic by the very choice of its game's rule (PL-03).
    ///
    /// # Errors
    /// See [`Unresolvable`].
    pub fn logged(&mut self, step: &StepResolved, seed: Seed, outcome: &mut Outcome) -> Result<(), Unresolvable> {
        if step.automatic.is_some() {
            let rule = self.automatic();
            if rule.is_none_or(|choice| choice_to_wire(&choice).encode_to_vec() != step.choice) {
                return Err(Unresolvable::NotByRule { rule });
            }
        }
        self.again(seed, &step.choice, outcome)
    }

    /// Writes an outcome of the round as the log has it, after what `bytes` hold.
    pub fn write(&self, outcome: &Outcome, bytes: &mut Vec<u8>) {
        write_outcome(self.game, outcome, bytes);
    }
}
