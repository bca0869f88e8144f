//! Exact mean and variance of a round. This module does not use [`crate::parts::hold_and_win`], so it checks that code
//! independently.
//!
//! Bonus symbols on the middle reel and on the other reels are counted separately, since only the middle reel can have
//! Multiplying symbols. The feature ends after three respins without a new symbol. Its mean win is `w(h)` for the
//! symbols `h` then held. A respin adds no symbol with probability `s`, and changes `h` to `h'` with probability
//! `p(h -> h')`. From `h`, the mean win is
//! `f(h) = s^3 w(h) + (1 + s + s^2) * (sum of p(h -> h') f(h') over all larger h')`.

use std::collections::BTreeMap;

use num_bigint::BigInt;
use num_traits::{One, Zero, pow};

use super::model::Model;
use crate::contract::par::{Exact, exact, ratio};
use crate::math::moments;
use crate::math::run::Run;
use crate::parts::hold_and_win::{Bonus, FULL_SCREEN, HoldAndWin, MULTIPLYING_REEL, ROWS};
use crate::parts::reels::{Column, REELS};
use crate::parts::windows::Windows;

pub const OUTER: usize = (REELS - 1) * ROWS;
pub const MIDDLE: usize = ROWS;

/// Numbers of Bonus symbols on the other reels and on the middle reel.
pub type BonusCounts = (usize, usize);

pub type ByBonusCounts = [[Exact; MIDDLE + 1]; OUTER + 1];

pub struct Window {
    pub by_held: BTreeMap<BonusCounts, (u64, u64)>,
    lines_squared: Exact,
    cycle: Exact,
    lines: Exact,
}

impl Window {
    #[must_use]
    pub fn new(windows: &Windows, bonus: u8) -> Self {
        let rows = windows.lines.rows();
        let mut by_held = BTreeMap::new();
        for (held, ways) in read(windows, bonus, None) {
            by_held.entry(held.1).or_insert((0, 0)).0 += ways;
        }
        for line in rows {
            for ((run, held), ways) in read(windows, bonus, Some(line)) {
                by_held.entry(held).or_insert((0, 0)).1 += run.end(REELS, &windows.lines).pays(&windows.lines) * ways;
            }
        }
        let lines = u32::try_from(rows.len()).unwrap_or(u32::MAX);
        let (cycle, lines) = (exact(windows.reels.cycle()), exact(lines));
        let squared = exact(moments::spin_table(windows, u32::MAX).line_coins_squared);
        Self { by_held, lines_squared: squared / (&cycle * &lines * &lines), cycle, lines }
    }

    #[must_use]
    pub fn lines(&self) -> Exact {
        let coins: u64 = self.by_held.values().map(|of| of.1).sum();
        exact(coins) / (&self.cycle * &self.lines)
    }

    #[must_use]
    pub fn chance(&self, held: BonusCounts) -> Exact {
        exact(self.by_held.get(&held).map_or(0, |of| of.0)) / &self.cycle
    }

    #[must_use]
    pub fn starts(&self, needs: u8) -> Exact {
        self.starting(needs).map(|(_, chance, _)| chance).sum()
    }

    #[must_use]
    pub fn feature(&self, needs: u8, of: &ByBonusCounts) -> Exact {
        self.starting(needs).map(|((outer, middle), chance, _)| chance * &of[outer][middle]).sum()
    }

    fn starting(&self, needs: u8) -> impl Iterator<Item = (BonusCounts, Exact, Exact)> {
        let starts = move |held: &BonusCounts| held.0 + held.1 >= usize::from(needs);
        self.by_held.iter().filter(move |(held, _)| starts(held)).map(|(&held, &(windows, coins))| {
            (held, exact(windows) / &self.cycle, exact(coins) / (&self.cycle * &self.lines))
        })
    }
}

/// Means and variance in bets. The price of a bought feature is not deducted.
pub struct RoundMoments {
    pub lines: Exact,
    pub feature: Exact,
    pub variance: Exact,
}

impl RoundMoments {
    #[must_use]
    pub fn new(window: &Window, needs: u8, feature: &FeatureMoments) -> Self {
        let (lines, mean) = (window.lines(), window.feature(needs, &feature.mean));
        let together: Exact =
            window.starting(needs).map(|((outer, middle), _, coins)| coins * &feature.mean[outer][middle]).sum();
        let square = &window.lines_squared + exact(2u64) * together + window.feature(needs, &feature.square);
        let total = &lines + &mean;
        Self { variance: square - &total * &total, lines, feature: mean }
    }
}

