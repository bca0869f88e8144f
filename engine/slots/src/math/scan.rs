//! Full cycle: every stop combination through the production evaluator.
//!
//! Proof by exhaustion, and a check of [`crate::math::moments`], which derives the same totals without the evaluator. Ranges can be
//! scanned separately and merged; the caller owns the threads. Some tens of nanoseconds per combination.

use std::ops::Range;

use crate::math::moments::SpinTable;
use crate::parts::lines::{Lines, SYMBOLS_MAX};
use crate::parts::reels::REELS;
use crate::parts::windows::Windows;

/// Sums over the windows of a range, at one coin per line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScanTotals {
    /// Sums by special symbols.
    pub table: SpinTable,
    /// Windows that win on a line or by scatters, or start the bonus.
    pub hits: u64,
    /// Line wins by symbol and count, over all lines.
    pub combinations: [[u64; REELS + 1]; SYMBOLS_MAX],
    /// Highest win of a window in coins, lines and scatters together.
    pub max_win_coins: u64,
    /// Number of windows with the highest win.
    pub max_win_windows: u64,
}

impl ScanTotals {
    /// Adds the totals of another range.
    pub fn merge(&mut self, other: &Self) {
        self.table.merge(&other.table);
        self.hits += other.hits;
        for (sum, more) in self.combinations.iter_mut().flatten().zip(other.combinations.iter().flatten()) {
            *sum += more;
        }
        self.top(other.max_win_coins, other.max_win_windows);
    }

    #[inline]
    fn top(&mut self, coins: u64, windows: u64) {
        if coins > self.max_win_coins {
            self.max_win_coins = coins;
            self.max_win_windows = windows;
        } else if coins == self.max_win_coins {
            self.max_win_windows += windows;
        }
    }
}

/// Evaluates the first `lines` lines of the stop combinations in `range`, numbered by [`crate::parts::reels::Reels::stops_at`].
/// Ignores positions beyond the cycle.
#[must_use]
pub fn scan(of: &Windows, lines: u32, range: Range<u64>) -> ScanTotals {
    let played = Lines::first(lines);
    let lengths = of.reels.lengths();
    let mut totals = ScanTotals::default();
    let mut stops = of.reels.stops_at(range.start);
    for _ in range.start..range.end.min(of.reels.cycle()) {
        let mut coins = 0;
        let specials = of.evaluate(&stops, played, |_, win| {
            coins += win.pays;
            totals.combinations[usize::from(win.symbol)][usize::from(win.count)] += 1;
        });
        totals.table.add(specials, coins);
        let scatter = of.scatters.pays[usize::from(specials.scatters)] * u64::from(lines);
        let bonus = specials.bonuses >= of.bonus_needs;
        totals.hits += u64::from(coins + scatter > 0 || bonus);
        totals.top(coins + scatter, 1);
        for reel in (0..REELS).rev() {
            stops[reel] += 1;
            if stops[reel] < lengths[reel] as usize {
                break;
            }
            stops[reel] = 0;
        }
    }
    totals
}
