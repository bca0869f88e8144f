//! Exact mathematics of Witch Feature, computed without the code that evaluates rounds.
//!
//! All fifty lines have the same return, which is computed from the cells of one line. Randomly placed cells have
//! hypergeometric weights; Mega Wilds are summed over all placements. Combinations of Potions are a Markov chain with ten
//! states (WF-21).

use std::collections::BTreeMap;

use num_traits::{One, Zero};

use super::model::{
    BASE_LINES, Chance, EXPLOSION, FREE_SPINS, FreeFeature, HIGH_SYMBOLS, MEGA_WILD, MULTIPLIER, MegaWilds, Model,
    PARTS, RANDOM_WILDS, ROWS, Respin,
};
use super::potions::Potion;
use crate::contract::par::{Exact, exact, ratio};
use crate::parts::lines::Lines;
use crate::parts::reels::REELS;
use crate::parts::weights::Weights;
use crate::parts::windows::Windows;

type Cell = Vec<(u8, u64)>;

#[derive(Clone, Debug)]
pub struct Means {
    pub base: Exact,
    pub respin: Exact,
    pub free: Exact,
    pub respin_wins: Exact,
    /// Returns of the features High Symbols, Random Wilds, Multiplier and Mega Wild, in this order.
    pub features: [Exact; 4],
    pub explosion: Exact,
    pub multiplier: Exact,
    pub free_feature: Exact,
    pub trigger: Exact,
    /// Per free spin.
    pub awarded: Exact,
    pub free_spins: Exact,
    /// Mean number of combinations per paid spin that start each feature; the last element counts combinations that start no
    /// feature.
    pub combinations: [Exact; 5],
}

impl Means {
    #[must_use]
    pub fn new(model: &Model) -> Self {
        let lines = &model.base.lines;
        let reel_cells = |of: &Windows| -> [Cell; REELS] { std::array::from_fn(|reel| cells(of, reel)) };
        let (base, respin, free) = (reel_cells(&model.base), reel_cells(&model.respin), reel_cells(&model.free));
        let high: Cell = model.high_symbols.items().iter().map(|&(symbol, weight)| (symbol, weight.into())).collect();
        let wild: Cell = vec![(model.wild, 1)];
        let multiplier = mean(&model.multipliers);
        let respin_mean = line(lines, &respin.each_ref());
        let respin_wins = win_chance(&model.respin, None);
        let random_wilds = scattered(lines, &respin, &wild, &model.random_wilds);
        let mega = |places: &[MegaWilds]| mega_wild(lines, &respin, &wild, places);
        let one = share(&model.one_mega_wild, |&one| one);
        let mega_wild = &one * mega(&model.three_by_three) + (Exact::one() - &one) * mega(&model.two_by_two);
        let high_symbols = line(lines, &[&high; REELS]);
        let multiplied = &multiplier * &respin_mean / &respin_wins;
        let free_feature = model.free_features.items().iter().map(|&(feature, weight)| {
            let value = match feature {
                FreeFeature::Multiplier => multiplied.clone(),
                FreeFeature::Respin { respin, multiplied } => {
                    let value = match respin {
                        Respin::HighSymbols => &high_symbols,
                        Respin::RandomWilds => &random_wilds,
                        Respin::MegaWild => &mega_wild,
                    };
                    if multiplied { value * &multiplier } else { value.clone() }
                }
            };
            value * ratio(weight, model.free_features.total())
        });
        let free_feature: Exact = free_feature.sum();
        let outer = |of: &Windows, reel| shows_free_spins(of, reel);
        let trigger = outer(&model.base, 0) * outer(&model.base, 4);
        let (first, last) = (outer(&model.free, 0), outer(&model.free, 4));
        let awards = &model.free.scatters.free_spins;
        let both = &first * &last;
        let one_only = &first + &last - &both - &both;
        let awarded = one_only * exact(awards[1]) + both * exact(awards[2]);
        let free_mean = line(lines, &free.each_ref());
        let spin = &free_mean + chance(model.free_feature_chance) * &free_feature;
        Self {
            base: line(lines, &base.each_ref()),
            free_spins: exact(model.free_spins) * spin / (Exact::one() - &awarded),
            explosion: scattered(lines, &base, &high, &model.question_marks),
            features: [high_symbols, random_wilds, multiplied, mega_wild],
            combinations: combinations(model),
            respin: respin_mean,
            free: free_mean,
            respin_wins,
            multiplier,
            free_feature,
            trigger,
            awarded,
        }
    }

