//! Paylines: each line, read from left to right, pays only its highest win (BW-01, BW-03).
//!
//! Bit masks per reel, stop and symbol select the few winning lines, so that only these lines are read cell by cell.

use crate::parts::file::ModelError;
use crate::parts::reels::{Column, REELS, Reels, StopsAt};

pub const SYMBOLS_MAX: usize = 16;
pub const LINES_MAX: usize = 64;

/// Maximum pay of a symbol. This limit keeps sums over all stop combinations within 64 bits.
pub const PAYS_MAX: u64 = 1_000_000;

/// Set of lines; bit 0 is the first line.
pub type LineMask = u64;

/// Pays of each symbol for 0 to 5 of a kind, as multiples of the coins per line.
pub type LinePays = [[u64; REELS + 1]; SYMBOLS_MAX];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineWin {
    pub symbol: u8,
    pub count: u8,
    pub pays: u64,
}

#[derive(Clone, Debug)]
pub struct Lines {
    rows: Vec<[u8; REELS]>,
    pays: LinePays,
    wild: u8,
    /// For each symbol, whether it is the Wild or a symbol that the Wild replaces.
    on_lines: [bool; SYMBOLS_MAX],
    /// For each reel, stop and symbol, the lines on which the reel shows the symbol or a Wild.
    masks: [Vec<[LineMask; SYMBOLS_MAX]>; REELS],
    two_pay: [LineMask; SYMBOLS_MAX],
}

impl Lines {
    /// Fails if a line leaves the visible rows, or if a symbol's pays do not start at two or three of a kind, or do not
    /// ascend.
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
            return bad("a line leaves the visible rows".into());
        }
        for (symbol, pays) in pays.iter().enumerate() {
            let pays_on_lines =
                on_lines[symbol] && pays[1] == 0 && pays[3] > 0 && pays[5] <= PAYS_MAX && pays.is_sorted();
            if !pays_on_lines && (on_lines[symbol] || pays.iter().any(|&p| p > 0)) {
                return bad(format!(
                    "symbol {symbol} pays {pays:?}, not ascending amounts from two or three of a kind"
                ));
            }
        }
        let masks = std::array::from_fn(|reel| {
            let columns = reels.columns(reel).iter();
            columns.map(|column| masks_of(column, reel, &rows, wild, &on_lines)).collect()
        });
        let two_pay = pays.map(|p| if p[2] > 0 { LineMask::MAX } else { 0 });
        Ok(Self { rows, pays, wild, on_lines, masks, two_pay })
    }

    #[must_use]
    pub fn rows(&self) -> &[[u8; REELS]] {
        &self.rows
    }

    #[must_use]
    pub fn pays(&self) -> &LinePays {
        &self.pays
    }

    #[must_use]
    pub fn wild(&self) -> u8 {
        self.wild
    }

    #[must_use]
    pub fn on_lines(&self, symbol: u8) -> bool {
        self.on_lines[usize::from(symbol)]
    }

    #[inline]
    #[must_use]
    pub fn first(lines: u32) -> LineMask {
        LineMask::MAX.checked_shr((LineMask::BITS).saturating_sub(lines)).unwrap_or(0)
    }

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

    /// Returns the best win of a line. The line must be one of [`Lines::winners`]; otherwise, the win is 0.
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

    #[allow(clippy::cast_possible_truncation)] // `count` is at most REELS.
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
