//! Exact sums of the numbers of objects in picks, over all stop combinations. This module does not use the code that
//! evaluates rounds, so it checks that code independently.

use super::model::Model;
use crate::math::moments::{self, read_reels};
use crate::math::run::Run;
use crate::parts::picks::NEEDS;
use crate::parts::reels::{Column, REELS};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreasureTable {
    /// For each run length, the number of windows in which a line starts with that many Treasures; equal for all lines.
    pub runs: [u64; REELS + 1],
    pub objects: [u64; REELS + 1],
    pub objects_squared: u128,
    /// Sum, over all windows, of the number of objects times the line win at one coin per line.
    pub objects_line_coins: u128,
    pub windows: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Treasures {
    count: usize,
    runs: bool,
}

impl Treasures {
    const NONE: Self = Self { count: 0, runs: true };

    /// Reads the next reel; returns `None` once a Treasure bonus is impossible.
    fn read(self, treasure: bool) -> Option<Self> {
        let runs = self.runs && treasure;
        let count = self.count + usize::from(runs);
        (runs || count >= usize::from(NEEDS)).then_some(Self { count, runs })
    }
}

#[must_use]
pub fn treasure_table(model: &Model, lines: u32) -> TreasureTable {
    let rows = moments::first(&model.windows, lines);
    let mut table = TreasureTable { windows: windows(model, rows), ..TreasureTable::default() };
    for (place, line) in rows.iter().enumerate() {
        let mut runs = [0; REELS + 1];
        for ((treasures, scatters), ways) in by_scatters(model, line) {
            runs[treasures.count] += ways;
            table.objects[scatters] += treasures.count as u64 * ways;
        }
        table.runs = runs;
        table.objects_squared += product(model, line, line);
        for other in &rows[..place] {
            table.objects_squared += 2 * product(model, line, other);
        }
        for other in rows {
            table.objects_line_coins += with_coins(model, line, other);
        }
    }
    table
}

pub(crate) fn starts(model: &Model, line: &[u8; REELS], columns: [&Column; 3]) -> bool {
    columns.iter().zip(line).all(|(column, &row)| column[usize::from(row)] == model.treasure)
}

fn windows(model: &Model, rows: &[[u8; REELS]]) -> u64 {
    let reels = &model.windows.reels;
    let rest = reels.cycle() / [0, 1, 2].map(|reel| reels.columns(reel).len() as u64).iter().product::<u64>();
    let holds = |column: &&Column| column[..reels.rows()].contains(&model.treasure);
    let columns = |reel: usize| reels.columns(reel).iter().filter(holds);
    let mut windows = 0;
    for one in columns(0) {
        for two in columns(1) {
            let started = |three: &&Column| rows.iter().any(|line| starts(model, line, [one, two, three]));
            windows += columns(2).filter(started).count() as u64 * rest;
        }
    }
    windows
}

fn by_scatters(model: &Model, line: &[u8; REELS]) -> impl Iterator<Item = ((Treasures, usize), u64)> {
    let of = &model.windows;
    let letter = |reel: usize, stop, column: &Column| {
        (column[usize::from(line[reel])] == model.treasure, moments::specials_at(of, reel, stop).0)
    };
    let read =
        |(treasures, scatters): (Treasures, usize), _, (treasure, s)| Some((treasures.read(treasure)?, scatters + s));
    read_reels(&of.reels, (Treasures::NONE, 0), letter, read).into_iter()
}

fn product(model: &Model, line: &[u8; REELS], other: &[u8; REELS]) -> u128 {
    let letter =
        |reel: usize, _, column: &Column| [line, other].map(|rows| column[usize::from(rows[reel])] == model.treasure);
    let read = |[a, b]: [Treasures; 2], _, [on_a, on_b]: [bool; 2]| Some([a.read(on_a)?, b.read(on_b)?]);
    let ends = read_reels(&model.windows.reels, [Treasures::NONE; 2], letter, read);
    ends.into_iter().map(|([a, b], ways)| (a.count * b.count) as u128 * u128::from(ways)).sum()
}

fn with_coins(model: &Model, line: &[u8; REELS], other: &[u8; REELS]) -> u128 {
    let lines = &model.windows.lines;
    let letter = |reel: usize, _, column: &Column| {
        (column[usize::from(line[reel])] == model.treasure, column[usize::from(other[reel])])
    };
    let read = |(treasures, run): (Treasures, Run), reel, (treasure, cell)| {
        let run = run.read(reel, cell, lines);
        (!run.lost(lines)).then_some((treasures.read(treasure)?, run))
    };
    let ends = read_reels(&model.windows.reels, (Treasures::NONE, Run::Wilds), letter, read);
    let coins = |run: Run| u128::from(run.end(REELS, lines).pays(lines));
    ends.into_iter().map(|((t, run), ways)| t.count as u128 * coins(run) * u128::from(ways)).sum()
}
