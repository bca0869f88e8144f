//! Picks of hidden amounts: a run of one symbol from the first reel on a line starts one, and the player picks as many
//! objects as the run is long (NP-09 to NP-12).
//!
//! The value of every object is drawn when the pick starts, so no choice changes it and a replay shows the same.
//! Finding the lines costs a few masks a window, as in [`crate::parts::lines`]; nothing replaces the symbol.

use serde::Deserialize;

use crate::contract::draws::Draws;
use crate::contract::outcome::{PickOffer, Reveal};
use crate::parts::file::ModelError;
use crate::parts::lines::LineMask;
use crate::parts::reels::{REELS, Reels};

/// Symbols from the first reel on that start a pick (NP-09).
pub const NEEDS: u8 = 3;
/// Most objects to choose from.
pub const OBJECTS_MAX: usize = 16;

/// Finds the lines that start with a run of one symbol.
#[derive(Clone, Debug)]
pub struct LineRuns {
    /// For each reel and stop: the lines on which the symbol stands.
    masks: [Vec<LineMask>; REELS],
}

impl LineRuns {
    /// Compiles the runs of `symbol` on lines of these rows.
    #[must_use]
    pub fn new(reels: &Reels, rows: &[[u8; REELS]], symbol: u8) -> Self {
        let masks = std::array::from_fn(|reel| {
            let stands = |column: &[u8]| {
                let line_of = |(line, rows): (usize, &[u8; REELS])| {
                    LineMask::from(column[usize::from(rows[reel])] == symbol) << line
                };
                rows.iter().enumerate().map(line_of).fold(0, |all, one| all | one)
            };
            reels.columns(reel).iter().map(|column| stands(column)).collect()
        });
        Self { masks }
    }

    /// The most objects that the lines of one window let pick, over all windows. Tries every window of the first three
    /// reels that can start a pick, with the longest runs that the other two can make of it: at least what any window
    /// awards, and exactly that where a line's run is the only one.
    #[must_use]
    pub fn picks_max(&self) -> u64 {
        let masks = |reel: usize| {
            let mut masks = self.masks[reel].clone();
            masks.retain(|&mask| mask != 0);
            masks.sort_unstable();
            masks.dedup();
            masks
        };
        let last = |reel: usize, three: LineMask| {
            masks(reel).into_iter().map(|mask| (mask & three).count_ones()).max().unwrap_or(0)
        };
        let (first, second, third) = (masks(0), masks(1), masks(2));
        let pairs = first.iter().flat_map(|a| second.iter().map(move |b| a & b)).filter(|&two| two != 0);
        let threes = pairs.flat_map(|two| third.iter().map(move |c| two & c)).filter(|&three| three != 0);
        let picks = |three: LineMask| {
            u64::from(NEEDS) * u64::from(three.count_ones()) + u64::from(last(3, three)) + u64::from(last(4, three))
        };
        threes.map(picks).max().unwrap_or(0)
    }

    /// The runs of at least [`NEEDS`] at these stops on the lines played: how long each is, in the order of the lines.
    #[inline]
    pub fn at(&self, stops: &[u16], played: LineMask) -> impl Iterator<Item = u8> + use<> {
        let mut on = [0; REELS];
        for ((on, masks), &stop) in on.iter_mut().zip(&self.masks).zip(stops) {
            *on = masks.get(usize::from(stop)).copied().unwrap_or(0);
        }
        let three = on[0] & on[1] & on[2] & played;
        let four = three & on[3];
        let five = four & on[4];
        let mut rest = three;
        std::iter::from_fn(move || {
            let line = rest & rest.wrapping_neg();
            rest ^= line;
            (line != 0).then(|| NEEDS + u8::from(four & line != 0) + u8::from(five & line != 0))
        })
    }
}

/// The objects as a data file lists them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PicksData {
    /// Objects to choose from.
    pub objects: u8,
    /// The most that all objects picked may hold together, times the coins of the line.
    pub max_coins: u64,
    /// Which picks those are.
    #[serde(default)]
    pub max_coins_of: MaxOf,
    /// The values that an object may hold.
    pub amounts: Vec<AmountData>,
}

