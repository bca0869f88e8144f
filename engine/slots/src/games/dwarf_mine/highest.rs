//! The highest win of a round of Dwarf Mine: every window of the paid spin, of its free spins and of the collections of
//! all four colours at its highest. All crystals are taken as collected at the bet's own coin value.

use super::model::Model;
use super::moments::{Returns, highest_free_spin};
use crate::contract::highest_win::HighestWin;
use crate::contract::par::exact;
use crate::contract::stake::{Stake, StakeRefused};
use crate::math::highest::{exponent, log_chance};

pub(super) fn of(model: &Model, stake: &Stake) -> Result<HighestWin, StakeRefused> {
    let bet_coins = u64::from(model.limits.check(stake)?);
    let paid = Returns::of(model).paid;
    let (free, chance) = highest_free_spin(model, &model.free, model.regular());
    let mut coins = exact(paid.highest) + exact(model.free_spins) * exact(free);
    // No round wins as much unless each of these windows is the highest.
    let mut log = log_chance(&paid.bonuses(3)) + f64::from(model.free_spins) * log_chance(&chance);
    for (colour, reels) in model.collection.iter().enumerate() {
        let symbols = std::iter::once(model.super_high[colour]).chain(model.regular()).collect();
        let (highest, chance) = highest_free_spin(model, reels, symbols);
        coins += exact(model.collection_spins) * exact(highest);
        log += f64::from(model.collection_spins) * log_chance(&chance);
    }
    Ok(HighestWin { bets: coins / exact(bet_coins), chance_exponent: exponent(log), unlimited: false })
}
