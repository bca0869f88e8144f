//! Hold and Win feature: Bonus symbols stay in place during respins, and take effect when the respins end (ME-04 to
//! ME-13). The symbol at each position is drawn independently.
//!
//! When the respins end, the symbols act in reading order: a Mystery reveals a special win, and a Multiplying Bonus draws a
//! multiplier for all other Bonus symbols. If a GRAND is present, only factors up to 2 are drawn (ME-07).

use crate::contract::draws::Draws;
use crate::contract::outcome::{CELLS_MAX, Mark, MarkKind, Outcome, Spin, SpinKind, Stops};
use crate::parts::reels::REELS;
use crate::parts::weights::Weights;

pub const ROWS: usize = 3;
pub const CELLS: usize = REELS * ROWS;
pub const MULTIPLYING_REEL: usize = 2;
pub const FACTOR_BESIDE_GRAND: u32 = 2;
/// Highest value of a Bonus symbol, as a multiple of the total bet (ME-04).
pub const VALUE_MAX: u32 = 18;
/// Multiplier of the win if all positions hold a Bonus symbol (ME-12).
pub const FULL_SCREEN: u32 = 2;

const READING: [usize; CELLS] = [0, 3, 6, 9, 12, 1, 4, 7, 10, 13, 2, 5, 8, 11, 14];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bonus {
    Value(u32),
    Mystery(u32),
    Multiplying(u32),
}

impl Bonus {
    fn mark(self, cell: usize) -> Mark {
        let (kind, value) = match self {
            Self::Value(bets) => (MarkKind::Bonus, bets),
            Self::Mystery(bets) => (MarkKind::Mystery, bets),
            Self::Multiplying(factor) => (MarkKind::Multiplier, factor),
        };
        Mark { cell: small(cell), kind, value }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Board {
    symbols: [u8; CELLS],
    held: [Option<Bonus>; CELLS],
    count: usize,
}

impl Board {
    #[must_use]
    pub fn full(&self) -> bool {
        self.count == CELLS
    }

    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    fn hold(&mut self, cell: usize, bonus: Bonus) {
        self.held[cell] = Some(bonus);
        self.count += 1;
    }

    fn marks(&self) -> impl Iterator<Item = Mark> {
        READING.into_iter().filter_map(|cell| self.held[cell].map(|bonus| bonus.mark(cell)))
    }

    fn show(&self, multiplier: u32, out: &mut Outcome) {
        let mut cells = [0; CELLS_MAX];
        cells[..CELLS].copy_from_slice(&self.symbols);
        let marks_from = index(out.marks.len());
        out.marks.extend(self.marks());
        out.spins.push(Spin {
            kind: SpinKind::HoldAndWin,
            stops: Stops::default(),
            reels: small(REELS),
            rows: small(ROWS),
            cells,
            multiplier,
            wins: index(out.wins.len())..index(out.wins.len()),
            marks: marks_from..index(out.marks.len()),
            win_coins: 0,
            win_minor: 0,
            free_spins_won: 0,
            bonus: false,
        });
    }
}

#[derive(Clone, Debug)]
pub struct HoldAndWin {
    pub symbol: u8,
    pub needs: u8,
    pub respins: u8,
    pub strip: Vec<u8>,
    pub outer: Weights<Bonus>,
    pub middle: Weights<Bonus>,
    pub values: Weights<u32>,
    pub mysteries: Weights<u32>,
    pub grand: u32,
    pub factors: Weights<u32>,
    pub factors_beside_grand: Weights<u32>,
}

impl HoldAndWin {
    pub fn land(&self, board: &mut Board, draws: &mut Draws, out: &mut Outcome) -> bool {
        *board = Board::default();
        let Some(spin) = out.spins.last_mut() else { return false };
        board.symbols.copy_from_slice(&spin.cells[..CELLS]);
        if !board.symbols.contains(&self.symbol) {
            return false;
        }
        let marks_from = index(out.marks.len());
        for cell in READING {
            if board.symbols[cell] == self.symbol {
                let bonus = self.carried(cell, draws);
                board.hold(cell, bonus);
                out.marks.push(bonus.mark(cell));
            }
        }
        spin.marks = marks_from..index(out.marks.len());
        spin.bonus = board.count >= usize::from(self.needs);
        spin.bonus
    }

    pub fn play(&self, board: &mut Board, draws: &mut Draws, out: &mut Outcome) -> u64 {
        let mut respins = self.respins;
        while respins > 0 && !board.full() {
            respins = if self.respin(board, draws) { self.respins } else { respins - 1 };
            board.show(1, out);
        }
        let won = self.end(board, draws, out);
        if !board.full() {
            return won;
        }
        if let Some(last) = out.spins.last_mut() {
            last.multiplier = FULL_SCREEN;
        }
        won * u64::from(FULL_SCREEN)
    }

    #[inline]
    fn carried(&self, cell: usize, draws: &mut Draws) -> Bonus {
        if cell / ROWS == MULTIPLYING_REEL { self.middle.draw(draws) } else { self.outer.draw(draws) }
    }

    fn respin(&self, board: &mut Board, draws: &mut Draws) -> bool {
        let before = board.count;
        let stops = u32::try_from(self.strip.len()).unwrap_or(u32::MAX);
        for cell in READING {
            if board.held[cell].is_none() {
                let symbol = self.strip[draws.below(stops) as usize];
                board.symbols[cell] = symbol;
                if symbol == self.symbol {
                    let bonus = self.carried(cell, draws);
                    board.hold(cell, bonus);
                }
            }
        }
        board.count > before
    }

    fn end(&self, board: &mut Board, draws: &mut Draws, out: &mut Outcome) -> u64 {
        let mut grand = false;
        let (mut paid, mut factor, mut functions) = (0u64, 1u64, false);
        for cell in READING {
            match &mut board.held[cell] {
                Some(Bonus::Value(bets)) => paid += u64::from(*bets),
                Some(Bonus::Mystery(bets)) => {
                    *bets = self.mysteries.draw(draws);
                    grand |= *bets == self.grand;
                    paid += u64::from(*bets);
                    functions = true;
                }
                _ => {}
            }
        }
        let factors = if grand { &self.factors_beside_grand } else { &self.factors };
        for cell in READING {
            if let Some(Bonus::Multiplying(by)) = &mut board.held[cell] {
                *by = factors.draw(draws);
                factor *= u64::from(*by);
                functions = true;
            }
        }
        if functions {
            board.show(1, out);
        }
        let turned = self.turn(board, draws);
        if functions {
            board.show(1, out);
        }
        paid * factor + turned
    }

    fn turn(&self, board: &mut Board, draws: &mut Draws) -> u64 {
        let mut turned = 0;
        for cell in READING {
            if let Some(bonus @ (Bonus::Mystery(_) | Bonus::Multiplying(_))) = &mut board.held[cell] {
                let bets = self.values.draw(draws);
                *bonus = Bonus::Value(bets);
                turned += u64::from(bets);
            }
        }
        turned
    }
}

/// Cannot overflow: there are at most 30 windows with 15 marked cells each.
#[allow(clippy::cast_possible_truncation)]
const fn index(of: usize) -> u32 {
    of as u32
}

/// Cannot truncate: the number is at most 15.
#[allow(clippy::cast_possible_truncation)]
const fn small(of: usize) -> u8 {
    of as u8
}
