//! The highest win of a round of Dwarf Mine: the highest window of a paid spin that shows three Bonus symbols and all four
//! crystals, its free spins, and the Collection Free Spins of all four colours, each window at its highest. This round
//! is possible: crystals of each colour are carried until one is missing, and windows are drawn independently.
//!
//! Collection Free Spins are paid at the mean of the coin values of their crystals (DM-12), so the win in bets depends on
//! the coin value at which the others were collected (PL-43).

use num_traits::Zero;

use super::model::Model;
use super::moments::{FreeSpin, Returns, highest_free_spin};
use super::paid_spin::PaidSpin;
use crate::contract::highest_win::{CollectedTop, HighestWin, TopWindows};
use crate::contract::par::{Exact, exact, ratio};
use crate::contract::stake::{Stake, StakeRefused};
use crate::math::highest::{exponent, log_chance};

pub(super) fn of(model: &Model, stake: &Stake) -> Result<HighestWin, StakeRefused> {
    let bet_coins = u64::from(model.limits.check(stake)?);
    let returns = Returns::of(model);
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
    // No round wins as much unless each of these windows is the highest.
    let log: f64 = all.map(|of| f64::from(of.windows) * of.log_chance).sum();
    let collected = Some(CollectedTop { own, collected, earlier: model.needs - 1 });
    Ok(HighestWin { collected, ..HighestWin::new(coins / exact(bet_coins), exponent(log), false) })
}

/// The paid spin's window. A higher one without some of the crystals or Bonus symbols is taken instead only where it
/// could win more than the free spins that it lacks: then the result is a bound.
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

/// So many free spins at their highest. The chance of a window that wins nearly as much is bounded by Markov's
/// inequality: at least three of the four coins that the highest wins.
fn top(windows: u32, (coins, chance): (u64, Exact), of: &FreeSpin) -> TopWindows {
    let nearly = (&of.coins * ratio(4, 3) / exact(coins.max(1))).min(exact(1));
    TopWindows { windows, coins, log_chance: log_chance(&chance), log_chance_rounded: log_chance(&nearly) }
}
