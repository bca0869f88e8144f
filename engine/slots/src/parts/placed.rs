//! Reel windows with cells whose symbols do not come from strips (WF-07 to WF-13).

use crate::contract::draws::Draws;
use crate::contract::outcome::{CELLS_MAX, Outcome, Spin, SpinKind, Stops, Win, WinKind};
use crate::parts::reels::{Column, REELS};
use crate::parts::windows::{LineBet, Windows};

pub type Window = [Column; REELS];

pub fn distinct<const MAX: usize>(n: usize, of: usize, draws: &mut Draws, into: &mut [u8; MAX]) -> usize {
    let of = of.min(MAX);
    let n = n.min(of);
    for (number, place) in (0..).zip(into.iter_mut()).take(of) {
        *place = number;
    }
    for place in 0..n {
        let rest = u32::try_from(of - place).unwrap_or(1);
        into.swap(place, place + draws.below(rest) as usize);
    }
    n
}

pub struct Placed {
    pub kind: SpinKind,
    pub multiplier: u64,
    /// Stops of the reels; empty if no cell was read from a strip.
    pub stops: Stops,
    pub marks_from: usize,
}

impl Windows {
    pub fn show_placed(&self, bet: &LineBet, window: &Window, placed: &Placed, out: &mut Outcome) -> u64 {
        let wins_from = out.wins.len();
        let mut coins = 0;
        for line in (0u8..).take(self.lines.rows().len()).filter(|line| bet.lines >> line & 1 == 1) {
            let win = self.lines.best(usize::from(line), window);
            if win.pays > 0 {
                let paid = win.pays * bet.coins_per_line * placed.multiplier;
                coins += paid;
                out.wins.push(Win { kind: WinKind::Line(line), symbol: win.symbol, count: win.count, coins: paid });
            }
        }
        let rows = self.reels.rows();
        let mut cells = [0; CELLS_MAX];
        for (column, cells) in window.iter().zip(cells.chunks_mut(rows)) {
            cells.copy_from_slice(&column[..rows]);
        }
        let range = |from: usize, to: usize| index(from)..index(to);
        out.spins.push(Spin {
            kind: placed.kind,
            stops: placed.stops,
            reels: 5,
            rows: u8::try_from(rows).unwrap_or(u8::MAX),
            cells,
            multiplier: u32::try_from(placed.multiplier).unwrap_or(u32::MAX),
            wins: range(wins_from, out.wins.len()),
            marks: range(placed.marks_from, out.marks.len()),
            win_coins: coins,
            win_minor: bet.worth.minor(coins),
            free_spins_won: 0,
            bonus: false,
        });
        coins
    }
}

/// Cannot overflow: there are at most 200 windows with 64 cells each.
#[allow(clippy::cast_possible_truncation)]
const fn index(of: usize) -> u32 {
    of as u32
}
