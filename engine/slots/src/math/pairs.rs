//! Sums the product of two lines' wins over all stop combinations.

use crate::math::run::Run;
use crate::parts::lines::SYMBOLS_MAX;
use crate::parts::reels::{REELS, ROWS_MAX};
use crate::parts::windows::Windows;

const LOST: usize = usize::MAX;

type Cells = Vec<(usize, Vec<(usize, u64)>)>;

pub(crate) struct Pairs {
    next: [Vec<[usize; SYMBOLS_MAX]>; REELS],
    pays: Vec<u128>,
    cells: [[[Cells; ROWS_MAX]; ROWS_MAX]; REELS],
}

impl Pairs {
    pub(crate) fn new(of: &Windows) -> Self {
        let lines = &of.lines;
        let cells = std::array::from_fn(|reel| {
            std::array::from_fn(|row| std::array::from_fn(|other| cells(of, reel, row, other)))
        });
        let (mut runs, mut next) = (vec![Run::Wilds], <[Vec<_>; REELS]>::default());
        let mut live = vec![0];
        for (reel, next) in next.iter_mut().enumerate() {
            let (before, mut after) = (runs.len(), vec![]);
            next.resize(before, [LOST; SYMBOLS_MAX]);
            for run in live {
                let from: Run = runs[run];
                for (cell, to) in (0_u8..).zip(&mut next[run]) {
                    if !of.reels.columns(reel).iter().flatten().any(|shown| *shown == cell) {
                        continue;
                    }
                    let read = from.read(reel, cell, lines);
                    if read.lost(lines) {
                        continue;
                    }
                    *to = runs.iter().position(|run| *run == read).unwrap_or_else(|| {
                        runs.push(read);
                        runs.len() - 1
                    });
                    if !after.contains(to) {
                        after.push(*to);
                    }
                }
            }
            live = after;
        }
        next.iter_mut().for_each(|next| next.resize(runs.len(), [LOST; SYMBOLS_MAX]));
        let pays = runs.iter().map(|run| u128::from(run.end(REELS, lines).pays(lines))).collect();
        Self { next, pays, cells }
    }

    pub(crate) fn product(&self, line: &[u8; REELS], other: &[u8; REELS]) -> u128 {
        let runs = self.pays.len();
        let (mut ways, mut places) = (vec![0_u64; runs * runs], vec![0]);
        ways[0] = 1;
        for (reel, next) in self.next.iter().enumerate() {
            let (mut ways_after, mut places_after) = (vec![0; runs * runs], vec![]);
            let cells = &self.cells[reel][usize::from(line[reel])][usize::from(other[reel])];
            for place in places {
                let (run, run_other) = (place / runs, place % runs);
                for (cell, others) in cells {
                    let after = next[run][*cell];
                    if after == LOST {
                        continue;
                    }
                    for (cell, times) in others {
                        let after_other = next[run_other][*cell];
                        if after_other == LOST {
                            continue;
                        }
                        let after = after * runs + after_other;
                        if ways_after[after] == 0 {
                            places_after.push(after);
                        }
                        ways_after[after] += ways[place] * times;
                    }
                }
            }
            (ways, places) = (ways_after, places_after);
        }
        places.iter().map(|place| self.pays[place / runs] * self.pays[place % runs] * u128::from(ways[*place])).sum()
    }
}

fn cells(of: &Windows, reel: usize, row: usize, other: usize) -> Cells {
    let mut times = [[0; SYMBOLS_MAX]; SYMBOLS_MAX];
    for column in of.reels.columns(reel) {
        times[usize::from(column[row])][usize::from(column[other])] += 1;
    }
    let shown = |times: [u64; SYMBOLS_MAX]| times.into_iter().enumerate().filter(|(_, times)| *times > 0).collect();
    let rows = times.into_iter().enumerate().map(|(cell, times)| (cell, shown(times)));
    rows.filter(|(_, others): &(_, Vec<_>)| !others.is_empty()).collect()
}
