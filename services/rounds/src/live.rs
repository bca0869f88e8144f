//! Rounds in the engine, new or rebuilt from the log with their original model.
//!
//! The log has a step's choice and outcome as encoded [`v1::Choice`] and [`v1::Outcome`].

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

/// Reason why a logged round can't be resolved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unresolvable {
    /// This binary lacks the game or version.
    #[error("unknown game {game} {rules_version}")]
    UnknownGame {
        /// Game.
        game: String,
        /// Rules version.
        rules_version: String,
    },
    /// This binary has another model of the version.
    #[error("model {logged} of {game} is unknown: this binary has {known}")]
    UnknownModel {
        /// Game.
        game: String,
        /// SHA-256 of the round's model.
        logged: String,
        /// SHA-256 of this binary's model.
        known: String,
    },
    /// The game doesn't offer the stake.
    #[error("the game refuses the stake: {0}")]
    Stake(#[from] slots::StakeRefused),
    /// The round doesn't await the choice.
    #[error("the round refuses the choice: {0}")]
    Choice(#[from] ChoiceRefused),
    /// The step is logged as automatic with another choice than the game's rule.
    #[error("the step is logged as automatic, but the game's rule chooses {rule:?}")]
    NotByRule {
        /// Choice of the rule; `None` if it has none, as for the bet.
        rule: Option<Choice>,
    },
    /// The key of a used draw is unavailable.
    #[error(transparent)]
    KeyLost(#[from] KeyLost),
    /// A message is malformed.
    #[error(transparent)]
    Malformed(#[from] Malformed),
}

/// Game of a logged round, with the original model.
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

/// Returns whether a logged choice is a turn of the gamble, whose mean return is its stake, or its end.
#[must_use]
pub fn is_gamble(choice: &[u8]) -> bool {
    let kind = v1::Choice::decode(choice).ok().and_then(|choice| choice.kind);
    matches!(kind, Some(Kind::Double(_) | Kind::Halve(_) | Kind::Collect(_)))
}

/// Round in play.
pub struct Live {
    /// Game of the round.
    pub game: &'static dyn Game,
    /// Stake.
    pub stake: Stake,
    /// Terms.
    pub terms: Terms,
    round: Box<dyn Round>,
}

impl Live {
    /// Starts a new round, which awaits [`Choice::Spin`].
    ///
    /// # Errors
    /// First fault of the stake.
    pub fn begin(game: &'static dyn Game, stake: Stake, terms: Terms) -> Result<Self, slots::StakeRefused> {
        let round = game.open(&stake, &terms)?;
        Ok(Self { game, stake, terms, round })
    }

    /// Opens a logged round at its bet.
    ///
    /// # Errors
    /// See [`Unresolvable`].
    pub fn open(started: &RoundStarted) -> Result<Self, Unresolvable> {
        let game = game_of(started)?;
        let (stake, terms) = terms_from_log(terms_of(started)?, game.carries(), started.coin_value, started.currency)?;
        Ok(Self::begin(game, stake, terms)?)
    }

    /// Rebuilds an open round by resolving its logged steps. `name` is the round's name.
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

    /// Awaited step.
    #[must_use]
    pub fn awaiting(&self) -> slots::Awaiting {
        self.round.awaiting()
    }

    /// Choice of the game's rule; `None` for a finished round and before the bet.
    #[must_use]
    pub fn automatic(&self) -> Option<Choice> {
        self.round.automatic().filter(|choice| *choice != Choice::Spin)
    }

    /// Resolves a step into `outcome`.
    ///
    /// # Errors
    /// The round does not await the choice; no draw was consumed.
    pub fn resolve(&mut self, choice: &Choice, seed: Seed, outcome: &mut Outcome) -> Result<(), ChoiceRefused> {
        self.round.resolve(choice, &mut Draws::from_seed(seed), outcome)
    }

    /// Resolves a step from its seed and logged choice.
    ///
    /// # Errors
    /// See [`Unresolvable`].
    pub fn again(&mut self, seed: Seed, choice: &[u8], outcome: &mut Outcome) -> Result<(), Unresolvable> {
        let choice = choice_from_wire(&v1::Choice::decode(choice).map_err(Malformed::from)?)?;
        Ok(self.resolve(&choice, seed, outcome)?)
    }

    /// Resolves a logged step from its seed; an automatic one must have the choice of the game's rule (PL-03).
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

    /// Appends an outcome of the round in the log's encoding to `bytes`.
    pub fn write(&self, outcome: &Outcome, bytes: &mut Vec<u8>) {
        write_outcome(self.game, outcome, bytes);
    }
}