    #[must_use]
    pub fn parts(&self, model: &Model, unlocked: usize) -> [Exact; PARTS.len()] {
        let [.., none] = &self.combinations;
        let locked: Exact = self.combinations[unlocked..4].iter().sum();
        let feature = |place: usize| match place < unlocked {
            true => &self.combinations[place] * &self.features[place],
            false => Exact::zero(),
        };
        let mut parts = std::array::from_fn(|_| Exact::zero());
        parts[BASE_LINES] = self.base.clone();
        parts[HIGH_SYMBOLS] = feature(0);
        parts[RANDOM_WILDS] = feature(1);
        parts[MULTIPLIER] = feature(2);
        parts[MEGA_WILD] = feature(3);
        parts[EXPLOSION] = (none + locked) * chance(model.explosion) * &self.explosion;
        parts[FREE_SPINS] = &self.trigger * &self.free_spins;
        parts
    }

    #[must_use]
    pub fn rtp(&self, model: &Model, unlocked: usize) -> Exact {
        self.parts(model, unlocked).iter().sum()
    }

    pub(super) fn hits(&self, model: &Model) -> Exact {
        let wins = win_chance(&model.base, None);
        let both = win_chance(&model.base, Some(0)) * shows_free_spins(&model.base, 4);
        let window = wins + &self.trigger - both;
        let [features @ .., none] = &self.combinations;
        let starts = features.iter().sum::<Exact>() + none * chance(model.explosion);
        Exact::one() - (Exact::one() - window) * (Exact::one() - starts)
    }
}

pub(super) fn highest_window(model: &Model) -> Exact {
    let all_wild = model.base.lines.pays()[usize::from(model.wild)][REELS];
    let multiplier = model.multipliers.items().iter().map(|&(factor, _)| factor).max().unwrap_or(1);
    exact(all_wild) * exact(multiplier)
}

pub(super) fn chance(of: Chance) -> Exact {
    ratio(of.times, of.of)
}

fn mean(of: &Weights<u32>) -> Exact {
    of.items().iter().map(|&(n, weight)| exact(n) * ratio(weight, of.total())).sum()
}

fn share<T: Copy>(of: &Weights<T>, holds: impl Fn(&T) -> bool) -> Exact {
    let weight: u32 = of.items().iter().filter(|(item, _)| holds(item)).map(|(_, weight)| weight).sum();
    ratio(weight, of.total())
}

fn cells(of: &Windows, reel: usize) -> Cell {
    let mut counts = BTreeMap::new();
    for column in of.reels.columns(reel) {
        *counts.entry(column[0]).or_insert(0) += 1;
    }
    counts.into_iter().collect()
}

pub(super) fn shows_free_spins(of: &Windows, reel: usize) -> Exact {
    let stops = of.reels.columns(reel);
    let shows = stops.iter().filter(|column| column[..ROWS].contains(&of.scatters.symbol)).count();
    ratio(shows, stops.len())
}

fn line(lines: &Lines, cells: &[&Cell; REELS]) -> Exact {
    type State = (usize, Option<u8>, usize, bool);
    let mut states: BTreeMap<State, u128> = BTreeMap::from([((0, None, 0, false), 1)]);
    for of in cells {
        let mut next = BTreeMap::new();
        for ((wilds, symbol, count, over), ways) in states {
            for &(shown, weight) in of.iter() {
                let state = if over {
                    (wilds, symbol, count, true)
                } else if shown == lines.wild() {
                    (wilds + usize::from(symbol.is_none()), symbol, count + 1, false)
                } else if lines.on_lines(shown) && symbol.is_none_or(|running| running == shown) {
                    (wilds, Some(shown), count + 1, false)
                } else {
                    (wilds, symbol, count, true)
                };
                *next.entry(state).or_insert(0) += ways * u128::from(weight);
            }
        }
        states = next;
    }
    let pays = |symbol: u8, count: usize| lines.pays()[usize::from(symbol)][count];
    let won = |(wilds, symbol, count, _): State| {
        pays(lines.wild(), wilds).max(symbol.map_or(0, |symbol| pays(symbol, count)))
    };
    let sum: u128 = states.into_iter().map(|(state, ways)| u128::from(won(state)) * ways).sum();
    let total: u128 = cells.iter().map(|of| of.iter().map(|cell| u128::from(cell.1)).sum::<u128>()).product();
    ratio(sum, total)
}