fn read(windows: &Windows, bonus: u8, line: Option<&[u8; REELS]>) -> BTreeMap<(Run, BonusCounts), u64> {
    let mut states = BTreeMap::from([((Run::Wilds, (0, 0)), 1u64)]);
    for reel in 0..REELS {
        let mut cells = BTreeMap::new();
        for column in windows.reels.columns(reel) {
            *cells
                .entry((line.map(|rows| column[usize::from(rows[reel])]), shown(reel, column, bonus)))
                .or_insert(0) += 1;
        }
        let mut next = BTreeMap::new();
        for ((run, held), ways) in states {
            for (&(cell, more), &times) in &cells {
                let run = cell.map_or(run, |cell| run.read(reel, cell, &windows.lines));
                if line.is_none() || !run.lost(&windows.lines) {
                    *next.entry((run, add(held, more))).or_insert(0) += ways * times;
                }
            }
        }
        states = next;
    }
    states
}

fn shown(reel: usize, column: &Column, bonus: u8) -> BonusCounts {
    let count = column[..ROWS].iter().filter(|&&cell| cell == bonus).count();
    if reel == MULTIPLYING_REEL { (0, count) } else { (count, 0) }
}

fn add(a: BonusCounts, b: BonusCounts) -> BonusCounts {
    (a.0 + b.0, a.1 + b.1)
}

#[must_use]
pub fn hits(windows: &Windows, bonus: u8, needs: u8) -> u64 {
    let columns = |reel: usize| windows.reels.columns(reel).iter();
    let count = |reel: usize, column: &Column| {
        let (outer, middle) = shown(reel, column, bonus);
        outer + middle
    };
    let mut last = [0u64; 2 * ROWS + 1];
    for fourth in columns(3) {
        for fifth in columns(4) {
            last[count(3, fourth) + count(4, fifth)] += 1;
        }
    }
    let mut hits = 0;
    for one in columns(0) {
        for two in columns(1) {
            for three in columns(2) {
                let first = count(0, one) + count(1, two) + count(2, three);
                let wins = windows.lines.rows().iter().any(|line| moments::wins(windows, line, [one, two, three]));
                let needed = if wins { 0 } else { usize::from(needs).saturating_sub(first).min(last.len()) };
                hits += last[needed..].iter().sum::<u64>();
            }
        }
    }
    hits
}

pub struct FeatureMoments {
    pub mean: ByBonusCounts,
    pub square: ByBonusCounts,
}

impl FeatureMoments {
    #[must_use]
    pub fn new(model: &Model) -> Self {
        let (feature, ends) = (&model.hold_and_win, Ends::new(&model.hold_and_win));
        let held = |outer, middle| outer + middle >= usize::from(feature.needs);
        let wins: [[(Exact, Exact); MIDDLE + 1]; OUTER + 1] = std::array::from_fn(|outer| {
            std::array::from_fn(|middle| {
                if held(outer, middle) { ends.win(outer, middle) } else { (Exact::zero(), Exact::zero()) }
            })
        });
        Self {
            mean: at_end(feature, |outer, middle| wins[outer][middle].0.clone()),
            square: at_end(feature, |outer, middle| wins[outer][middle].1.clone()),
        }
    }
}

