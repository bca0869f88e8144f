//! Hold and Win: Bonus symbols are held while respins last, then their functions act (ME-04 to ME-13).
//!
//! In the feature every position is a reel of its own (ME-13). A Bonus symbol carries a value in total bets or one of
//! two functions, drawn when it lands; only those of the middle reel can be Multiplying, so that no win is without
//! bound. At the end, in reading order (row by row, each from the left): all Mysteries reveal their special wins; then
//! all Multiplying ones draw what they multiply every other Bonus by, special wins included; then each of both turns
//! into a value, which pays too and isn't multiplied. GRAND and a factor above 2 exclude each other (ME-07) because the
//! factors are drawn after the special wins, and beside a GRAND from the factors up to 2 alone: nothing is drawn again.

use crate::contract::draws::Draws;
use crate::contract::outcome::{CELLS_MAX, Mark, MarkKind, Outcome, Spin, SpinKind, Stops};
use crate::parts::reels::REELS;
use crate::parts::weights::Weights;

/// Rows of the window.
pub const ROWS: usize = 3;
/// Positions of the window.
pub const CELLS: usize = REELS * ROWS;
/// The reel whose Bonus symbols can be Multiplying, from 0.
pub const MULTIPLYING_REEL: usize = 2;
/// The highest factor that can stand beside a GRAND (ME-07).
pub const FACTOR_BESIDE_GRAND: u32 = 2;
/// Lowest to highest value of a Bonus symbol is 1 to this many total bets (ME-04).
pub const VALUE_MAX: u32 = 18;
/// Factor of the feature's win for a full screen (ME-12).
pub const FULL_SCREEN: u32 = 2;

/// The positions in reading order.
const READING: [usize; CELLS] = [0, 3, 6, 9, 12, 1, 4, 7, 10, 13, 2, 5, 8, 11, 14];

/// The value of a Bonus symbol (ME-04).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bonus {
    /// So many total bets.
    Value(u32),
    /// Reveals a special win: so many total bets, 0 while it hasn't (ME-05).
    Mystery(u32),
    /// Multiplies every other Bonus symbol by this, 0 while it hasn't (ME-06).
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

/// The window with what its Bonus symbols carry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Board {
    symbols: [u8; CELLS],
    held: [Option<Bonus>; CELLS],
    /// Bonus symbols held.
    count: usize,
}

impl Board {
    /// Whether all positions hold Bonus symbols.
    #[must_use]
    pub fn full(&self) -> bool {
        self.count == CELLS
    }

    /// Bonus symbols held.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    fn hold(&mut self, cell: usize, bonus: Bonus) {
        self.held[cell] = Some(bonus);
        self.count += 1;
    }

    /// Marks of all Bonus symbols, in reading order.
    fn marks(&self) -> impl Iterator<Item = Mark> {
        READING.into_iter().filter_map(|cell| self.held[cell].map(|bonus| bonus.mark(cell)))
    }

    /// Shows it as a window of the feature.
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

/// How the feature is played.
#[derive(Clone, Debug)]
pub struct HoldAndWin {
    /// The Bonus symbol's index.
    pub symbol: u8,
    /// Bonus symbols that start it.
    pub needs: u8,
    /// Respins at first, and again after every new Bonus symbol.
    pub respins: u8,
    /// The reel that each position is in the feature.
    pub strip: Vec<u8>,
    /// Values of a Bonus symbol on the outer reels.
    pub outer: Weights<Bonus>,
    /// Values of a Bonus symbol on the middle reel.
    pub middle: Weights<Bonus>,
    /// The value that a Mystery or Multiplying Bonus turns into.
    pub values: Weights<u32>,
    /// Special wins of a Mystery, in total bets.
    pub mysteries: Weights<u32>,
    /// The highest of them.
    pub grand: u32,
    /// Factors of a Multiplying Bonus.
    pub factors: Weights<u32>,
    /// Those that can stand beside a GRAND.
    pub factors_beside_grand: Weights<u32>,
}

impl HoldAndWin {
    /// Reads the latest window of an outcome: gives each Bonus symbol what it carries and marks it, and says whether
    /// the feature starts.
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

    /// Plays the whole feature from the board that started it and shows its windows: one a respin (at most 27), and two
    /// more where functions act. Returns what it wins in total bets.
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

    /// Draws the value of a Bonus symbol that lands on a cell.
    #[inline]
    fn carried(&self, cell: usize, draws: &mut Draws) -> Bonus {
        if cell / ROWS == MULTIPLYING_REEL { self.middle.draw(draws) } else { self.outer.draw(draws) }
    }

    /// Spins every position that holds no Bonus symbol; whether a new one landed.
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

    /// The functions act and turn into values; what all Bonus symbols pay, in total bets.
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

    /// Turns each function into a value; the sum of those.
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

/// An index into a step's wins or marks: at most 30 windows of at most 15 marks.
#[allow(clippy::cast_possible_truncation)]
const fn index(of: usize) -> u32 {
    of as u32
}

/// A cell, or a number of reels or rows: at most 15.
#[allow(clippy::cast_possible_truncation)]
const fn small(of: usize) -> u8 {
    of as u8
}
