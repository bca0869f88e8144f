//! Exact sums over all stop combinations of a game with lines, computed from symbol counts per reel. This module does not
//! use the code that evaluates rounds, so [`crate::math::scan`] is an independent check.

use std::collections::BTreeMap;

use crate::math::pairs::Pairs;
use crate::math::run::Run;
use crate::parts::lines::SYMBOLS_MAX;
use crate::parts::reels::{Column, REELS, Reels};
use crate::parts::windows::{Specials, Windows};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpinTable {
    pub windows: [[u64; REELS + 1]; REELS + 1],
    pub line_coins: [[u64; REELS + 1]; REELS + 1],
    pub line_coins_squared: u128,
}

impl SpinTable {
    #[inline]
    pub fn add(&mut self, specials: Specials, line_coins: u64) {
        let (scatters, bonuses) = (usize::from(specials.scatters), usize::from(specials.bonuses));
        self.windows[scatters][bonuses] += 1;
        if line_coins > 0 {
            self.line_coins[scatters][bonuses] += line_coins;
            self.line_coins_squared += u128::from(line_coins) * u128::from(line_coins);
        }
    }

    pub fn merge(&mut self, other: &Self) {
        for (sum, more) in self.windows.iter_mut().flatten().zip(other.windows.iter().flatten()) {
            *sum += more;
        }
        for (sum, more) in self.line_coins.iter_mut().flatten().zip(other.line_coins.iter().flatten()) {
            *sum += more;
        }
        self.line_coins_squared += other.line_coins_squared;
    }
}

/// Counts the stop combinations that lead to each final state of an automaton. `letter` maps a stop to the automaton's
/// input. `read` returns the next state, or `None` to ignore the combination.
#[must_use]
pub fn read_reels<S: Ord + Copy, L: Ord + Copy>(
    reels: &Reels,
    start: S,
    letter: impl Fn(usize, usize, &Column) -> L,
    read: impl Fn(S, usize, L) -> Option<S>,
) -> BTreeMap<S, u64> {
    let mut states = BTreeMap::from([(start, 1)]);
    for reel in 0..REELS {
        let mut letters = BTreeMap::new();
        for (stop, column) in reels.columns(reel).iter().enumerate() {
            *letters.entry(letter(reel, stop, column)).or_insert(0) += 1;
        }
        let mut next = BTreeMap::new();
        for (state, ways) in states {
            for (&letter, &times) in &letters {
                if let Some(state) = read(state, reel, letter) {
                    *next.entry(state).or_insert(0) += ways * times;
                }
            }
        }
        states = next;
    }
    states
}

#[must_use]
pub fn spin_table(of: &Windows, lines: u32) -> SpinTable {
    let mut table = SpinTable { windows: by_specials(of), ..SpinTable::default() };
    let (rows, pairs) = (first(of, lines), Pairs::new(of));
    for (place, line) in rows.iter().enumerate() {
        for ((run, scatters, bonuses), ways) in runs(of, line) {
            let pays = run.pays(&of.lines);
            table.line_coins[scatters][bonuses] += pays * ways;
            table.line_coins_squared += u128::from(pays) * u128::from(pays) * u128::from(ways);
        }
        for other in &rows[..place] {
            table.line_coins_squared += 2 * pairs.product(line, other);
        }
    }
    table
}

/// Counts the combinations on the first line. All lines have the same counts, because every cell shows every strip
/// position equally often.
#[must_use]
pub fn combinations(of: &Windows) -> [[u64; REELS + 1]; SYMBOLS_MAX] {
    let mut counts = [[0; REELS + 1]; SYMBOLS_MAX];
    for ((run, ..), ways) in runs(of, &of.lines.rows()[0]) {
        if let Run::Over { symbol, count } = run {
            counts[usize::from(symbol)][count] += ways;
        }
    }
    counts
}

pub(crate) fn first(of: &Windows, lines: u32) -> &[[u8; REELS]] {
    let rows = of.lines.rows();
    &rows[..rows.len().min(lines as usize)]
}

pub(crate) fn by_specials(of: &Windows) -> [[u64; REELS + 1]; REELS + 1] {
    let mut all = [[0; REELS + 1]; REELS + 1];
    all[0][0] = 1;
    for reel in 0..REELS {
        let before = std::mem::take(&mut all);
        for stop in 0..of.reels.columns(reel).len() {
            let (s, b) = specials_at(of, reel, stop);
            for (scatters, row) in before.iter().enumerate().filter(|(n, _)| n + s <= REELS) {
                for (bonuses, ways) in row.iter().enumerate().filter(|(n, _)| n + b <= REELS) {
                    all[scatters + s][bonuses + b] += ways;
                }
            }
        }
    }
    all
}