/// The picks that a highest amount is for (NP-11).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MaxOf {
    /// Those that one line awards, as in version 1.0.
    #[default]
    Line,
    /// Those that all lines of one spin award.
    Spin,
}

/// The values that an object may hold.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AmountData {
    /// Times the coins of the line.
    pub coins: u64,
    /// Weight among all amounts.
    pub weight: u64,
}

/// Objects, each of which hides an amount of its own.
#[derive(Clone, Debug)]
pub struct Objects {
    count: u8,
    amounts: Vec<(u64, u64)>,
    total: u64,
    max_coins: u64,
}

impl Objects {
    /// Compiles the objects.
    ///
    /// # Errors
    /// Too few or too many, no weights or too large ones, or amounts of which [`REELS`] exceed `max_coins` (NP-11).
    pub fn new(data: &PicksData) -> Result<Self, ModelError> {
        let bad = |what: &str| ModelError::part("treasure", what);
        if !(REELS..=OBJECTS_MAX).contains(&usize::from(data.objects)) {
            return Err(bad("the objects are fewer than the reels, or too many"));
        }
        let total = data.amounts.iter().try_fold(0u64, |sum, of| sum.checked_add(of.weight));
        let total = total.filter(|&t| t > 0).ok_or_else(|| bad("no weights, or too large"))?;
        let highest = data.amounts.iter().map(|of| of.coins).max().unwrap_or(0);
        if highest.checked_mul(REELS as u64).is_none_or(|most| most > data.max_coins) {
            return Err(bad("five of the highest amount are more than may be won"));
        }
        let amounts = data.amounts.iter().map(|of| (of.coins, of.weight)).collect();
        Ok(Self { count: data.objects, amounts, total, max_coins: data.max_coins })
    }

    /// How many there are to choose from.
    #[must_use]
    pub fn count(&self) -> u8 {
        self.count
    }

    /// The amounts with their weights.
    #[must_use]
    pub fn amounts(&self) -> &[(u64, u64)] {
        &self.amounts
    }

    /// The most that a pick may win, times the coins of the line.
    #[must_use]
    pub fn max_coins(&self) -> u64 {
        self.max_coins
    }

    /// The highest amount of an object.
    #[must_use]
    pub fn highest(&self) -> u64 {
        self.amounts.iter().map(|(coins, _)| *coins).max().unwrap_or(0)
    }

    /// Hides an amount in each object: the pick of a run of so many symbols.
    pub fn hide(&self, needs: u8, coins_per_line: u64, draws: &mut Draws) -> Pick {
        let mut hidden = [0; OBJECTS_MAX];
        for coins in hidden.iter_mut().take(usize::from(self.count)) {
            *coins = self.draw(draws) * coins_per_line;
        }
        Pick { offer: PickOffer { needs, of: self.count }, hidden }
    }

    fn draw(&self, draws: &mut Draws) -> u64 {
        let mut place = draws.below_u64(self.total);
        for &(coins, weight) in &self.amounts {
            match place.checked_sub(weight) {
                None => return coins,
                Some(rest) => place = rest,
            }
        }
        0 // Never: the place is below the sum of the weights.
    }
}

/// A pick that waits for the player: what each object hides is fixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pick {
    offer: PickOffer,
    hidden: [u64; OBJECTS_MAX],
}

impl Pick {
    /// The pick that the player is asked for.
    #[must_use]
    pub fn offer(&self) -> PickOffer {
        self.offer
    }

    /// The values of the picked objects, in the order picked.
    pub fn reveal(&self, picked: &[u8]) -> impl Iterator<Item = Reveal> {
        picked.iter().map(|&object| self.held(object))
    }

    /// The values of the objects that were not picked, by number.
    pub fn unopened(&self, picked: &[u8]) -> impl Iterator<Item = Reveal> {
        (0..self.offer.of).filter(|object| !picked.contains(object)).map(|object| self.held(object))
    }

    fn held(&self, object: u8) -> Reveal {
        Reveal { object, coins: self.hidden.get(usize::from(object)).copied().unwrap_or(0) }
    }
}
