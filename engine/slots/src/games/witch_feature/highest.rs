//! The highest win of a round of Witch Feature, its "win up to" (WF-04): the highest window of the paid spin and of the
//! feature that it triggers, then free spins whose every window and feature is the highest. Free spins win free spins
//! without limit.

use num_traits::ToPrimitive;

use super::model::Model;
use super::moments::{Means, chance, highest_window, shows_free_spins};
use crate::contract::highest_win::HighestWin;
use crate::contract::par::exact;
use crate::contract::stake::{Stake, StakeRefused};
use crate::math::highest::{FreeSpin, exponent};
use crate::math::moments;
use crate::parts::windows::Windows;

pub(super) fn of(model: &Model, stake: &Stake) -> Result<HighestWin, StakeRefused> {
    model.limits.check(stake)?;
    let means = Means::of(model);
    let most = |of: &Windows| exact(moments::max_win(of, stake.lines).0) / exact(stake.lines);
    // A window of a feature shows at most Wilds alone; what is multiplied is times the highest multiplier.
    let feature = highest_window(model);
    let (first, last) = (shows_free_spins(&model.free, 0), shows_free_spins(&model.free, 4));
    let both = &first * &last;
    let one = &first + &last - &both - &both;
    let float = |of: &crate::contract::par::Exact| of.to_f64().unwrap_or(1.0);
    let awards = &model.free.scatters.free_spins;
    let spin = FreeSpin {
        most: most(&model.free) + &feature,
        mean: &means.free + chance(model.free_feature_chance) * &means.free_feature,
        awards: vec![(awards[1], float(&one)), (awards[2], float(&both))],
    };
    Ok(HighestWin {
        bets: most(&model.base) + &feature + exact(model.free_spins) * &spin.most,
        chance_exponent: exponent(spin.log_chance_of_most(model.free_spins)),
        unlimited: true,
    })
}
