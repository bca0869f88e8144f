//! Exact sums over all reel windows (sets of visible symbols) of a ways game.
//!
//! Reels are independent, so the sum of a symbol's wins over all windows is the product of one sum per reel.

use std::collections::BTreeMap;

use num_bigint::BigInt;
use num_traits::{One, ToPrimitive, Zero};

use crate::parts::reels::REELS;
use crate::parts::ways::{WAYS_SYMBOLS_MAX, WaysPays};

pub type Shown = [u8; WAYS_SYMBOLS_MAX];

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Law(BTreeMap<Shown, u128>);

impl Law {
    pub fn new(contents: impl IntoIterator<Item = (Shown, u128)>) -> Self {
        let mut law = BTreeMap::new();
        for (shown, weight) in contents {
            *law.entry(shown).or_insert(0) += weight;
        }
        Self(law)
    }

    #[must_use]
    pub fn shown(cells: &[u8]) -> Shown {
        let mut shown = Shown::default();
        for &cell in cells {
            if let Some(count) = shown.get_mut(usize::from(cell)) {
                *count += 1;
            }
        }
        shown
    }

    #[must_use]
    pub fn and_cell(&self, symbols: &[(u8, u32)]) -> Self {
        Self::new(self.0.iter().flat_map(|(shown, weight)| {
            symbols.iter().map(move |&(symbol, times)| {
                let mut shown = *shown;
                shown[usize::from(symbol)] += 1;
                (shown, weight * u128::from(times))
            })
        }))
    }

    pub fn contents(&self) -> impl Iterator<Item = (&Shown, f64)> {
        let all = self.sum(|_| 1) as f64;
        self.0.iter().map(move |(shown, &weight)| (shown, weight as f64 / all))
    }

    fn sum(&self, of: impl Fn(&Shown) -> u64) -> u128 {
        self.0.iter().map(|(shown, weight)| weight * u128::from(of(shown))).sum()
    }
}

#[derive(Clone, Debug)]
pub struct Sums {
    law: Law,
    pub all: BigInt,
    of: Vec<[BigInt; 2]>,
    pairs: Vec<Pair>,
    covers: Vec<BigInt>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Pair {
    both: f64,
    first: f64,
    second: f64,
    neither: f64,
}

#[derive(Clone, Copy, Debug)]
pub struct Paying<'a> {
    pub symbols: &'a [u8],
    pub pays: &'a WaysPays,
}

impl Paying<'_> {
    fn pay(&self, place: usize, count: usize) -> u64 {
        self.pays[usize::from(self.symbols[place])][count]
    }
}

impl Sums {
    #[must_use]
    pub fn new(law: Law, symbols: &[u8]) -> Self {
        let count = |shown: &Shown, place: usize| u64::from(shown[usize::from(symbols[place])]);
        let none = |shown: &Shown, place: usize| u64::from(count(shown, place) == 0);
        let places = 0..symbols.len();
        let all = law.sum(|_| 1);
        let mean = |sum: u128| sum as f64 / all as f64;
        let pair = |a: usize, b: usize| Pair {
            both: mean(law.sum(|shown| count(shown, a) * count(shown, b))),
            first: mean(law.sum(|shown| count(shown, a) * none(shown, b))),
            second: mean(law.sum(|shown| none(shown, a) * count(shown, b))),
            neither: mean(law.sum(|shown| none(shown, a) * none(shown, b))),
        };
        let of = places.clone().map(|a| [law.sum(|shown| count(shown, a)), law.sum(|shown| none(shown, a))]);
        let of = of.map(|sums| sums.map(BigInt::from)).collect();
        let pairs = places.clone().flat_map(|a| (0..=a).map(move |b| (a, b))).map(|(a, b)| pair(a, b)).collect();
        let mut covers = vec![0; 1 << symbols.len()];
        for (shown, weight) in &law.0 {
            covers[places.clone().map(|place| usize::from(count(shown, place) > 0) << place).sum::<usize>()] += weight;
        }
        for place in places {
            for set in (0..covers.len()).filter(|set| set >> place & 1 == 0) {
                covers[set] += covers[set | 1 << place];
            }
        }
        let covers = covers.into_iter().map(BigInt::from).collect();
        Self { law, all: all.into(), of, pairs, covers }
    }
}

#[must_use]
pub fn ways(reels: [&Sums; REELS], place: usize, count: usize) -> BigInt {
    let factor = |(reel, sums): (usize, &&Sums)| match reel.cmp(&count) {
        std::cmp::Ordering::Less => sums.of[place][0].clone(),
        std::cmp::Ordering::Equal => sums.of[place][1].clone(),
        std::cmp::Ordering::Greater => sums.all.clone(),
    };
    reels.iter().enumerate().map(factor).product()
}

