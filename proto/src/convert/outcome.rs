//! Outcomes as messages. All of an outcome is in the message, but for what the engine tells simulations alone
//! (`part_coins`) and for what the player carries on, which the log has as an event of its own (see
//! [`super::collection`]).

use super::play::card;
use crate::round::v1::{self, prize};
use motherlode_slots::{self as slots, Game, MarkKind, SpinKind, WinKind};

/// An outcome of a game as a message.
#[must_use]
pub fn outcome_to_wire(game: &dyn Game, outcome: &slots::Outcome) -> v1::Outcome {
    let ways = game.info().ways;
    v1::Outcome {
        spins: outcome.spins.iter().map(|spin| spin_result(outcome, spin, ways)).collect(),
        prize: outcome.prize.map(|prize| match prize {
            slots::Prize::Coins { multiple, coins } => v1::Prize { kind: Some(prize::Kind::Multiple(multiple)), coins },
            slots::Prize::FreeSpins(spins) => v1::Prize { kind: Some(prize::Kind::FreeSpins(spins)), coins: 0 },
            slots::Prize::Jackpot => v1::Prize { kind: Some(prize::Kind::Jackpot(true)), coins: 0 },
        }),
        card: outcome.card.map(|turn| v1::CardTurn {
            guess: card(turn.guess).into(),
            drawn: card(turn.card).into(),
            won: turn.won,
            risked_minor: turn.risked_minor,
            won_minor: turn.minor,
        }),
        jackpot: outcome.jackpot,
        awaiting: awaiting(outcome.awaiting).into(),
        free_spins_left: outcome.free_spins_left,
        double_strip: outcome.double_strip.iter().map(|drawn| card(drawn).into()).collect(),
        round_win_coins: outcome.round_win_coins,
        round_win_minor: outcome.round_win_minor,
        pick: outcome.pick.map(|offer| v1::PickOffer { needs: offer.needs.into(), of: offer.of.into() }),
        // Objects are counted from 1 on the wire and from 0 in the engine.
        reveals: outcome
            .reveals
            .iter()
            .map(|reveal| v1::Reveal { number: u32::from(reveal.object) + 1, coins: reveal.coins })
            .collect(),
    }
}

fn awaiting(awaiting: slots::Awaiting) -> v1::Awaiting {
    match awaiting {
        slots::Awaiting::Nothing => v1::Awaiting::Nothing,
        slots::Awaiting::Spin => v1::Awaiting::Spin,
        slots::Awaiting::Pick => v1::Awaiting::Pick,
        slots::Awaiting::FreeSpins => v1::Awaiting::FreeSpins,
        slots::Awaiting::Feature => v1::Awaiting::Feature,
        slots::Awaiting::Double => v1::Awaiting::Double,
    }
}

fn spin_result(outcome: &slots::Outcome, spin: &slots::Spin, ways: bool) -> v1::SpinResult {
    let (kind, collection_symbol) = spin_kind(spin.kind);
    let cells = usize::from(spin.reels) * usize::from(spin.rows);
    v1::SpinResult {
        kind: kind.into(),
        stops: spin.stops.as_slice().iter().map(|stop| u32::from(*stop)).collect(),
        rows: spin.rows.into(),
        cells: spin.cells.get(..cells).unwrap_or_default().to_vec(),
        multiplier: spin.multiplier,
        wins: outcome.wins_of(spin).iter().map(win).collect(),
        win_coins: spin.win_coins,
        free_spins_won: spin.free_spins_won,
        bonus: spin.bonus,
        marks: outcome.marks_of(spin).iter().map(mark).collect(),
        win_minor: spin.win_minor,
        // DM-01: as many rows on each reel, so rows to the power of the reels.
        ways: if ways { u64::from(spin.rows).pow(spin.reels.into()) } else { 0 },
        collection_symbol,
    }
}

/// The kind, and the symbol that a Collection Free Spin is of.
fn spin_kind(kind: SpinKind) -> (v1::SpinKind, u32) {
    let plain = match kind {
        SpinKind::Base => v1::SpinKind::Base,
        SpinKind::Free => v1::SpinKind::Free,
        SpinKind::Collection(symbol) => return (v1::SpinKind::Collection, symbol.into()),
        SpinKind::HoldAndWin => v1::SpinKind::HoldAndWin,
        SpinKind::HighSymbols => v1::SpinKind::HighSymbols,
        SpinKind::RandomWilds => v1::SpinKind::RandomWilds,
        SpinKind::MultiplierRespin => v1::SpinKind::MultiplierRespin,
        SpinKind::MegaWild => v1::SpinKind::MegaWild,
        SpinKind::Explosion => v1::SpinKind::Explosion,
    };
    (plain, 0)
}

fn win(win: &slots::Win) -> v1::Win {
    let (line, ways) = match win.kind {
        // Lines are counted from 1 on the wire and from 0 in the engine.
        WinKind::Line(line) => (u32::from(line) + 1, 0),
        WinKind::Ways(ways) => (0, ways),
        WinKind::Scatter => (0, 0),
    };
    v1::Win { line, symbol: win.symbol.into(), count: win.count.into(), coins: win.coins, ways }
}

fn mark(mark: &slots::Mark) -> v1::Mark {
    let kind = match mark.kind {
        MarkKind::Crystal => v1::MarkKind::Crystal,
        MarkKind::Bonus => v1::MarkKind::Bonus,
        MarkKind::Mystery => v1::MarkKind::Mystery,
        MarkKind::Multiplier => v1::MarkKind::Multiplier,
        MarkKind::Potion => v1::MarkKind::Potion,
        MarkKind::PlacedWild => v1::MarkKind::PlacedWild,
        MarkKind::Question => v1::MarkKind::Question,
    };
    v1::Mark { cell: mark.cell.into(), kind: kind.into(), value: mark.value }
}
