//! Bonus wheel. The jackpot's weight is proportional to the coins staked (BW-15).
//!
//! Each staked coin takes twice `jackpot_per_coin` from the weight of the lowest money prize. Half of this goes to the
//! jackpot, half to the prize that pays twice the lowest. Neither the total weight nor the mean money prize changes.

use crate::contract::draws::Draws;
use crate::contract::info::PrizeInfo;
use crate::parts::data::{PrizeData, WheelData};
use crate::parts::file::ModelError;

#[derive(Clone, Debug)]
pub struct Wheel {
    prizes: Vec<(PrizeInfo, u64)>,
    total: u64,
    per_coin: u64,
    gives: usize,
    takes: usize,
}

impl Wheel {
    pub fn new(data: &WheelData, coins_max: u64) -> Result<Self, ModelError> {
        let bad = |what: &str| ModelError::part("wheel", what);
        let prizes = data.prizes.iter().map(prize).collect::<Result<Vec<_>, _>>()?;
        let total = prizes.iter().try_fold(0u64, |sum, p| sum.checked_add(p.1));
        let total = total.filter(|&t| t > 0).ok_or_else(|| bad("the sum of the weights is 0 or too large"))?;
        let multiples = prizes.iter().filter_map(|(p, _)| match p {
            PrizeInfo::Multiple(m) => Some(*m),
            _ => None,
        });
        let lowest = multiples.min().ok_or_else(|| bad("the wheel has no money prize"))?;
        let place = |multiple| prizes.iter().position(|p| p.0 == PrizeInfo::Multiple(multiple));
        let gives = place(lowest).ok_or_else(|| bad("the wheel has no money prize"))?;
        let takes = lowest.checked_mul(2).and_then(place);
        let takes = takes.ok_or_else(|| bad("no money prize of the wheel is twice the lowest money prize"))?;
        let traded = data.jackpot_per_coin.checked_mul(2).and_then(|w| w.checked_mul(coins_max));
        if traded.is_none_or(|w| w > prizes[gives].1) {
            return Err(bad(
                "the weight of the lowest money prize is less than twice the jackpot's weight, which is subtracted",
            ));
        }
        Ok(Self { prizes, total, per_coin: data.jackpot_per_coin, gives, takes })
    }

    /// `coins` is the number of coins staked, or 0 while the pool is closed.
    #[inline]
    pub fn turn(&self, coins: u64, draws: &mut Draws) -> PrizeInfo {
        let mut place = draws.below_u64(self.total);
        for (prize, weight) in self.weights(coins) {
            match place.checked_sub(weight) {
                None => return prize,
                Some(rest) => place = rest,
            }
        }
        self.prizes[self.gives].0
    }

    pub fn weights(&self, coins: u64) -> impl Iterator<Item = (PrizeInfo, u64)> {
        let jackpot = self.per_coin * coins;
        let traded = self.prizes.iter().enumerate().map(move |(place, &(prize, weight))| {
            let weight = if place == self.gives {
                weight - 2 * jackpot
            } else if place == self.takes {
                weight + jackpot
            } else {
                weight
            };
            (prize, weight)
        });
        std::iter::once((PrizeInfo::Jackpot, jackpot)).chain(traded)
    }

    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    #[must_use]
    pub fn per_coin(&self) -> u64 {
        self.per_coin
    }
}

fn prize(data: &PrizeData) -> Result<(PrizeInfo, u64), ModelError> {
    let prize = match (data.multiple, data.free_spins) {
        (Some(multiple), None) => PrizeInfo::Multiple(multiple),
        (None, Some(spins)) => PrizeInfo::FreeSpins(spins),
        _ => return Err(ModelError::part("wheel", "a prize must be either money or free spins")),
    };
    Ok((prize, data.weight))
}
