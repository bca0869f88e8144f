//! Treasure objects with hidden amounts (NP-09 to NP-12). A run of N Treasure symbols on a line lets the player pick N
//! objects. The amounts are drawn before the player picks.

use serde::Deserialize;

use crate::contract::draws::Draws;
use crate::contract::outcome::{PickOffer, Reveal};
use crate::parts::file::ModelError;
use crate::parts::lines::LineMask;
use crate::parts::reels::{REELS, Reels};

pub const NEEDS: u8 = 3;
pub const OBJECTS_MAX: usize = 16;

/// Runs of one symbol on lines. A Wild does not extend a run.
#[derive(Clone, Debug)]
pub struct LineRuns {
    masks: [Vec<LineMask>; REELS],
}

impl LineRuns {
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

    /// Returns the length of each run of at least [`NEEDS`] symbols on the played lines.
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

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PicksData {
    pub objects: u8,
    /// Limit on the sum of picks, per line or spin (`max_coins_of`), as a multiple of the coins per line. A model whose
    /// picks could exceed it is refused.
    pub max_coins: u64,
    #[serde(default)]
    pub max_coins_of: MaxOf,
    pub amounts: Vec<AmountData>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MaxOf {
    #[default]
    Line,
    Spin,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AmountData {
    /// Coins won, as a multiple of the coins per line.
    pub coins: u64,
    pub weight: u64,
}

#[derive(Clone, Debug)]
pub struct Objects {
    count: u8,
    amounts: Vec<(u64, u64)>,
    total: u64,
    max_coins: u64,
}

impl Objects {
    pub fn new(data: &PicksData) -> Result<Self, ModelError> {
        let bad = |what: &str| ModelError::part("treasure", what);
        if !(REELS..=OBJECTS_MAX).contains(&usize::from(data.objects)) {
            return Err(bad("the number of treasure objects is below the number of reels, or too high"));
        }
        let total = data.amounts.iter().try_fold(0u64, |sum, of| sum.checked_add(of.weight));
        let total = total.filter(|&t| t > 0).ok_or_else(|| bad("the sum of the weights is 0 or too large"))?;
        let highest = data.amounts.iter().map(|of| of.coins).max().unwrap_or(0);
        if highest.checked_mul(REELS as u64).is_none_or(|most| most > data.max_coins) {
            return Err(bad("five treasure objects with the highest amount would win more than the maximum"));
        }
        let amounts = data.amounts.iter().map(|of| (of.coins, of.weight)).collect();
        Ok(Self { count: data.objects, amounts, total, max_coins: data.max_coins })
    }

    #[must_use]
    pub fn count(&self) -> u8 {
        self.count
    }

    #[must_use]
    pub fn amounts(&self) -> &[(u64, u64)] {
        &self.amounts
    }

    #[must_use]
    pub fn max_coins(&self) -> u64 {
        self.max_coins
    }

    #[must_use]
    pub fn highest(&self) -> u64 {
        self.amounts.iter().map(|(coins, _)| *coins).max().unwrap_or(0)
    }

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
        0
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pick {
    offer: PickOffer,
    hidden: [u64; OBJECTS_MAX],
}

impl Pick {
    #[must_use]
    pub fn offer(&self) -> PickOffer {
        self.offer
    }

    pub fn reveal(&self, picked: &[u8]) -> impl Iterator<Item = Reveal> {
        picked.iter().map(|&object| self.content(object))
    }

    pub fn unopened(&self, picked: &[u8]) -> impl Iterator<Item = Reveal> {
        (0..self.offer.of).filter(|object| !picked.contains(object)).map(|object| self.content(object))
    }

    fn content(&self, object: u8) -> Reveal {
        Reveal { object, coins: self.hidden.get(usize::from(object)).copied().unwrap_or(0) }
    }
}