fn replaced(lines: &Lines, cells: &[Cell; REELS], by: &Cell, mask: usize) -> Exact {
    line(lines, &std::array::from_fn(|reel| if mask >> reel & 1 == 1 { by } else { &cells[reel] }))
}

fn scattered(lines: &Lines, cells: &[Cell; REELS], by: &Cell, counts: &Weights<u32>) -> Exact {
    let all = (REELS * ROWS) as u64;
    let of_mask: Vec<Exact> = (0..1 << REELS).map(|mask| replaced(lines, cells, by, mask)).collect();
    let with = |n: u64| -> Exact {
        let share = |mask: usize| {
            let hit = u64::from(mask.count_ones());
            let ways = n.checked_sub(hit).map_or(0, |rest| binomial(all - REELS as u64, rest));
            ratio(ways, binomial(all, n))
        };
        of_mask.iter().enumerate().map(|(mask, mean)| share(mask) * mean).sum()
    };
    counts.items().iter().map(|&(n, weight)| ratio(weight, counts.total()) * with(n.into())).sum()
}

fn mega_wild(lines: &Lines, cells: &[Cell; REELS], wild: &Cell, places: &[MegaWilds]) -> Exact {
    let mut times = [0u64; 1 << REELS];
    for place in places {
        for rows in lines.rows() {
            let covers = |(reel, &row): (usize, &u8)| place.cells >> (reel * ROWS + usize::from(row)) & 1 == 1;
            let mask = (0..REELS).filter(|&reel| covers((reel, &rows[reel]))).fold(0, |mask, reel| mask | 1 << reel);
            times[mask] += 1;
        }
    }
    let total = (places.len() * lines.rows().len()).max(1);
    let used = times.iter().enumerate().filter(|(_, times)| **times > 0);
    used.map(|(mask, &times)| ratio(times, total) * replaced(lines, cells, wild, mask)).sum()
}

fn binomial(n: u64, k: u64) -> u64 {
    if k > n { 0 } else { (0..k).fold(1, |ways, place| ways * (n - place) / (place + 1)) }
}

/// Returns the probability of a line win or, if a reel is given, of a line win together with a Free Spins symbol on that
/// reel.
fn win_chance(of: &Windows, with_free_spins_on: Option<usize>) -> Exact {
    let lines = &of.lines;
    let symbols: Vec<u8> = (0..16).filter(|&symbol| lines.on_lines(symbol)).collect();
    let masks = |reel: usize| -> Vec<Vec<u64>> {
        let columns = of.reels.columns(reel).iter();
        let mask = |column: &[u8; ROWS], symbol: u8| {
            let stands = |rows: &[u8; REELS]| [symbol, lines.wild()].contains(&column[usize::from(rows[reel])]);
            lines.rows().iter().enumerate().fold(0u64, |mask, (line, rows)| mask | u64::from(stands(rows)) << line)
        };
        columns.map(|column| symbols.iter().map(|&symbol| mask(column, symbol)).collect()).collect()
    };
    let (first, second, third) = (masks(0), masks(1), masks(2));
    let counts = |reel: usize, stop: usize| {
        with_free_spins_on.is_none_or(|named| named != reel || of.scatters.counter.shows(reel, stop))
    };
    let mut wins = 0u64;
    for one in first.iter().enumerate().filter(|&(stop, _)| counts(0, stop)).map(|(_, one)| one) {
        for two in &second {
            let both: Vec<u64> = one.iter().zip(two).map(|(one, two)| one & two).collect();
            wins += third.iter().filter(|three| both.iter().zip(*three).any(|(both, three)| both & three != 0)).count()
                as u64;
        }
    }
    ratio(wins, first.len() * second.len() * third.len())
}

