//! Rounds of the log in the engine: opened with the very model that they were played with, resolved step by step. What
//! the log holds of a step are the bytes of [`v1::Choice`] and [`v1::Outcome`].

use super::{Malformed, terms::terms_from_log};
use crate::{
    log::v1::RoundTerms,
    round::v1::{self, choice},
};
use motherlode_books::{RoundStarted, StepResolved};
use motherlode_slots as slots;
use prost::Message;

use super::outcome::card;
pub use super::outcome::write_outcome;

/// A choice as a message.
#[must_use]
pub fn choice_to_wire(choice: &slots::Choice) -> v1::Choice {
    let kind = match choice {
        slots::Choice::Spin => choice::Kind::Spin(choice::Spin {}),
        // Objects are counted from 1 on the wire and from 0 in the engine.
        slots::Choice::Pick(picked) => choice::Kind::Pick(choice::Pick {
            numbers: picked.as_slice().iter().map(|object| u32::from(*object) + 1).collect(),
        }),
        slots::Choice::StartFreeSpins => choice::Kind::StartFreeSpins(choice::StartFreeSpins {}),
        slots::Choice::StartFeature => choice::Kind::StartFeature(choice::StartFeature {}),
        slots::Choice::Double(guess) => choice::Kind::Double(card(*guess).into()),
        slots::Choice::Halve => choice::Kind::Halve(choice::Halve {}),
        slots::Choice::Collect => choice::Kind::Collect(choice::Collect {}),
    };
    v1::Choice { kind: Some(kind) }
}

/// A message as a choice. Whether the round waits for it, and for so many objects, is for the round to say.
///
/// # Errors
/// [`Malformed`] names the field at fault.
pub fn choice_from_wire(choice: &v1::Choice) -> Result<slots::Choice, Malformed> {
    Ok(match choice.kind.as_ref().ok_or(Malformed::Field("choice.kind"))? {
        choice::Kind::Spin(_) => slots::Choice::Spin,
        choice::Kind::Pick(pick) => slots::Choice::Pick(picked(&pick.numbers)?),
        choice::Kind::StartFreeSpins(_) => slots::Choice::StartFreeSpins,
        choice::Kind::StartFeature(_) => slots::Choice::StartFeature,
        choice::Kind::Double(guess) => match v1::Card::try_from(*guess) {
            Ok(v1::Card::RedHeart) => slots::Choice::Double(slots::Card::RedHeart),
            Ok(v1::Card::BlackSpade) => slots::Choice::Double(slots::Card::BlackSpade),
            _ => return Err(Malformed::Field("choice.double")),
        },
        choice::Kind::Halve(_) => slots::Choice::Halve,
        choice::Kind::Collect(_) => slots::Choice::Collect,
    })
}

fn picked(numbers: &[u32]) -> Result<slots::Picked, Malformed> {
    let malformed = || Malformed::Field("choice.pick.numbers");
    let object = |number: &u32| number.checked_sub(1).and_then(|object| u8::try_from(object).ok());
    let objects: Vec<u8> = numbers.iter().map(object).collect::<Option<_>>().ok_or_else(malformed)?;
    slots::Picked::new(&objects).ok_or_else(malformed)
}

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
    Choice(#[from] slots::ChoiceRefused),
    /// The choice is logged as the game's rule's, and the rule has another.
    #[error("the step is logged as automatic, but the game's rule chooses {rule:?}")]
    NotByRule {
        /// What the rule chooses; none where it chooses nothing, as the bet is the player's alone.
        rule: Option<slots::Choice>,
    },
    /// A message is malformed.
    #[error(transparent)]
    Malformed(#[from] Malformed),
}

/// A hash in lower-case hexadecimal.
#[must_use]
pub fn hex(hash: &[u8]) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The game of a logged round, with the very model that it was played with.
///
/// # Errors
/// This binary does not have it.
pub fn game_of(started: &RoundStarted) -> Result<&'static dyn slots::Game, Unresolvable> {
    let game = slots::game(&started.game, &started.rules_version).ok_or_else(|| Unresolvable::UnknownGame {
        game: started.game.clone(),
        rules_version: started.rules_version.clone(),
    })?;
    if game.model_hash() != started.model_hash {
        return Err(Unresolvable::UnknownModel {
            game: started.game.clone(),
            logged: hex(&started.model_hash),
            known: hex(&game.model_hash()),
        });
    }
    Ok(game)
}

/// Opens a logged round, with its game.
///
/// # Errors
/// See [`Unresolvable`].
pub fn open_round(started: &RoundStarted) -> Result<(&'static dyn slots::Game, Box<dyn slots::Round>), Unresolvable> {
    let game = game_of(started)?;
    let terms = RoundTerms::decode(started.stake.as_slice()).map_err(Malformed::from)?;
    let (stake, terms) = terms_from_log(&terms, game.carries(), started.coin_value, started.currency)?;
    Ok((game, game.open(&stake, &terms)?))
}

/// Resolves a step as logged, into `outcome`: one that was automatic by the very choice of its game's rule (PL-03).
///
/// # Errors
/// See [`Unresolvable`].
pub fn resolve_logged(
    round: &mut dyn slots::Round,
    step: &StepResolved,
    outcome: &mut slots::Outcome,
) -> Result<(), Unresolvable> {
    if step.automatic.is_some() {
        let rule = round.automatic().filter(|choice| *choice != slots::Choice::Spin);
        if rule.is_none_or(|choice| choice_to_wire(&choice).encode_to_vec() != step.choice) {
            return Err(Unresolvable::NotByRule { rule });
        }
    }
    resolve_step(round, step.seed, &step.choice, outcome)
}

/// Resolves a step from its seed and its choice as logged, into `outcome`.
///
/// # Errors
/// See [`Unresolvable`].
pub fn resolve_step(
    round: &mut dyn slots::Round,
    seed: slots::Seed,
    choice: &[u8],
    outcome: &mut slots::Outcome,
) -> Result<(), Unresolvable> {
    let choice = choice_from_wire(&v1::Choice::decode(choice).map_err(Malformed::from)?)?;
    round.resolve(&choice, &mut slots::Draws::from_seed(seed), outcome)?;
    Ok(())
}
