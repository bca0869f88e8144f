//! Mean and variance of a round.
//!
//! Each crystal counts as a share of a collection, paid at the coin value of the crystal's round, so changes of the
//! coin value do not affect the return. The free crystals of new players (DM-14) are excluded.

use std::{ops::Deref, sync::Arc};

use super::model::{BET_COINS, Model, ROWS_MAX};
use super::paid_spin::PaidSpin;
use crate::contract::par::{Combination, Exact, exact, float};
use crate::math::ways_moments::{self, Law, Paying, Sums};
use crate::parts::expansion::CRYSTALS;
use crate::parts::reels::REELS;
use crate::parts::ways::WaysReels;

/// Mean returns in coins, for a bet of [`BET_COINS`] coins.
#[derive(Clone, Debug)]
pub struct Returns<'a> {
    pub(super) model: &'a Model,
    moments: Arc<Moments>,
}

#[derive(Clone, Debug)]
pub struct Moments {
    pub paid: PaidSpin,
    pub free: FreeSpin,
    pub collection: [FreeSpin; CRYSTALS],
}

#[derive(Clone, Debug)]
pub struct FreeSpin {
    pub(super) symbols: Vec<u8>,
    pub(super) ways: Vec<[Exact; REELS + 1]>,
    pub coins: Exact,
    pub variance: f64,
}

impl FreeSpin {
    #[must_use]
    pub fn new(model: &Model, reels: &WaysReels, symbols: Vec<u8>) -> Self {
        let paying = Paying { symbols: &symbols, pays: model.ways.pays() };
        let law = |reel: usize| Law::new(reels.columns(reel).iter().map(|column| (Law::shown(&column.cells), 1)));
        let sums: [Sums; REELS] = std::array::from_fn(|reel| Sums::new(law(reel), &symbols));
        let sums = sums.each_ref();
        let cycle: Exact = sums.iter().map(|sums| exact(sums.all.clone())).product();
        let mean = |place, count| exact(ways_moments::ways(sums, place, count)) / &cycle;
        let ways: Vec<_> = (0..symbols.len()).map(|place| std::array::from_fn(|count| mean(place, count))).collect();
        let coins = coins(&symbols, &ways, model);
        let variance = ways_moments::square(sums, &paying) - float(&coins).powi(2);
        Self { ways, coins, variance, symbols }
    }
}

pub(super) fn highest_free_spin(model: &Model, reels: &WaysReels, symbols: Vec<u8>) -> (u64, Exact) {
    let paying = Paying { symbols: &symbols, pays: model.ways.pays() };
    let law = |reel: usize| Law::new(reels.columns(reel).iter().map(|column| (Law::shown(&column.cells), 1)));
    let sums: [Sums; REELS] = std::array::from_fn(|reel| Sums::new(law(reel), &symbols));
    let cycle: Exact = sums.iter().map(|sums| exact(sums.all.clone())).product();
    let highest = ways_moments::highest(sums.each_ref(), &paying, 0);
    highest.map_or((0, exact(1)), |(coins, weight)| (coins, exact(weight) / cycle))
}

impl Deref for Returns<'_> {
    type Target = Moments;

    fn deref(&self) -> &Moments {
        &self.moments
    }
}

impl Moments {
    #[must_use]
    pub fn new(model: &Model) -> Self {
        let collection = std::array::from_fn(|colour: usize| {
            let symbols = std::iter::once(model.super_high[colour]).chain(model.regular()).collect();
            FreeSpin::new(model, &model.collection[colour], symbols)
        });
        Self { paid: PaidSpin::new(model), free: FreeSpin::new(model, &model.free, model.regular()), collection }
    }
}

impl<'a> Returns<'a> {
    #[must_use]
    pub fn new(model: &'a Model) -> Self {
        Self::from_moments(model, &Arc::new(Moments::new(model)))
    }

    #[must_use]
    pub fn from_moments(model: &'a Model, moments: &Arc<Moments>) -> Self {
        Self { model, moments: Arc::clone(moments) }
    }

    #[must_use]
    pub fn total(&self) -> Exact {
        self.base() + self.free_spins() + self.collections()
    }

    #[must_use]
    pub fn base(&self) -> Exact {
        self.paid.coins() / exact(BET_COINS)
    }

    #[must_use]
    pub fn free_spins(&self) -> Exact {
        self.paid.bonuses(3) * exact(self.model.free_spins) * &self.free.coins / exact(BET_COINS)
    }

    #[must_use]
    pub fn collections(&self) -> Exact {
        let worth: Exact = (0..CRYSTALS).map(|colour| self.collection_worth(colour)).sum();
        self.paid.crystal() / exact(self.model.needs) * worth
    }

    pub(super) fn collection_worth(&self, colour: usize) -> Exact {
        exact(self.model.collection_spins) * &self.collection[colour].coins / exact(BET_COINS)
    }

    /// Returns the variance of a round's win, in bets. It assumes that a crystal completes the collection of its colour with
    /// probability 1 / `needs`.
    #[must_use]
    pub fn variance(&self) -> f64 {
        let colours = CRYSTALS as f64;
        let needs = f64::from(self.model.needs);
        let series = |spins: u32, of: &FreeSpin| (f64::from(spins) * float(&of.coins), f64::from(spins) * of.variance);
        let (free, free_variance) = series(self.model.free_spins, &self.free);
        let collected = self.collection.each_ref().map(|of| series(self.model.collection_spins, of));
        let sum: f64 = collected.iter().map(|(mean, _)| mean).sum();
        let squares: f64 = collected.iter().map(|(mean, variance)| mean * mean + variance).sum();
        let mixed = sum * sum - collected.iter().map(|(mean, _)| mean * mean).sum::<f64>();
        let mut square = self.paid.square;
        for (bonuses, row) in self.paid.shows.iter().enumerate() {
            let (free, free_variance) = if bonuses == 3 { (free, free_variance) } else { (0.0, 0.0) };
            for (landed, cell) in row.iter().enumerate() {
                let landed = landed as f64;
                let one = landed / colours / needs;
                let two = landed * (landed - 1.0) / (colours * (colours - 1.0)) / (needs * needs);
                square += 2.0 * float(&cell.coins) * (free + one * sum);
                square += float(&cell.chance)
                    * (free * free + free_variance + 2.0 * free * one * sum + one * squares + two * mixed);
            }
        }
        let bet = f64::from(BET_COINS);
        square / (bet * bet) - float(&self.total()).powi(2)
    }
}

pub(super) fn of_ways(symbols: &[u8], ways: &[[Exact; REELS + 1]], model: &Model) -> Vec<Combination> {
    let mut all = Vec::new();
    for (&symbol, ways) in symbols.iter().zip(ways) {
        for (count, chance) in (0u8..=5).zip(ways).rev() {
            let pays = model.ways.pays()[usize::from(symbol)][usize::from(count)];
            if pays > 0 {
                all.push(Combination {
                    symbol,
                    count,
                    rtp: chance * exact(pays) / exact(BET_COINS),
                    chance: chance.clone(),
                });
            }
        }
    }
    all
}

fn coins(symbols: &[u8], ways: &[[Exact; REELS + 1]], model: &Model) -> Exact {
    of_ways(symbols, ways, model).into_iter().map(|of| of.rtp).sum::<Exact>() * exact(BET_COINS)
}

const _: () = assert!(ROWS_MAX == crate::parts::ways::WAYS_ROWS_MAX);
