//! Crystals collected over rounds, and the coin values that they were collected at (DM-11 to DM-15).
//!
//! A collection of a colour completes with so many crystals and then starts again from nothing. Its free spins are
//! played at the mean of the coin values of its crystals; crystals that were a gift carry none and don't count in it.

use serde::Deserialize;

use crate::contract::carried::{Carried, CarriedScope, Carries};
use crate::contract::outcome::MeanCoin;
use crate::parts::expansion::CRYSTALS;

/// The names of the figures carried, in their order.
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

/// Whom the gift is made to once (DM-14).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GiftTo {
    /// A player in each currency, as in version 1.0.
    #[default]
    Currency,
    /// A player, in whatever currency; in play money another time.
    Player,
}

impl GiftTo {
    /// The figures carried, and their scope.
    #[must_use]
    pub fn carries(self) -> Carries {
        let shared: &[&str] = match self {
            Self::Currency => &[],
            Self::Player => &["given"],
        };
        Carries { keys: &KEYS, scope: CarriedScope::Currency, shared }
    }
}

/// The colour of the gift: red.
pub const GIFT_COLOUR: usize = 3;

const MICROS: usize = CRYSTALS;
const GIFTED: usize = 2 * CRYSTALS;
const GIVEN: usize = GIFTED + 1;

/// A player's collections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collections {
    /// Crystals of each colour.
    crystals: [u64; CRYSTALS],
    /// Sum of the coin values that they were collected at, in millionths of the major unit.
    micros: [u64; CRYSTALS],
    /// Crystals among the red that were a gift.
    gifted: u64,
    /// Whether the gift was made.
    given: bool,
}

impl Collections {
    /// From what the player carries; a figure below 0 counts as 0.
    #[must_use]
    pub fn of(carried: &Carried) -> Self {
        let figure = |place: usize| u64::try_from(carried.0[place]).unwrap_or(0);
        Self {
            crystals: std::array::from_fn(figure),
            micros: std::array::from_fn(|colour| figure(MICROS + colour)),
            gifted: figure(GIFTED),
            given: figure(GIVEN) > 0,
        }
    }

    /// As the player carries them.
    #[must_use]
    pub fn carried(&self) -> Carried {
        let mut carried = Carried::default();
        let figures = self.crystals.iter().chain(&self.micros).copied().chain([self.gifted, u64::from(self.given)]);
        for (place, figure) in carried.0.iter_mut().zip(figures) {
            *place = i64::try_from(figure).unwrap_or(i64::MAX);
        }
        carried
    }

    /// Gives a new player so many red crystals, once (DM-14).
    pub fn give(&mut self, crystals: u64) {
        if !self.given {
            self.given = true;
            self.gifted = crystals;
            self.crystals[GIFT_COLOUR] = self.crystals[GIFT_COLOUR].saturating_add(crystals);
        }
    }

    /// The collections without a round that led from `before` to `after` (PL-04). Its differences are undone colour by
    /// colour. A colour keeps fewer than `needs` crystals, and their mean coin value stays within `coins`; where any
    /// coin can be played, it stays within the means that there were.
    ///
    /// A collection that was completed meanwhile stays so: crystals that it used up are not owed, and a colour that the
    /// round itself had completed is put back to one short of complete at the most. The gift is made at the first play,
    /// whichever round that is: it's taken back, to be made again, unless it was used up since.
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
                // These can hold the round's crystals: they are taken out exactly.
                None if crystals < needs && self.holds(&after, colour) => micros,
                None => within_means(micros, own, [self, before, &after].map(|of| of.own(colour))),
            };
        }
        left
    }

    /// True if these can be another's crystals of a colour and some more: as many have the same sum, more a higher one.
    fn holds(&self, other: &Self, colour: usize) -> bool {
        let ((crystals, micros), (of, sum)) = (self.own(colour), other.own(colour));
        if crystals == of { micros == sum } else { crystals > of && micros > sum }
    }

    /// Crystals of a colour that are no gift, and the sum of their coin values.
    fn own(&self, colour: usize) -> (u64, u64) {
        let gifted = if colour == GIFT_COLOUR { self.gifted } else { 0 };
        (self.crystals[colour].saturating_sub(gifted), self.micros[colour])
    }

    /// Adds a crystal collected at a coin value. The one that makes `needs` completes the collection: it starts again
    /// from nothing, and the mean of its crystals' coin values is returned, which its free spins are played at (DM-12).
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

/// A sum of coin values of so many crystals, kept between the lowest and the highest mean of some collections.
fn within_means(micros: u64, own: u64, of: [(u64, u64); 3]) -> u64 {
    let sums = || of.iter().filter(|(crystals, _)| *crystals > 0);
    let lowest = sums().map(|(crystals, sum)| sum.saturating_mul(own).div_ceil(*crystals)).min();
    let highest = sums().map(|(crystals, sum)| sum.saturating_mul(own) / crystals).max();
    micros.max(lowest.unwrap_or(0)).min(highest.unwrap_or(0))
}
