//! Highest win of a round: the sum of the highest wins of paid spin, free spins and collections. The win of a collection
//! also depends on the coin values of earlier rounds (DM-12, PL-43).

use num_traits::Zero;

use super::model::Model;
use super::moments::{FreeSpin, Returns, highest_free_spin};
use super::paid_spin::PaidSpin;
use crate::contract::highest_win::{CollectedTop, HighestWin, TopWindows};
use crate::contract::par::{Exact, exact, ratio};
use crate::contract::stake::{Stake, StakeRefused};
use crate::math::highest::{exponent, log_chance};

pub(super) fn win(returns: &Returns<'_>, stake: &Stake) -> Result<HighestWin, StakeRefused> {
    let model = returns.model;
    let bet_coins = u64::from(model.limits.check(stake)?);
    let (free, chance) = highest_free_spin(model, &model.free, model.regular());
    let free = top(model.free_spins, (free, chance), &returns.free);
    let collected = model.collection.iter().enumerate().map(|(colour, reels)| {
        let symbols = std::iter::once(model.super_high[colour]).chain(model.regular()).collect();
        top(model.collection_spins, highest_free_spin(model, reels, symbols), &returns.collection[colour])
    });
    let collected: Vec<TopWindows> = collected.collect();
    let own = vec![paid(model, &returns.paid, &free, &collected), free];
    let all = own.iter().chain(&collected);
    let coins: Exact = all.clone().map(|of| exact(of.windows) * exact(of.coins)).sum();
    let log: f64 = all.map(|of| f64::from(of.windows) * of.log_chance).sum();
    let collected = Some(CollectedTop { own, collected, earlier: model.needs - 1 });
    Ok(HighestWin { collected, ..HighestWin::new(coins / exact(bet_coins), exponent(log), false) })
}

fn paid(model: &Model, paid: &PaidSpin, free: &TopWindows, collected: &[TopWindows]) -> TopWindows {
    let shows = &paid.shows[3][model.crystals.len()].chance;
    let (coins, chance) = PaidSpin::highest_complete(model);
    let least = collected.iter().chain([free]).map(|of| of.coins * u64::from(of.windows)).min().unwrap_or(0);
    let (coins, chance) = match coins + least >= paid.highest && !chance.is_zero() {
        true => (coins, chance),
        false => (paid.highest, shows.clone()),
    };
    TopWindows { windows: 1, coins, log_chance: log_chance(&chance), log_chance_rounded: log_chance(shows) }
}

/// Lower wins that round to the same amount are at least three quarters of the highest win. By Markov's inequality,
/// `log_chance_rounded` bounds the probability of such a win.
fn top(windows: u32, (coins, chance): (u64, Exact), of: &FreeSpin) -> TopWindows {
    let nearly = (&of.coins * ratio(4, 3) / exact(coins.max(1))).min(exact(1));
    TopWindows { windows, coins, log_chance: log_chance(&chance), log_chance_rounded: log_chance(&nearly) }
}