/// For each initial number of Bonus symbols, returns the mean of `of` (a function of the final numbers of outer and middle
/// Bonus symbols).
///
/// Uses whole numbers with a common denominator, because reducing large fractions is slow.
#[must_use]
pub fn at_end(feature: &HoldAndWin, of: impl Fn(usize, usize) -> Exact) -> ByBonusCounts {
    let on_strip = feature.strip.iter().filter(|&&symbol| symbol == feature.symbol).count();
    let (stops, lands) = (BigInt::from(feature.strip.len()), BigInt::from(on_strip));
    let (misses, respins) = (&stops - &lands, usize::from(feature.respins));
    let held = |outer, middle| outer + middle >= usize::from(feature.needs);
    let by_held = |of: &dyn Fn(usize, usize) -> Exact| -> ByBonusCounts {
        std::array::from_fn(|o| std::array::from_fn(|m| if held(o, m) { of(o, m) } else { Exact::zero() }))
    };
    let figures = by_held(&of);
    let common = figures.iter().flatten().fold(BigInt::one(), |common, figure| lcm(common, figure.denom()));
    let steps = (1..=OUTER + MIDDLE).scan(BigInt::one(), |over, left| {
        *over *= pow(stops.clone(), respins * left);
        Some(over.clone())
    });
    let over: Vec<BigInt> = std::iter::once(BigInt::one()).chain(steps).collect();
    let mut all: [[BigInt; MIDDLE + 1]; OUTER + 1] = std::array::from_fn(|_| std::array::from_fn(|_| BigInt::zero()));
    for outer in (0..=OUTER).rev() {
        for middle in (0..=MIDDLE).rev().filter(|&middle| held(outer, middle)) {
            let figure = &figures[outer][middle];
            let here = figure.numer() * (&common / figure.denom());
            let left = OUTER + MIDDLE - outer - middle;
            if left == 0 {
                all[outer][middle] = here;
                continue;
            }
            let nothing = pow(misses.clone(), left);
            let mut more = BigInt::zero();
            for (o, ways) in binomials(OUTER - outer).into_iter().enumerate() {
                for (m, other) in binomials(MIDDLE - middle).into_iter().enumerate().filter(|(m, _)| o + m > 0) {
                    let chance = ways * other * pow(lands.clone(), o + m) * pow(misses.clone(), left - o - m);
                    more += chance * &all[outer + o][middle + m] * (&over[left - 1] / &over[left - o - m]);
                }
            }
            let tries: BigInt =
                (0..respins).map(|n| pow(nothing.clone(), n) * pow(stops.clone(), left * (respins - 1 - n))).sum();
            all[outer][middle] = tries * more + pow(nothing, respins) * here * &over[left - 1];
        }
    }
    by_held(&|outer, middle| {
        let left = OUTER + MIDDLE - outer - middle;
        Exact::new(all[outer][middle].clone(), &common * &over[left])
    })
}

fn lcm(a: BigInt, b: &BigInt) -> BigInt {
    Exact::new(a, b.clone()).numer() * b
}

fn binomials(of: usize) -> Vec<u64> {
    let next = |(ways, k): (u64, u64)| (ways * (of as u64 - k) / (k + 1), k + 1);
    std::iter::successors(Some((1, 0)), |&last| Some(next(last))).map(|of| of.0).take(of + 1).collect()
}

fn several(symbols: usize, one: &Exact) -> Vec<Exact> {
    let misses = Exact::one() - one;
    let mut chances = vec![Exact::one()];
    for _ in 0..symbols {
        let mut next: Vec<Exact> = chances.iter().map(|chance| chance * &misses).collect();
        next.push(Exact::zero());
        for (more, chance) in next.iter_mut().skip(1).zip(&chances) {
            *more += chance * one;
        }
        chances = next;
    }
    chances
}

pub struct Ends {
    multiplying: Exact,
    values: [Exact; 2],
    factors: [[Exact; 2]; 2],
    sums: [Vec<Sums>; 2],
    unit: Exact,
}

#[derive(Clone)]
struct Sums {
    mass: Exact,
    x: Exact,
    u: Exact,
    xx: Exact,
    xu: Exact,
    uu: Exact,
}

impl Sums {
    fn none() -> Self {
        let zero = Exact::zero;
        Self { mass: Exact::one(), x: zero(), u: zero(), xx: zero(), xu: zero(), uu: zero() }
    }

    fn and(&self, other: &Self) -> Self {
        let two = exact(2u64);
        Self {
            mass: &self.mass * &other.mass,
            x: &self.x * &other.mass + &self.mass * &other.x,
            u: &self.u * &other.mass + &self.mass * &other.u,
            xx: &self.xx * &other.mass + &two * &self.x * &other.x + &self.mass * &other.xx,
            xu: &self.xu * &other.mass + &self.x * &other.u + &self.u * &other.x + &self.mass * &other.xu,
            uu: &self.uu * &other.mass + &two * &self.u * &other.u + &self.mass * &other.uu,
        }
    }

    fn all(&self) -> [&Exact; 6] {
        [&self.mass, &self.x, &self.u, &self.xx, &self.xu, &self.uu]
    }

    fn times(&self, by: &Exact) -> Self {
        let [mass, x, u, xx, xu, uu] = self.all().map(|of| of * by);
        Self { mass, x, u, xx, xu, uu }
    }

    fn without(&self, other: &Self) -> Self {
        Self {
            mass: &self.mass - &other.mass,
            x: &self.x - &other.x,
            u: &self.u - &other.u,
            xx: &self.xx - &other.xx,
            xu: &self.xu - &other.xu,
            uu: &self.uu - &other.uu,
        }
    }