fn combinations(model: &Model) -> [Exact; 5] {
    let (brings, states) = (brings(model), shelves());
    let place = |shelf: &[Potion]| states.iter().position(|state| state == shelf).unwrap_or(0);
    let mut moves = vec![vec![Exact::zero(); states.len()]; states.len()];
    let mut completes: Vec<[Exact; 5]> = vec![std::array::from_fn(|_| Exact::zero()); states.len()];
    for (from, state) in states.iter().enumerate() {
        for (a, p) in &brings {
            for (b, q) in &brings {
                for (c, r) in &brings {
                    let ways = p * q * r;
                    let mut shelf = state.clone();
                    for potion in [a, b, c].into_iter().filter_map(|potion| *potion) {
                        shelf.push(potion);
                        if shelf.len() == 3 {
                            completes[from][kind(&shelf)] += &ways;
                            shelf.clear();
                        }
                    }
                    shelf.sort_unstable();
                    moves[from][place(&shelf)] += ways;
                }
            }
        }
    }
    let long_run = stationary(&moves);
    std::array::from_fn(|kind| long_run.iter().zip(&completes).map(|(share, of)| share * &of[kind]).sum())
}

pub(super) fn brings(model: &Model) -> Vec<(Option<Potion>, Exact)> {
    let some = chance(model.potion_chance);
    let colour = |of: Potion| &some * share(&model.colours, |&potion| potion == of);
    let potions = Potion::ALL.into_iter().map(|potion| (Some(potion), colour(potion)));
    std::iter::once((None, Exact::one() - &some)).chain(potions).collect()
}

pub(super) fn shelves() -> Vec<Vec<Potion>> {
    let mut states: Vec<Vec<Potion>> = vec![vec![]];
    for first in Potion::ALL {
        states.push(vec![first]);
        states.extend(Potion::ALL.into_iter().filter(|&second| first <= second).map(|second| vec![first, second]));
    }
    states
}

pub(super) fn kind(potions: &[Potion]) -> usize {
    let count = |of: Potion| potions.iter().filter(|&&potion| potion == of).count();
    match Potion::ALL.map(count) {
        [1, 1, 1] => 0,
        [1, 2, 0] => 1,
        [1, 0, 2] => 2,
        [0, 2, 1] => 3,
        _ => 4,
    }
}

/// Returns the stationary distribution `x` of a chain with one recurrent class: `x P = x`, with sum 1.
fn stationary(moves: &[Vec<Exact>]) -> Vec<Exact> {
    let n = moves.len();
    let mut rows: Vec<Vec<Exact>> = (0..n)
        .map(|to| {
            let balance = (0..n).map(|from| &moves[from][to] - if from == to { Exact::one() } else { Exact::zero() });
            let sum = (0..n).map(|_| Exact::one());
            let last = to == n - 1;
            let mut row: Vec<Exact> = if last { sum.collect() } else { balance.collect() };
            row.push(if last { Exact::one() } else { Exact::zero() });
            row
        })
        .collect();
    reduce(&mut rows);
    rows.into_iter().filter_map(|row| row.into_iter().next_back()).collect()
}

/// Solves linear equations (Gauss-Jordan): the columns after the square part become the solutions.
pub(super) fn reduce(rows: &mut [Vec<Exact>]) {
    for pivot in 0..rows.len() {
        let Some(found) = (pivot..rows.len()).find(|&row| !rows[row][pivot].is_zero()) else { continue };
        rows.swap(pivot, found);
        let scale = rows[pivot][pivot].recip();
        for value in &mut rows[pivot] {
            *value *= &scale;
        }
        let by = rows[pivot].clone();
        for (_, row) in rows.iter_mut().enumerate().filter(|(row, _)| *row != pivot) {
            let factor = row[pivot].clone();
            if !factor.is_zero() {
                for (value, by) in row.iter_mut().zip(&by) {
                    *value -= &factor * by;
                }
            }
        }
    }
}
