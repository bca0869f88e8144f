//! Evaluates every combination of stops, to check [`crate::math::moments`].

use std::ops::Range;

use crate::math::moments::SpinTable;
use crate::parts::lines::{Lines, SYMBOLS_MAX};
use crate::parts::reels::REELS;
use crate::parts::windows::Windows;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScanTotals {
    pub table: SpinTable,
    pub hits: u64,
    pub combinations: [[u64; REELS + 1]; SYMBOLS_MAX],
    pub max_win_coins: u64,
    pub max_win_windows: u64,
}

impl ScanTotals {
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

/// Evaluates the combinations with the given numbers (see [`crate::parts::reels::Reels::stops_at`]), at one coin per
/// line.
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
