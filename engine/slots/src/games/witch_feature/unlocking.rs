//! Mean time and cost of unlocking all features, and returns of a new player's first spins (WF-11, WF-21, PL-43).

use std::collections::BTreeMap;

use num_traits::{One, Zero};

use super::model::Model;
use super::moments::{Means, brings, chance, kind, reduce, shelves};
use super::potions::{FEATURES, Potion};
use crate::contract::par::{Condition, ConditionalRtp, Exact, exact};
use crate::math::first_spins::{FIRST_SPINS, Fixed};

const FIRST: usize = 1;
const ALL: usize = FEATURES as usize;

pub(super) struct Unlocking {
    pub(super) spins: Exact,
    pub(super) cost_bets: Exact,
}

struct Level {
    moves: Vec<BTreeMap<(usize, usize), Exact>>,
    wins: Vec<Exact>,
}

pub(super) struct Chain(Vec<Level>);

impl Chain {
    pub(super) fn new(model: &Model, means: &Means) -> Self {
        let (shelves, brings) = (shelves(), brings(model));
        let explosion = chance(model.explosion) * &means.explosion;
        let always = &means.base + &means.trigger * &means.free_spins;
        let level = |unlocked: usize| {
            let mut level =
                Level { moves: vec![BTreeMap::new(); shelves.len()], wins: vec![always.clone(); shelves.len()] };
            for (from, shelf) in shelves.iter().enumerate() {
                for (a, p) in &brings {
                    for (b, q) in &brings {
                        for (c, r) in &brings {
                            let ways = p * q * r;
                            let (kind, shelf) = collected(shelf, [*a, *b, *c]);
                            let triggered = kind.filter(|&kind| kind < unlocked);
                            level.wins[from] += match (kind, triggered) {
                                (_, Some(feature)) => &ways * &means.features[feature],
                                (Some(_), None) => &ways * &explosion,
                                (None, None) => Exact::zero(),
                            };
                            let next = triggered.map_or(unlocked, |feature| unlocked.max((feature + 2).min(ALL)));
                            let to = shelves.iter().position(|of| *of == shelf).unwrap_or(0);
                            *level.moves[from].entry((next, to)).or_insert_with(Exact::zero) += ways;
                        }
                    }
                }
            }
            level
        };
        Self((FIRST..=ALL).map(level).collect())
    }

    fn level(&self, unlocked: usize) -> &Level {
        &self.0[unlocked - FIRST]
    }

    pub(super) fn unlocking(&self, rtp: &Exact) -> Unlocking {
        let shelves = self.level(ALL).wins.len();
        let mut later: BTreeMap<usize, Vec<[Exact; 2]>> = BTreeMap::new();
        later.insert(ALL, vec![[Exact::zero(), Exact::zero()]; shelves]);
        for unlocked in (FIRST..ALL).rev() {
            let level = self.level(unlocked);
            let rows = (0..shelves).map(|from| {
                let mut row = vec![Exact::zero(); shelves + 2];
                row[from] = Exact::one();
                (row[shelves], row[shelves + 1]) = (Exact::one(), rtp - &level.wins[from]);
                for ((next, to), ways) in &level.moves[from] {
                    match later.get(next) {
                        None => row[*to] -= ways,
                        Some(of) => {
                            row[shelves] += ways * &of[*to][0];
                            row[shelves + 1] += ways * &of[*to][1];
                        }
                    }
                }
                row
            });
            later.insert(unlocked, solved(rows.collect()));
        }
        let [spins, cost_bets] = later.remove(&FIRST).and_then(|of| of.into_iter().next()).unwrap_or_default();
        Unlocking { spins, cost_bets }
    }

    pub(super) fn most_expected(&self) -> Exact {
        self.0.iter().flat_map(|level| &level.wins).max().cloned().unwrap_or_default()
    }

    pub(super) fn first_spins(&self) -> Vec<ConditionalRtp> {
        let titles = [
            ("new_player_100", "return of the first 100 spins of a player who is new to the bet level"),
            ("new_player_500", "return of the first 500 spins of a player who is new to the bet level"),
            ("new_player_1000", "return of the first 1,000 spins of a player who is new to the bet level"),
        ];
        let mut shares = BTreeMap::from([((FIRST, 0), Fixed::one())]);
        let (mut at, mut won) = (0, Fixed::zero());
        let mut all = Vec::new();
        for ((key, title), spins) in titles.into_iter().zip(FIRST_SPINS) {
            for _ in at..spins {
                let mut next = BTreeMap::new();
                for ((unlocked, shelf), share) in &shares {
                    let level = self.level(*unlocked);
                    won += &share.times(&level.wins[*shelf]);
                    for (to, ways) in &level.moves[*shelf] {
                        *next.entry(*to).or_insert_with(Fixed::zero) += &share.times(ways);
                    }
                }
                shares = next;
            }
            at = spins;
            let condition = Condition::FirstSpins(spins);
            all.push(ConditionalRtp { key, title, rtp: won.exact() / exact(spins), condition });
        }
        all
    }
}

fn collected(shelf: &[Potion], potions: [Option<Potion>; 3]) -> (Option<usize>, Vec<Potion>) {
    let (mut shelf, mut completes) = (shelf.to_vec(), None);
    for potion in potions.into_iter().flatten() {
        shelf.push(potion);
        if shelf.len() == 3 {
            completes = Some(kind(&shelf));
            shelf.clear();
        }
    }
    shelf.sort_unstable();
    (completes, shelf)
}

fn solved(mut rows: Vec<Vec<Exact>>) -> Vec<[Exact; 2]> {
    reduce(&mut rows);
    rows.into_iter().map(|row| row.last_chunk::<2>().cloned().unwrap_or_default()).collect()
}
