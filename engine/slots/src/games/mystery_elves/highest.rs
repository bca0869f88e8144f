use super::model::{GAMBLES_MAX, Model};
use super::moments::{MIDDLE, OUTER, Window};
use crate::contract::highest_win::{GambleTop, HighestWin};
use crate::contract::par::{Exact, exact, ratio};
use crate::contract::stake::{Stake, StakeRefused};
use crate::math::highest::{exponent, log_chance};
use crate::math::moments;
use crate::parts::gamble::LimitOn;
use crate::parts::hold_and_win::{Bonus, FACTOR_BESIDE_GRAND, FULL_SCREEN, VALUE_MAX};
use crate::parts::weights::Weights;

pub(super) fn win(model: &Model, stake: &Stake) -> Result<HighestWin, StakeRefused> {
    let (bet, cost) = model.check(stake)?;
    let feature = &model.hold_and_win;
    let windows = if stake.buy_feature { &model.bought } else { &model.windows };
    let price = ratio(cost, bet);
    let highest = |of: &[(u32, u32)], beside: bool| {
        of.iter().map(|of| of.0).filter(|&special| (special == feature.grand) == beside).max().unwrap_or(0)
    };
    let options = [false, true].into_iter().flat_map(|grand| (0..=MIDDLE).map(move |factors| (grand, factors)));
    let best = options.map(|(grand, factors)| {
        let special = highest(feature.mysteries.items(), grand);
        let of = if grand { &feature.factors_beside_grand } else { &feature.factors };
        let factor = of.items().iter().map(|of| of.0).max().unwrap_or(1);
        debug_assert!(!grand || factor <= FACTOR_BESIDE_GRAND);
        Filled { special, factor, factors }
    });
    let best = best.max_by_key(Filled::bets).unwrap_or(Filled { special: 0, factor: 1, factors: 0 });
    let lines = exact(moments::max_win(windows, u32::MAX).0) / exact(windows.lines.rows().len());
    let starts = Window::new(windows, feature.symbol).starts(feature.needs);
    let chance_exponent = exponent(log_chance(&starts) + best.log_chance(model));
    let limit_on_result = model.gamble.limit_on == LimitOn::Result;
    let gamble = Some(GambleTop::Win { turns: GAMBLES_MAX, limit_on_result });
    Ok(HighestWin { gamble, ..HighestWin::new((lines + exact(best.bets())) / price, chance_exponent, false) })
}

#[derive(Clone, Copy)]
struct Filled {
    special: u32,
    factor: u32,
    factors: usize,
}

impl Filled {
    fn bets(&self) -> u64 {
        let multiplied = (0..self.factors).fold(1, |product, _| product * u64::from(self.factor));
        let specials = (OUTER + MIDDLE - self.factors) as u64 * u64::from(self.special);
        (specials * multiplied + (OUTER + MIDDLE) as u64 * u64::from(VALUE_MAX)) * u64::from(FULL_SCREEN)
    }

    fn log_chance(&self, model: &Model) -> f64 {
        let feature = &model.hold_and_win;
        let mystery = |bonus: &Bonus| matches!(bonus, Bonus::Mystery(_));
        let special = share(&feature.mysteries, |&bets| bets == self.special);
        let turns = share(&feature.values, |&bets| bets == VALUE_MAX);
        let grand = self.special == feature.grand;
        let factors = if grand { &feature.factors_beside_grand } else { &feature.factors };
        let outer = share(&feature.outer, mystery) * &special * &turns;
        let middle = share(&feature.middle, mystery) * &special * &turns;
        let multiplying = share(&feature.middle, |bonus| matches!(bonus, Bonus::Multiplying(_)))
            * share(factors, |&factor| factor == self.factor)
            * &turns;
        OUTER as f64 * log_chance(&outer)
            + (MIDDLE - self.factors) as f64 * log_chance(&middle)
            + self.factors as f64 * log_chance(&multiplying)
    }
}

fn share<T: Copy>(of: &Weights<T>, so: impl Fn(&T) -> bool) -> Exact {
    let weight: u64 = of.items().iter().filter(|(thing, _)| so(thing)).map(|&(_, weight)| u64::from(weight)).sum();
    ratio(weight, of.total())
}
