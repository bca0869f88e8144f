//! The first spins of a new player return less than the long-run return, because the player starts with no crystals
//! except some free red crystals (DM-14, PL-43).

use super::model::{BET_COINS, Model};
use super::moments::Returns;
use crate::contract::par::{Condition, ConditionalRtp, Exact, exact};
use crate::math::first_spins::{FIRST_SPINS, Fixed};
use crate::parts::collection::GIFT_COLOUR;
use crate::parts::expansion::CRYSTALS;

pub(super) fn returns(model: &Model, returns: &Returns) -> Vec<ConditionalRtp> {
    let always = returns.base() + returns.free_spins();
    let lands = returns.paid.crystal();
    let completed: [Vec<Exact>; CRYSTALS] = std::array::from_fn(|colour| {
        let start = if colour == GIFT_COLOUR { model.gift } else { 0 };
        completions(&lands, start as usize, model.needs as usize)
    });
    let titles = [
        ("new_player_100", "return of the first 100 spins of a new player, at one coin value"),
        ("new_player_500", "return of the first 500 spins of a new player, at one coin value"),
        ("new_player_1000", "return of the first 1,000 spins of a new player, at one coin value"),
    ];
    let returned = |(place, (key, title)): (usize, (&'static str, &'static str))| {
        let worth = |colour: usize| {
            exact(model.collection_spins) * &returns.collection[colour].coins / exact(BET_COINS)
                * &completed[colour][place]
        };
        let collections: Exact = (0..CRYSTALS).map(worth).sum();
        let (spins, rtp) = (FIRST_SPINS[place], &always + collections / exact(FIRST_SPINS[place]));
        ConditionalRtp { key, title, rtp, condition: Condition::FirstSpins(spins) }
    };
    titles.into_iter().enumerate().map(returned).collect()
}

fn completions(lands: &Exact, start: usize, needs: usize) -> Vec<Exact> {
    let mut crystals = vec![Fixed::zero(); needs];
    crystals[start] = Fixed::one();
    let mut completed = Fixed::zero();
    let (mut at, mut all) = (0, Vec::new());
    for spins in FIRST_SPINS {
        for _ in at..spins {
            let moving: Vec<Fixed> = crystals.iter().map(|share| share.times(lands)).collect();
            completed += &moving[needs - 1];
            for (place, share) in crystals.iter_mut().enumerate() {
                *share -= &moving[place];
                *share += &moving[(place + needs - 1) % needs];
            }
        }
        at = spins;
        all.push(completed.exact());
    }
    all
}
