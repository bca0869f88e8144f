use num_traits::ToPrimitive;

use super::model::{DOUBLES_MAX, Model};
use super::moments::{WheelMoments, Window};
use crate::contract::highest_win::{GambleTop, HighestWin};
use crate::contract::info::PrizeInfo;
use crate::contract::par::exact;
use crate::contract::stake::{Stake, StakeRefused};
use crate::math::highest::{FreeSpin, exponent};
use crate::math::moments;

pub(super) fn win(model: &Model, stake: &Stake) -> Result<HighestWin, StakeRefused> {
    let bet_coins = u64::from(model.limits.check(stake)?);
    let windows = &model.windows;
    // One line suffices: the mean line win per bet and the number of scatters are the same for all numbers of lines.
    let table = moments::spin_table(windows, 1);
    let (window, wheel) = (Window::new(model, &table, 1), WheelMoments::new(model, bet_coins));
    let (mut money, mut spins) = (0, 0);
    let mut prizes = Vec::new();
    for (prize, weight) in model.wheel.weights(bet_coins) {
        match prize {
            PrizeInfo::Multiple(multiple) => money = money.max(multiple),
            PrizeInfo::FreeSpins(won) => {
                spins = spins.max(won);
                prizes.push((won, (exact(weight) / exact(model.wheel.total())).to_f64().unwrap_or(1.0)));
            }
            PrizeInfo::Jackpot => {}
        }
    }
    let awards = awards(model, &table.windows, &prizes);
    let highest = exact(moments::max_win(windows, stake.lines).0) / exact(stake.lines);
    let multiplier = exact(model.multiplier);
    let spin = FreeSpin {
        most: &multiplier * &highest + exact(money),
        mean: &multiplier * &window.lines + &window.scatter + &window.bonus * &wheel.money,
        awards,
    };
    let awarded = spins + windows.scatters.free_spins.iter().max().copied().unwrap_or(0);
    let chance_exponent = exponent(spin.log_chance_of_most(awarded));
    // `highest` also includes scatter wins, which cannot be gambled, so `highest` is an upper bound of the gambled win.
    let gamble = Some(GambleTop::Lines { bets: highest.clone(), turns: DOUBLES_MAX });
    Ok(HighestWin { gamble, ..HighestWin::new(highest + exact(awarded) * &spin.most, chance_exponent, true) })
}

fn awards<const N: usize>(model: &Model, windows: &[[u64; N]; N], prizes: &[(u32, f64)]) -> Vec<(u32, f64)> {
    let cycle = model.windows.reels.cycle() as f64;
    let mut awards = Vec::new();
    for (row, &spins) in windows.iter().zip(&model.windows.scatters.free_spins) {
        for (bonuses, &count) in row.iter().enumerate() {
            let chance = count as f64 / cycle;
            if bonuses < usize::from(model.windows.bonus_needs) {
                awards.push((spins, chance));
                continue;
            }
            let won: f64 = prizes.iter().map(|of| of.1).sum();
            awards.push((spins, chance * (1.0 - won)));
            awards.extend(prizes.iter().map(|&(more, of)| (spins + more, chance * of)));
        }
    }
    awards.retain(|&(spins, chance)| spins > 0 && chance > 0.0);
    awards
}
