//! Writes outcomes directly as bytes, without the fields that are not logged. Changes of a player's saved progress are
//! logged as `CollectionChanged` events.

use super::plain::Out;
use crate::round::v1;
use motherlode_slots::{self as slots, Game, MarkKind, SpinKind, WinKind};

pub fn write_outcome(game: &dyn Game, outcome: &slots::Outcome, bytes: &mut Vec<u8>) {
    let ways = game.info().ways;
    let mut out = Out(bytes);
    for spin in &outcome.spins {
        out.nested(1, |out| write_spin(out, outcome, spin, ways));
    }
    if let Some(prize) = &outcome.prize {
        out.nested(2, |out| match *prize {
            slots::Prize::Coins { multiple, coins } => {
                out.one_of(1, multiple.into());
                out.varint(4, coins);
            }
            slots::Prize::FreeSpins(spins) => out.one_of(2, spins.into()),
            slots::Prize::Jackpot => out.one_of(3, true.into()),
        });
    }
    if let Some(turn) = &outcome.card {
        out.nested(3, |out| {
            out.kind(1, card(turn.guess));
            out.kind(2, card(turn.card));
            out.varint(3, turn.won.into());
            out.varint(4, turn.risked_minor);
            out.varint(5, turn.minor);
        });
    }
    out.varint(4, outcome.jackpot.into());
    out.kind(5, awaiting(outcome.awaiting));
    out.varint(6, outcome.free_spins_left.into());
    let mut strip = outcome.double_strip.iter().peekable();
    if strip.peek().is_some() {
        out.nested(7, |out| strip.for_each(|drawn| out.packed(number(card(drawn)))));
    }
    out.varint(8, outcome.round_win_coins);
    out.varint(9, outcome.round_win_minor);
    if let Some(offer) = &outcome.pick {
        out.nested(10, |out| {
            out.varint(1, offer.needs.into());
            out.varint(2, offer.of.into());
        });
    }
    for reveal in &outcome.reveals {
        out.nested(11, |out| {
            out.varint(1, u64::from(reveal.object) + 1);
            out.varint(2, reveal.coins);
        });
    }
    out.varint(14, outcome.credited_minor);
}

fn write_spin(out: &mut Out, outcome: &slots::Outcome, spin: &slots::Spin, ways: bool) {
    let (kind, collection_symbol) = spin_kind(spin.kind);
    let cells = usize::from(spin.reels) * usize::from(spin.rows);
    out.kind(1, kind);
    let stops = spin.stops.as_slice();
    if !stops.is_empty() {
        out.nested(2, |out| stops.iter().for_each(|stop| out.packed(u64::from(*stop))));
    }
    out.varint(3, spin.rows.into());
    out.bytes(4, spin.cells.get(..cells).unwrap_or_default());
    out.varint(5, spin.multiplier.into());
    for win in outcome.wins_of(spin) {
        out.nested(6, |out| write_win(out, win));
    }
    out.varint(7, spin.win_coins);
    out.varint(8, spin.free_spins_won.into());
    out.varint(9, spin.bonus.into());
    for mark in outcome.marks_of(spin) {
        out.nested(10, |out| write_mark(out, mark));
    }
    out.varint(11, spin.win_minor);
    out.varint(12, if ways { u64::from(spin.rows).pow(spin.reels.into()) } else { 0 });
    out.varint(13, collection_symbol.into());
}

fn write_win(out: &mut Out, win: &slots::Win) {
    let (line, ways) = match win.kind {
        // Numbers of paylines start at 1 in messages, and at 0 in the engine.
        WinKind::Line(line) => (u32::from(line) + 1, 0),
        WinKind::Ways(ways) => (0, ways),
        WinKind::Scatter => (0, 0),
    };
    out.varint(1, line.into());
    out.varint(2, win.symbol.into());
    out.varint(3, win.count.into());
    out.varint(4, win.coins);
    out.varint(5, ways.into());
}

fn write_mark(out: &mut Out, mark: &slots::Mark) {
    let kind = match mark.kind {
        MarkKind::Crystal => v1::MarkKind::Crystal,
        MarkKind::Bonus => v1::MarkKind::Bonus,
        MarkKind::Mystery => v1::MarkKind::Mystery,
        MarkKind::Multiplier => v1::MarkKind::Multiplier,
        MarkKind::Potion => v1::MarkKind::Potion,
        MarkKind::PlacedWild => v1::MarkKind::PlacedWild,
        MarkKind::Question => v1::MarkKind::Question,
    };
    out.varint(1, mark.cell.into());
    out.kind(2, kind);
    out.varint(3, mark.value.into());
}

fn number(kind: impl Into<i32>) -> u64 {
    i64::from(kind.into()).cast_unsigned()
}

impl Out<'_> {
    fn kind(&mut self, field: u8, kind: impl Into<i32>) {
        self.varint(field, number(kind));
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

pub(super) fn card(card: slots::Card) -> v1::Card {
    match card {
        slots::Card::RedHeart => v1::Card::RedHeart,
        slots::Card::BlackSpade => v1::Card::BlackSpade,
        slots::Card::RedDiamond => v1::Card::RedDiamond,
        slots::Card::BlackClub => v1::Card::BlackClub,
        slots::Card::Joker => v1::Card::Joker,
    }
}