#[must_use]
pub fn without_three(reels: [&Sums; REELS]) -> BigInt {
    let [first, second, third, fourth, fifth] = reels;
    let mut sum = BigInt::zero();
    for set in 0..first.covers.len() {
        let all_show = &first.covers[set] * &second.covers[set] * &third.covers[set];
        if set.count_ones().is_multiple_of(2) { sum += all_show } else { sum -= all_show }
    }
    sum * &fourth.all * &fifth.all
}

/// Returns the mean square of a window's win, with a relative error below 1e-13.
#[must_use]
pub fn square(reels: [&Sums; REELS], paying: &Paying) -> f64 {
    let n = paying.symbols.len();
    let pay = |place, count| paying.pay(place, count).to_f64().unwrap_or(f64::NAN);
    let mut sum = 0.0;
    for (a, b) in (0..n).flat_map(|a| (0..=a).map(move |b| (a, b))) {
        let (mut both, mut first, mut second, mut ended) = (1.0, 0.0, 0.0, 0.0);
        for (reel, sums) in reels.iter().enumerate() {
            let (pair, of_a, of_b) = (sums.pair(a, b), sums.pair(a, a), sums.pair(b, b));
            let (mean_a, mean_b) = (sums.mean(a), sums.mean(b));
            ended += first * of_a.neither * pay(a, reel)
                + second * of_b.neither * pay(b, reel)
                + both * pair.neither * pay(a, reel) * pay(b, reel);
            first = first * mean_a + both * pair.first * pay(b, reel);
            second = second * mean_b + both * pair.second * pay(a, reel);
            both *= pair.both;
        }
        let product = ended + first * pay(a, REELS) + second * pay(b, REELS) + both * pay(a, REELS) * pay(b, REELS);
        sum += if a == b { product } else { 2.0 * product };
    }
    sum
}

impl Sums {
    fn pair(&self, place: usize, up_to: usize) -> Pair {
        self.pairs[place * (place + 1) / 2 + up_to]
    }

    fn mean(&self, place: usize) -> f64 {
        let number = |n: &BigInt| n.to_f64().unwrap_or(f64::NAN);
        number(&self.of[place][0]) / number(&self.all)
    }
}

#[must_use]
pub fn highest(reels: [&Sums; REELS], paying: &Paying, floor: u64) -> Option<(u64, BigInt)> {
    let most = reels.map(|sums| {
        let most = |&symbol: &u8| sums.law.0.keys().map(|shown| u64::from(shown[usize::from(symbol)])).max();
        paying.symbols.iter().map(|symbol| most(symbol).unwrap_or(0)).collect()
    });
    let mut search = Search { reels, paying, most, best: floor, weight: BigInt::zero() };
    let runs = vec![1; paying.symbols.len()];
    if search.reach(0, &runs, 0) >= floor {
        search.from(0, &runs, 0, &BigInt::one());
    }
    (!search.weight.is_zero()).then_some((search.best, search.weight))
}

struct Search<'a> {
    reels: [&'a Sums; REELS],
    paying: &'a Paying<'a>,
    most: [Vec<u64>; REELS],
    best: u64,
    weight: BigInt,
}

impl Search<'_> {
    fn reach(&self, reel: usize, runs: &[u64], won: u64) -> u64 {
        let symbol = |(place, &run): (usize, &u64)| {
            let mut ways = run;
            let mut best = ways * self.paying.pay(place, reel);
            for (next, most) in self.most.iter().enumerate().skip(reel) {
                ways *= most[place];
                best = best.max(ways * self.paying.pay(place, next + 1));
            }
            best
        };
        won + runs.iter().enumerate().map(symbol).sum::<u64>()
    }

    fn from(&mut self, reel: usize, runs: &[u64], won: u64, weight: &BigInt) {
        if reel == REELS {
            let coins = self.reach(REELS, runs, won);
            if coins > self.best {
                (self.best, self.weight) = (coins, BigInt::zero());
            }
            if coins == self.best {
                self.weight += weight;
            }
            return;
        }
        let mut next: Vec<(u64, Vec<u64>, u64, u128)> = Vec::new();
        for (shown, &times) in &self.reels[reel].law.0 {
            let (mut runs, mut won) = (runs.to_vec(), won);
            for (place, run) in runs.iter_mut().enumerate() {
                let count = u64::from(shown[usize::from(self.paying.symbols[place])]);
                if count == 0 {
                    won += *run * self.paying.pay(place, reel);
                }
                *run *= count;
            }
            let reach = self.reach(reel + 1, &runs, won);
            if reach >= self.best {
                next.push((reach, runs, won, times));
            }
        }
        next.sort_by_key(|of| std::cmp::Reverse(of.0));
        for (reach, runs, won, times) in next {
            if reach >= self.best {
                self.from(reel + 1, &runs, won, &(weight * times));
            }
        }
    }
}
