//! Crystals collected over many rounds, with their coin values (DM-11 to DM-15). The free crystals of a new player have
//! no coin value.

use serde::Deserialize;

use crate::contract::carried::{Carried, CarriedScope, Carries};
use crate::contract::outcome::MeanCoin;
use crate::parts::expansion::CRYSTALS;

pub const KEYS: [&str; 10] = [
    "green",
    "yellow",
    "blue",
    "red",
    "green_micros",
    "yellow_micros",
    "blue_micros",
    "red_micros",
    "red_gifted",
    "given",
];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GiftTo {
    /// A player gets the free red crystals once per currency, as in version 1.0 of the game's rules.
    #[default]
    Currency,
    /// A player gets the free red crystals once in real money, and once in play money.
    Player,
}

impl GiftTo {
    #[must_use]
    pub fn carries(self) -> Carries {
        let shared: &[&str] = match self {
            Self::Currency => &[],
            Self::Player => &["given"],
        };
        Carries { keys: &KEYS, scope: CarriedScope::Currency, shared }
    }
}

pub const GIFT_COLOUR: usize = 3;

const MICROS: usize = CRYSTALS;
const GIFTED: usize = 2 * CRYSTALS;
const GIVEN: usize = GIFTED + 1;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collections {
    crystals: [u64; CRYSTALS],
    micros: [u64; CRYSTALS],
    gifted: u64,
    given: bool,
}

impl Collections {
    #[must_use]
    pub fn from_carried(carried: &Carried) -> Self {
        let figure = |place: usize| u64::try_from(carried.0[place]).unwrap_or(0);
        Self {
            crystals: std::array::from_fn(figure),
            micros: std::array::from_fn(|colour| figure(MICROS + colour)),
            gifted: figure(GIFTED),
            given: figure(GIVEN) > 0,
        }
    }

    #[must_use]
    pub fn carried(&self) -> Carried {
        let mut carried = Carried::default();
        let figures = self.crystals.iter().chain(&self.micros).copied().chain([self.gifted, u64::from(self.given)]);
        for (place, figure) in carried.0.iter_mut().zip(figures) {
            *place = i64::try_from(figure).unwrap_or(i64::MAX);
        }
        carried
    }

    /// Adds the free red crystals of a new player, unless the player received them before (DM-14).
    pub fn give(&mut self, crystals: u64) {
        if !self.given {
            self.given = true;
            self.gifted = crystals;
            self.crystals[GIFT_COLOUR] = self.crystals[GIFT_COLOUR].saturating_add(crystals);
        }
    }

    /// For each colour, reverts a voided round's change from `before` to `after` (PL-04). Completed collections and spent
    /// free crystals are not reverted. Each colour keeps fewer than `needs` crystals. `coins` (lowest, highest)
    /// limits their mean coin value. Without `coins`, the means of `self`, `before` and `after` limit it.
    #[must_use]
    pub fn without(&self, before: &Self, after: &Self, needs: u64, coins: Option<(u64, u64)>) -> Self {
        let mut after = *after;
        if after.given && !before.given && self.gifted != after.gifted {
            after.crystals[GIFT_COLOUR] = after.crystals[GIFT_COLOUR].saturating_sub(after.gifted);
            (after.gifted, after.given) = (0, false);
        }
        let undone = |now: u64, before: u64, after: u64| now.saturating_add(before).saturating_sub(after);
        let mut left = *self;
        left.given = self.given && (before.given || !after.given);
        left.gifted = undone(self.gifted, before.gifted, after.gifted);
        for colour in 0..CRYSTALS {
            let crystals = undone(self.crystals[colour], before.crystals[colour], after.crystals[colour]);
            left.crystals[colour] = crystals.min(needs.saturating_sub(1));
            if colour == GIFT_COLOUR {
                left.gifted = left.gifted.min(left.crystals[colour]);
            }
            let own = left.crystals[colour].saturating_sub(if colour == GIFT_COLOUR { left.gifted } else { 0 });
            let micros = undone(self.micros[colour], before.micros[colour], after.micros[colour]);
            left.micros[colour] = match coins {
                Some((lowest, highest)) => micros.max(lowest.saturating_mul(own)).min(highest.saturating_mul(own)),
                None if crystals < needs && self.holds(&after, colour) => micros,
                None => within_means(micros, own, [self, before, &after].map(|of| of.own(colour))),
            };
        }
        left
    }

    fn holds(&self, other: &Self, colour: usize) -> bool {
        let ((crystals, micros), (of, sum)) = (self.own(colour), other.own(colour));
        if crystals == of { micros == sum } else { crystals > of && micros > sum }
    }

    fn own(&self, colour: usize) -> (u64, u64) {
        let gifted = if colour == GIFT_COLOUR { self.gifted } else { 0 };
        (self.crystals[colour].saturating_sub(gifted), self.micros[colour])
    }

    /// If the crystal completes its colour's collection, empties the collection and returns the mean coin value of its
    /// crystals (DM-12).
    pub fn collect(&mut self, colour: usize, needs: u64, coin_micros: u64) -> Option<MeanCoin> {
        let crystals = self.crystals[colour].saturating_add(1);
        let micros = self.micros[colour].saturating_add(coin_micros);
        if crystals < needs {
            (self.crystals[colour], self.micros[colour]) = (crystals, micros);
            return None;
        }
        let gifted = if colour == GIFT_COLOUR { std::mem::take(&mut self.gifted) } else { 0 };
        (self.crystals[colour], self.micros[colour]) = (0, 0);
        Some(MeanCoin { sum_micros: micros, count: crystals.saturating_sub(gifted).max(1) })
    }
}

fn within_means(micros: u64, own: u64, of: [(u64, u64); 3]) -> u64 {
    let sums = || of.iter().filter(|(crystals, _)| *crystals > 0);
    let lowest = sums().map(|(crystals, sum)| sum.saturating_mul(own).div_ceil(*crystals)).min();
    let highest = sums().map(|(crystals, sum)| sum.saturating_mul(own) / crystals).max();
    micros.max(lowest.unwrap_or(0)).min(highest.unwrap_or(0))
}
