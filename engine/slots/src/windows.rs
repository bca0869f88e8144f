//! Windows of a line game: reels, paylines, and two kinds of symbols that count anywhere.

use crate::lines::{LineMask, LineWin, Lines};
use crate::reels::{Column, REELS, Reels, StopsAt};
use crate::scatters::{Counter, Scatters};

/// Everything that decides what a window shows and wins.
#[derive(Clone, Debug)]
pub struct Windows {
    /// The reels.
    pub reels: Reels,
    /// The paylines.
    pub lines: Lines,
    /// The scatters.
    pub scatters: Scatters,
    /// Counts bonus symbols.
    pub bonus: Counter,
    /// Bonus symbols that start the bonus round.
    pub bonus_needs: u8,
}

/// What one window shows besides its line wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Specials {
    /// Scatters in the window.
    pub scatters: u8,
    /// Bonus symbols in the window.
    pub bonuses: u8,
}

impl Windows {
    /// Evaluates a window: hands over each line win, in the order of the lines, and counts the
    /// special symbols. The one evaluator of players' spins, of the scan and of the simulation.
    #[inline]
    pub fn evaluate(&self, stops: &StopsAt, played: LineMask, mut line_win: impl FnMut(u8, LineWin)) -> Specials {
        let mut winners = self.lines.winners(stops, played);
        if winners != 0 {
            let window: [Column; REELS] = self.reels.window(stops);
            while winners != 0 {
                let line = winners.trailing_zeros();
                winners &= winners - 1;
                #[allow(clippy::cast_possible_truncation)] // A mask has 64 bits.
                line_win(line as u8, self.lines.best(line as usize, &window));
            }
        }
        Specials { scatters: self.scatters.counter.count(stops), bonuses: self.bonus.count(stops) }
    }
}
