//! Paylines: wins from left to right, the highest per line (BW-01, BW-03).
//!
//! Most windows win nothing, so the evaluator first finds *which* lines win, all lines and symbols
//! at once: for every reel, stop and symbol a bit mask says on which lines that symbol (or a wild)
//! stands there; the masks of the first three reels, and-ed, are the lines that hold three of a
//! kind. Only those lines are then read cell by cell. Costs about ten nanoseconds a window.

use crate::parts::file::ModelError;
use crate::parts::reels::{Column, REELS, Reels, StopsAt};

/// Most symbols of a game.
pub const SYMBOLS_MAX: usize = 16;
/// Most paylines: the bits of a [`LineMask`].
pub const LINES_MAX: usize = 64;

/// Highest pay of a combination. With [`crate::parts::reels::CYCLE_MAX`] it keeps every sum of coins over
/// a full cycle within 64 bits.
pub const PAYS_MAX: u64 = 1_000_000;

/// A set of lines, the first in the lowest bit.
pub type LineMask = u64;

/// The pays of 0, 1, ... 5 of each symbol on a line, times the coins of the line.
pub type LinePays = [[u64; REELS + 1]; SYMBOLS_MAX];

/// A win on a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineWin {
    /// The symbol.
    pub symbol: u8,
    /// How many of it.
    pub count: u8,
    /// Its pay, times the coins of the line.
    pub pays: u64,
}

/// The paylines of a game.
#[derive(Clone, Debug)]
pub struct Lines {
    rows: Vec<[u8; REELS]>,
    pays: LinePays,
    wild: u8,
    /// Symbols that wilds replace, the wild itself included.
    on_lines: [bool; SYMBOLS_MAX],
    /// For each reel, stop and symbol: the lines on which it or a wild stands.
    masks: [Vec<[LineMask; SYMBOLS_MAX]>; REELS],
    /// All lines for symbols that pay from two of a kind on, none for others.
    two_pay: [LineMask; SYMBOLS_MAX],
}

impl Lines {
    /// Compiles the lines for these reels. `on_lines` names the symbols that pay on lines.
    ///
    /// # Errors
    /// No line, too many, a row outside the window, or pays that are too high or aren't ascending from two or
    /// three of a kind on (a line that wins is then known from its first three reels).
    pub fn new(
        reels: &Reels,
        rows: Vec<[u8; REELS]>,
        pays: LinePays,
        wild: u8,
        on_lines: [bool; SYMBOLS_MAX],
    ) -> Result<Self, ModelError> {
        let bad = |what: String| Err(ModelError::part("lines", what));
        if rows.is_empty() || rows.len() > LINES_MAX {
            return bad(format!("{} lines", rows.len()));
        }
        if rows.iter().flatten().any(|&row| usize::from(row) >= reels.rows()) {
            return bad("a line leaves the window".into());
        }
        for (symbol, pays) in pays.iter().enumerate() {
            let pays_on_lines =
                on_lines[symbol] && pays[1] == 0 && pays[3] > 0 && pays[5] <= PAYS_MAX && pays.is_sorted();
            if !pays_on_lines && (on_lines[symbol] || pays.iter().any(|&p| p > 0)) {
                return bad(format!("the pays {pays:?} of symbol {symbol}"));
            }
        }
        let masks = std::array::from_fn(|reel| {
            let columns = reels.columns(reel).iter();
            columns.map(|column| masks_of(column, reel, &rows, wild, &on_lines)).collect()
        });
        let two_pay = pays.map(|p| if p[2] > 0 { LineMask::MAX } else { 0 });
        Ok(Self { rows, pays, wild, on_lines, masks, two_pay })
    }

    /// Each line's row on every reel.
    #[must_use]
    pub fn rows(&self) -> &[[u8; REELS]] {
        &self.rows
    }

    /// The pays of each symbol on a line.
    #[must_use]
    pub fn pays(&self) -> &LinePays {
        &self.pays
    }

    /// The wild's index.
    #[must_use]
    pub fn wild(&self) -> u8 {
        self.wild
    }

    /// Whether a symbol pays on lines.
    #[must_use]
    pub fn on_lines(&self, symbol: u8) -> bool {
        self.on_lines[usize::from(symbol)]
    }

    /// The first `lines` lines.
    #[inline]
    #[must_use]
    pub fn first(lines: u32) -> LineMask {
        LineMask::MAX.checked_shr((LineMask::BITS).saturating_sub(lines)).unwrap_or(0)
    }

    /// Which of `played` win.
    #[inline]
    #[must_use]
    pub fn winners(&self, stops: &StopsAt, played: LineMask) -> LineMask {
        let first = &self.masks[0][stops[0]];
        let second = &self.masks[1][stops[1]];
        let third = &self.masks[2][stops[2]];
        let mut any = 0;
        for symbol in 0..SYMBOLS_MAX {
            any |= first[symbol] & second[symbol] & (third[symbol] | self.two_pay[symbol]);
        }
        any & played
    }

    /// The highest win of one line; [`Lines::winners`] names the lines for which it's above 0.
    #[inline]
    #[must_use]
    pub fn best(&self, line: usize, window: &[Column; REELS]) -> LineWin {
        let rows = &self.rows[line];
        let cell = |reel: usize| window[reel][usize::from(rows[reel])];
        let mut wilds = 0;
        while wilds < REELS && cell(wilds) == self.wild {
            wilds += 1;
        }
        let of_wilds = self.win(self.wild, wilds);
        if wilds == REELS || !self.on_lines(cell(wilds)) {
            return of_wilds;
        }
        let symbol = cell(wilds);
        let mut count = wilds + 1;
        while count < REELS && (cell(count) == symbol || cell(count) == self.wild) {
            count += 1;
        }
        let of_symbol = self.win(symbol, count);
        if of_wilds.pays > of_symbol.pays { of_wilds } else { of_symbol }
    }

    #[allow(clippy::cast_possible_truncation)] // A count is at most REELS.
    #[inline]
    fn win(&self, symbol: u8, count: usize) -> LineWin {
        LineWin { symbol, count: count as u8, pays: self.pays[usize::from(symbol)][count] }
    }
}

fn masks_of(
    column: &Column,
    reel: usize,
    rows: &[[u8; REELS]],
    wild: u8,
    on_lines: &[bool; SYMBOLS_MAX],
) -> [LineMask; SYMBOLS_MAX] {
    std::array::from_fn(|symbol| {
        let stands = |cell: u8| on_lines[symbol] && (usize::from(cell) == symbol || cell == wild);
        let line_of =
            |(line, rows): (usize, &[u8; REELS])| LineMask::from(stands(column[usize::from(rows[reel])])) << line;
        rows.iter().enumerate().map(line_of).fold(0, |all, one| all | one)
    })
}