fn runs(of: &Windows, line: &[u8; REELS]) -> BTreeMap<(Run, usize, usize), u64> {
    let lines = &of.lines;
    let letter = |reel, stop, column: &Column| (column[usize::from(line[reel])], specials_at(of, reel, stop));
    let read = |(run, scatters, bonuses): (Run, usize, usize), reel, (cell, (s, b))| {
        let run = run.read(reel, cell, lines);
        (!run.lost(lines)).then_some((run, scatters + s, bonuses + b))
    };
    let mut ends = BTreeMap::new();
    for ((run, scatters, bonuses), ways) in read_reels(&of.reels, (Run::Wilds, 0, 0), letter, read) {
        *ends.entry((run.end(REELS, lines), scatters, bonuses)).or_insert(0) += ways;
    }
    ends
}

#[must_use]
pub fn hits(of: &Windows, lines: u32) -> u64 {
    hits_or(of, lines, |_, _| false)
}

pub(crate) fn hits_or(of: &Windows, lines: u32, starts: impl Fn(&[u8; REELS], [&Column; 3]) -> bool) -> u64 {
    let rows = first(of, lines);
    let cells = |reel: usize| of.reels.columns(reel).iter().enumerate();
    let special = |reel: usize, stop: usize| specials_at(of, reel, stop);
    let mut last = BTreeMap::new();
    for (fourth, _) in cells(3) {
        for (fifth, _) in cells(4) {
            let ((s, b), (t, c)) = (special(3, fourth), special(4, fifth));
            *last.entry((s + t, b + c)).or_insert(0u64) += 1;
        }
    }
    let every: u64 = last.values().sum();
    let mut hits = 0;
    for (first, one) in cells(0) {
        for (second, two) in cells(1) {
            for (third, three) in cells(2) {
                let (s, b) = [special(0, first), special(1, second), special(2, third)]
                    .into_iter()
                    .fold((0, 0), |(s, b), (t, c)| (s + t, b + c));
                let feature = |s: usize, b: usize| of.scatters.pays[s] > 0 || b >= usize::from(of.bonus_needs);
                let columns = [one, two, three];
                hits += if rows.iter().any(|line| wins(of, line, columns) || starts(line, columns)) {
                    every
                } else {
                    last.iter().filter(|((t, c), _)| feature(s + t, b + c)).map(|(_, n)| n).sum()
                };
            }
        }
    }
    hits
}

pub(crate) fn wins(of: &Windows, line: &[u8; REELS], columns: [&Column; 3]) -> bool {
    let read = |run: Run, (reel, column): (usize, &&Column)| run.read(reel, column[usize::from(line[reel])], &of.lines);
    let run = columns.iter().enumerate().fold(Run::Wilds, read);
    run.end(3, &of.lines).pays(&of.lines) > 0
}

/// Finds, by branch and bound, the highest win of a window and the number of windows with this win.
#[must_use]
pub fn max_win(of: &Windows, lines: u32) -> (u64, u64) {
    max_win_at(of, lines, |_, _| true)
}

#[must_use]
pub fn max_win_at(of: &Windows, lines: u32, stops: impl Fn(usize, usize) -> bool) -> (u64, u64) {
    let mut search = Search { of, stops: &stops, lines: first(of, lines).len(), best: 0, windows: 0 };
    search.from(0, &[Run::Wilds; crate::parts::lines::LINES_MAX], 0);
    (search.best, search.windows)
}

struct Search<'a> {
    of: &'a Windows,
    stops: &'a dyn Fn(usize, usize) -> bool,
    lines: usize,
    best: u64,
    windows: u64,
}

impl Search<'_> {
    fn from(&mut self, reel: usize, runs: &[Run; crate::parts::lines::LINES_MAX], scatters: usize) {
        let lines = &self.of.lines;
        let most_scatters = &self.of.scatters.pays[scatters..=scatters + REELS - reel];
        let scatter = most_scatters.iter().max().copied().unwrap_or(0);
        let bound = |run: &Run| if reel == REELS { run.end(REELS, lines).pays(lines) } else { run.pays(lines) };
        let reach = runs[..self.lines].iter().map(bound).sum::<u64>() + scatter * self.lines as u64;
        if reach < self.best {
            return;
        }
        if reel == REELS {
            self.windows = if reach > self.best { 1 } else { self.windows + 1 };
            self.best = reach;
            return;
        }
        let stops = self.of.reels.columns(reel).iter().enumerate();
        for (stop, column) in stops.filter(|(stop, _)| (self.stops)(reel, *stop)) {
            let mut next = *runs;
            for (run, rows) in next.iter_mut().zip(lines.rows()).take(self.lines) {
                *run = run.read(reel, column[usize::from(rows[reel])], lines);
            }
            self.from(reel + 1, &next, scatters + specials_at(self.of, reel, stop).0);
        }
    }
}

pub(crate) fn specials_at(of: &Windows, reel: usize, stop: usize) -> (usize, usize) {
    let shows = |counter: &crate::parts::scatters::Counter| usize::from(counter.shows(reel, stop));
    (shows(&of.scatters.counter), shows(&of.bonus))
}
