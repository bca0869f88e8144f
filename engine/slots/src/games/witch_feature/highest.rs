//! Highest win (WF-04). A spin's window and its feature are drawn independently, so the spin's highest win is the sum of the
//! highest window's win and the highest feature's win.

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

pub(super) fn win(model: &Model, means: &Means, stake: &Stake) -> Result<HighestWin, StakeRefused> {
    model.limits.check(stake)?;
    let most = |of: &Windows, shows: Option<bool>| {
        let stops = |reel: usize, stop: usize| {
            let outer = [0, REELS - 1].contains(&reel);
            shows.is_none_or(|shows| !outer || of.scatters.counter.shows(reel, stop) == shows)
        };
        exact(moments::max_win_at(of, stake.lines, stops).0) / exact(stake.lines)
    };
    debug_assert_eq!(FREE_SPINS_NEED, 2, "two Free Spins symbols are needed, one on reel 1 and one on reel 5");
    let all_wild = exact(model.base.lines.pays()[usize::from(model.wild)][REELS]);
    let multiplied = exact(highest_multiplier(model)) * most(&model.respin, None);
    let paid_feature = all_wild.max(multiplied);
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
    // The highest win requires this series of free spins, so its probability is at most the probability of the series.
    let chance_exponent = exponent(spin.log_chance_of(model.free_spins, &series));
    Ok(HighestWin::new(most(&model.base, Some(true)) + paid_feature + series, chance_exponent, true))
}

fn highest_multiplier(model: &Model) -> u32 {
    model.multipliers.items().iter().map(|&(factor, _)| factor).max().unwrap_or(1)
}
