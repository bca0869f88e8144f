use super::model::Model;
use super::moments::{Amount, Window};
use crate::contract::highest_win::HighestWin;
use crate::contract::par::exact;
use crate::contract::stake::{Stake, StakeRefused};
use crate::math::highest::{FreeSpin, exponent};
use crate::math::moments;

pub(super) fn win(model: &Model, stake: &Stake) -> Result<HighestWin, StakeRefused> {
    model.limits.check(stake)?;
    let (windows, lines) = (&model.windows, exact(stake.lines));
    let (window, amount) = (Window::new(model, 1), Amount::new(&model.objects));
    let multiplier = exact(model.multiplier);
    let highest = exact(moments::max_win(windows, stake.lines).0) / &lines;
    let treasure = exact(model.treasures.picks_max().saturating_mul(model.objects.highest())) / &lines;
    let awards = &windows.scatters.free_spins;
    let cycle = windows.reels.cycle() as f64;
    let counts = moments::by_specials(windows);
    let chances = counts.iter().map(|row| row.iter().sum::<u64>() as f64 / cycle);
    let spin = FreeSpin {
        most: &multiplier * &highest + &treasure,
        mean: &multiplier * &window.lines + &window.scatter + &window.objects * &amount.mean,
        awards: awards.iter().copied().zip(chances).filter(|&(spins, chance)| spins > 0 && chance > 0.0).collect(),
    };
    let awarded = awards.iter().max().copied().unwrap_or(0);
    let chance_exponent = exponent(spin.log_chance_of_most(awarded));
    Ok(HighestWin::new(highest + treasure + exact(awarded) * &spin.most, chance_exponent, true))
}
