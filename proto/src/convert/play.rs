//! Choices, terms and outcomes of rounds. What the log holds of a step are the bytes of these messages.

use super::Malformed;
use crate::{
    log::v1::RoundTerms,
    round::v1::{self, choice, prize},
};
use motherlode_books::RoundStarted;
use motherlode_slots::{self as slots, WinKind};
use prost::Message;

/// What a round is played with, besides its coin value: kept with its bet in the log.
#[must_use]
pub fn terms_to_log(stake: &slots::Stake, terms: &slots::Terms) -> RoundTerms {
    RoundTerms {
        lines: stake.lines,
        coins_per_line: stake.coins_per_line,
        jackpot: terms.jackpot,
        double: terms.double,
    }
}

/// The stake and terms of a round as logged.
#[must_use]
pub fn terms_from_log(terms: &RoundTerms, coin_value_micros: u64) -> (slots::Stake, slots::Terms) {
    let stake = slots::Stake {
        coin_value_micros,
        lines: terms.lines,
        coins_per_line: terms.coins_per_line,
        buy_feature: false,
    };
    (stake, slots::Terms { jackpot: terms.jackpot, double: terms.double })
}

/// A choice as a message.
#[must_use]
pub fn choice_to_wire(choice: &slots::Choice) -> v1::Choice {
    let kind = match choice {
        slots::Choice::Spin => choice::Kind::Spin(choice::Spin {}),
        // Vials are counted from 1 on the wire and from 0 in the engine.
        slots::Choice::Vials(vials) => {
            choice::Kind::Vials(choice::Vials { numbers: vials.iter().map(|vial| u32::from(*vial) + 1).collect() })
        }
        slots::Choice::StartFreeSpins => choice::Kind::StartFreeSpins(choice::StartFreeSpins {}),
        slots::Choice::Double(guess) => choice::Kind::Double(card(*guess).into()),
        slots::Choice::Collect => choice::Kind::Collect(choice::Collect {}),
    };
    v1::Choice { kind: Some(kind) }
}

/// A message as a choice.
///
/// # Errors
/// [`Malformed`] names the field at fault.
pub fn choice_from_wire(choice: &v1::Choice) -> Result<slots::Choice, Malformed> {
    Ok(match choice.kind.as_ref().ok_or(Malformed::Field("choice.kind"))? {
        choice::Kind::Spin(_) => slots::Choice::Spin,
        choice::Kind::Vials(vials) => {
            let vials: [u32; 3] =
                vials.numbers.as_slice().try_into().map_err(|_| Malformed::Field("choice.vials.numbers"))?;
            let mut numbers = [0; 3];
            for (number, vial) in numbers.iter_mut().zip(vials) {
                let from_zero = vial.checked_sub(1).and_then(|vial| vial.try_into().ok());
                *number = from_zero.ok_or(Malformed::Field("choice.vials.numbers"))?;
            }
            slots::Choice::Vials(numbers)
        }
        choice::Kind::StartFreeSpins(_) => slots::Choice::StartFreeSpins,
        choice::Kind::Double(guess) => match v1::Card::try_from(*guess) {
            Ok(v1::Card::RedHeart) => slots::Choice::Double(slots::Card::RedHeart),
            Ok(v1::Card::BlackSpade) => slots::Choice::Double(slots::Card::BlackSpade),
            _ => return Err(Malformed::Field("choice.double")),
        },
        choice::Kind::Collect(_) => slots::Choice::Collect,
    })
}

fn card(card: slots::Card) -> v1::Card {
    match card {
        slots::Card::RedHeart => v1::Card::RedHeart,
        slots::Card::BlackSpade => v1::Card::BlackSpade,
    }
}

/// What a round waits for, as a message.
#[must_use]
pub fn awaiting_to_wire(awaiting: slots::Awaiting) -> v1::Awaiting {
    match awaiting {
        slots::Awaiting::Nothing => v1::Awaiting::Nothing,
        slots::Awaiting::Spin => v1::Awaiting::Spin,
        slots::Awaiting::Vials => v1::Awaiting::Vials,
        slots::Awaiting::FreeSpins => v1::Awaiting::FreeSpins,
        slots::Awaiting::Double => v1::Awaiting::Double,
    }
}

/// An outcome as a message.
#[must_use]
pub fn outcome_to_wire(outcome: &slots::Outcome) -> v1::Outcome {
    v1::Outcome {
        spins: outcome.spins.iter().map(|spin| spin_result(outcome, spin)).collect(),
        prize: outcome.prize.map(|prize| match prize {
            slots::Prize::Coins { multiple, coins } => v1::Prize { kind: Some(prize::Kind::Multiple(multiple)), coins },
            slots::Prize::FreeSpins(spins) => v1::Prize { kind: Some(prize::Kind::FreeSpins(spins)), coins: 0 },
            slots::Prize::Jackpot => v1::Prize { kind: Some(prize::Kind::Jackpot(true)), coins: 0 },
        }),
        card: outcome.card.map(|turn| v1::CardTurn {
            guess: card(turn.guess).into(),
            drawn: card(turn.card).into(),
            won: turn.guess == turn.card,
        }),
        jackpot: outcome.jackpot,
        awaiting: awaiting_to_wire(outcome.awaiting).into(),
        free_spins_left: outcome.free_spins_left,
        double_strip: outcome.double_strip.iter().map(|drawn| card(drawn).into()).collect(),
        round_win_coins: outcome.round_win_coins,
    }
}

fn spin_result(outcome: &slots::Outcome, spin: &slots::Spin) -> v1::SpinResult {
    let stops = spin.stops.as_slice();
    let cells = stops.len() * usize::from(spin.rows);
    v1::SpinResult {
        free: spin.free,
        stops: stops.iter().map(|stop| u32::from(*stop)).collect(),
        rows: spin.rows.into(),
        cells: spin.cells.get(..cells).unwrap_or_default().to_vec(),
        multiplier: spin.multiplier,
        wins: outcome
            .wins_of(spin)
            .iter()
            .map(|win| v1::Win {
                line: match win.kind {
                    WinKind::Line(line) => u32::from(line) + 1,
                    WinKind::Scatter => 0,
                },
                symbol: win.symbol.into(),
                count: win.count.into(),
                coins: win.coins,
            })
            .collect(),
        win_coins: spin.win_coins,
        free_spins_won: spin.free_spins_won,
        bonus: spin.bonus,
    }
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
    /// A message is malformed.
    #[error(transparent)]
    Malformed(#[from] Malformed),
}

/// A hash in lower-case hexadecimal.
#[must_use]
pub fn hex(hash: &[u8]) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Opens a logged round with the very model that it was played with.
///
/// # Errors
/// See [`Unresolvable`].
pub fn open_round(started: &RoundStarted) -> Result<Box<dyn slots::Round>, Unresolvable> {
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
    let terms = RoundTerms::decode(started.stake.as_slice()).map_err(Malformed::from)?;
    let (stake, terms) = terms_from_log(&terms, started.coin_value.0);
    Ok(game.open(&stake, &terms)?)
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