    fn win(&self, factor: [Exact; 2], more: [Exact; 2]) -> [Exact; 2] {
        let ([f, ff], [k, kk]) = (factor, more);
        let mean = &f * &self.x + &self.u + &self.mass * &k;
        let both = &f * &self.xu + &f * &self.x * &k + &self.u * &k;
        [mean, ff * &self.xx + &self.uu + &self.mass * kk + exact(2u64) * both]
    }
}

impl Ends {
    #[must_use]
    pub fn new(feature: &HoldAndWin) -> Self {
        let weight = |of: &[(Bonus, u32)], is: fn(&Bonus) -> bool| -> u64 {
            of.iter().filter(|(bonus, _)| is(bonus)).map(|&(_, weight)| u64::from(weight)).sum()
        };
        let mystery = weight(feature.outer.items(), |bonus| matches!(bonus, Bonus::Mystery(_)));
        let mystery = ratio(mystery, feature.outer.total());
        let multiplying = weight(feature.middle.items(), |bonus| matches!(bonus, Bonus::Multiplying(_)));
        let values = moments_of(feature.values.items());
        let specials = feature.mysteries.items();
        let no_grand: Vec<(u32, u32)> = specials.iter().copied().filter(|of| of.0 != feature.grand).collect();
        let ones = [specials, &no_grand].map(|of| symbol(&mystery, &values, of, feature.mysteries.total()));
        let unit = exact(ones.iter().flat_map(Sums::all).fold(BigInt::one(), |unit, of| lcm(unit, of.denom())));
        let sums = ones.map(|one| {
            let one = one.times(&unit);
            let more = |sums: &Sums| Some(sums.and(&one));
            std::iter::successors(Some(Sums::none()), more).take(OUTER + MIDDLE + 1).collect()
        });
        Self {
            multiplying: ratio(multiplying, feature.middle.total()),
            factors: [&feature.factors_beside_grand, &feature.factors].map(|of| moments_of(of.items())),
            values,
            sums,
            unit,
        }
    }

    #[must_use]
    pub fn win(&self, outer: usize, middle: usize) -> (Exact, Exact) {
        let mut won = [Exact::zero(), Exact::zero()];
        for (factors, chance) in several(middle, &self.multiplying).into_iter().enumerate() {
            let symbols = outer + middle - factors;
            let without = &self.sums[1][symbols];
            let with = self.sums[0][symbols].without(without);
            let turned = self.turned(factors);
            for (sums, factor) in [(&with, &self.factors[0]), (without, &self.factors[1])] {
                let product = factor.clone().map(|moment| pow(moment, factors));
                let [mean, square] = sums.win(product, turned.clone());
                let chance = &chance / pow(self.unit.clone(), symbols);
                won[0] += &chance * mean;
                won[1] += chance * square;
            }
        }
        let full = outer + middle == OUTER + MIDDLE;
        let screen = exact(if full { FULL_SCREEN } else { 1 });
        let [mean, square] = won;
        (mean * &screen, square * &screen * screen)
    }

    #[must_use]
    pub fn grand(&self, outer: usize, middle: usize) -> Exact {
        let none = several(middle, &self.multiplying).into_iter().enumerate();
        let mass = |symbols: usize| &self.sums[1][symbols].mass / pow(self.unit.clone(), symbols);
        Exact::one() - none.map(|(factors, chance)| chance * mass(outer + middle - factors)).sum::<Exact>()
    }

    fn turned(&self, count: usize) -> [Exact; 2] {
        let (n, [mean, square]) = (exact(count), &self.values);
        let pairs = exact(count * count.saturating_sub(1));
        [&n * mean, n * square + pairs * mean * mean]
    }
}

fn symbol(mystery: &Exact, values: &[Exact; 2], specials: &[(u32, u32)], total: u32) -> Sums {
    let plain = Exact::one() - mystery;
    let moment = |power: usize| -> Exact {
        let sum: Exact = specials.iter().map(|&(bets, weight)| pow(exact(bets), power) * exact(weight)).sum();
        mystery * sum / exact(total)
    };
    let [mean, square] = values;
    Sums {
        mass: &plain + moment(0),
        x: &plain * mean + moment(1),
        u: moment(0) * mean,
        xx: &plain * square + moment(2),
        xu: moment(1) * mean,
        uu: moment(0) * square,
    }
}

fn moments_of(items: &[(u32, u32)]) -> [Exact; 2] {
    let total: u64 = items.iter().map(|of| u64::from(of.1)).sum();
    [1, 2].map(|power| {
        let sum: Exact = items.iter().map(|&(n, weight)| pow(exact(n), power) * exact(weight)).sum();
        sum / exact(total)
    })
}
