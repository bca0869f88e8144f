//! The highest win of a round of Witch Feature, its "win up to" (WF-04): the highest window of a paid spin that starts
//! free spins, the highest feature that its Potions can trigger, and free spins that win no more free spins, each with
//! the highest window and followed by the highest feature. This round is possible: a window, the Potions beside it and
//! each feature are drawn independently. Free spins win free spins without limit.

use num_traits::ToPrimitive;

use super::model::{FREE_SPINS_NEED, Model};
use super::moments::{Means, chance, highest_window, shows_free_spins};
use crate::contract::highest_win::HighestWin;
use crate::contract::par::{Exact, exact};
use crate::contract::stake::{Stake, StakeRefused};
use crate::math::highest::{FreeSpin, exponent};
use crate::math::moments;
use crate::parts::reels::REELS;
use crate::parts::windows::Windows;

pub(super) fn of(model: &Model, stake: &Stake) -> Result<HighestWin, StakeRefused> {
    model.limits.check(stake)?;
    let means = Means::of(model);
    let most = |of: &Windows, shows: Option<bool>| {
        let stops = |reel: usize, stop: usize| {
            let outer = [0, REELS - 1].contains(&reel);
            shows.is_none_or(|shows| !outer || of.scatters.counter.shows(reel, stop) == shows)
        };
        exact(moments::max_win_at(of, stake.lines, stops).0) / exact(stake.lines)
    };
    debug_assert_eq!(FREE_SPINS_NEED, 2, "one on each of the outer reels");
    // Wilds alone are the most that any window shows. Of the paid spin's features, the Multiplier pays a window of the
    // respin reels, and a High Symbols Respin can show Wilds alone.
    let all_wild = exact(model.base.lines.pays()[usize::from(model.wild)][REELS]);
    let multiplied = exact(highest_multiplier(model)) * most(&model.respin, None);
    let paid_feature = all_wild.max(multiplied);
    // Free spins' features are multiplied.
    let feature = highest_window(model);
    let (first, last) = (shows_free_spins(&model.free, 0), shows_free_spins(&model.free, 4));
    let both = &first * &last;
    let one = &first + &last - &both - &both;
    let float = |of: &Exact| of.to_f64().unwrap_or(1.0);
    let awards = &model.free.scatters.free_spins;
    let spin = FreeSpin {
        most: most(&model.free, None) + &feature,
        mean: &means.free + chance(model.free_feature_chance) * &means.free_feature,
        awards: vec![(awards[1], float(&one)), (awards[2], float(&both))],
    };
    let series = exact(model.free_spins) * (most(&model.free, Some(false)) + &feature);
    // A round that wins so much has free spins: their share is the threshold of the bound.
    let chance_exponent = exponent(spin.log_chance_of(model.free_spins, &series));
    Ok(HighestWin::new(most(&model.base, Some(true)) + paid_feature + series, chance_exponent, true))
}

fn highest_multiplier(model: &Model) -> u32 {
    model.multipliers.items().iter().map(|&(factor, _)| factor).max().unwrap_or(1)
}
