//! The 40 states of a player between spins: which features are unlocked, and which Potions are on the shelf (WF-06, WF-11,
//! WF-13).

use num_traits::Zero;

use super::model::Model;
use super::moments::{brings, chance, kind, shelves};
use super::potions::{FEATURES, Potion, Shelf};
use crate::contract::par::Exact;

const KEYS: [&str; FEATURES as usize] = ["high_symbols", "random_wilds", "multiplier", "mega_wild"];

pub(super) fn number(shelf: &Shelf) -> u16 {
    let [first, second, unlocked] = shelf.carried();
    let mut potions: Vec<Potion> = [first, second].into_iter().filter_map(Potion::from_number).collect();
    potions.sort_unstable();
    let place = shelves().iter().position(|of| *of == potions).unwrap_or(0);
    u16::try_from(unlocked).unwrap_or(1) * 10 + u16::try_from(place).unwrap_or(0)
}

pub(super) fn chances(model: &Model, state: u16) -> Vec<(&'static str, Exact)> {
    let (unlocked, shelves) = (usize::from(state / 10), shelves());
    let shelf = shelves.get(usize::from(state % 10)).cloned().unwrap_or_default();
    let (brings, mut triggered, mut none) = (brings(model), KEYS.map(|_| Exact::zero()), Exact::zero());
    for (a, p) in &brings {
        for (b, q) in &brings {
            for (c, r) in &brings {
                let potions = shelf.iter().copied().chain([a, b, c].into_iter().copied().flatten());
                let Some(three) = potions.collect::<Vec<_>>().first_chunk::<3>().copied() else { continue };
                match triggered.get_mut(kind(&three)).filter(|_| kind(&three) < unlocked) {
                    Some(feature) => *feature += p * q * r,
                    None => none += p * q * r,
                }
            }
        }
    }
    KEYS.into_iter().zip(triggered).chain([("explosion", none * chance(model.explosion))]).collect()
}
