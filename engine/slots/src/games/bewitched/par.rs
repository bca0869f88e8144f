use num_traits::One;

use super::model::{BASE_LINES, BONUS, FREE_SPINS, Model, PARTS, SCATTER};
use super::moments::{RoundMoments, WheelMoments, Window};
use crate::contract::game::Game;
use crate::contract::info::PrizeInfo;
use crate::contract::par::{Combination, Exact, Par, Rate, ReelSet, ReturnPart, exact, float, ratio};
use crate::contract::pool::{INCREMENTS, SEED};
use crate::contract::stake::{Stake, StakeRefused};
use crate::math::moments;
use crate::parts::file::ModelError;

const JACKPOT_SEED: usize = PARTS.len();

pub(crate) fn par(game: &dyn Game, model: &Model, stake: &Stake) -> Result<Par, StakeRefused> {
    let bet_coins = u64::from(model.limits.check(stake)?);
    let window = Window::new(model, &moments::spin_table(&model.windows, stake.lines), stake.lines);
    let wheel = WheelMoments::new(model, bet_coins);
    let round = RoundMoments::new(model, &window, &wheel);
    let cycle = exact(model.windows.reels.cycle());
    let (max_win, max_windows) = moments::max_win(&model.windows, stake.lines);
    let parts = parts(model, stake, &window, &wheel, &round);
    let rtp_without_jackpot = round.mean.clone();
    Ok(Par {
        game: game.name(),
        rules_version: game.rules_version(),
        model_hash: game.model_hash(),
        bet_coins,
        rtp: &rtp_without_jackpot + &parts[JACKPOT_SEED].rtp,
        rtp_without_jackpot,
        parts,
        hit_frequency: exact(moments::hits(&model.windows, stake.lines)) / &cycle,
        std_dev: float(&round.variance).sqrt(),
        max_win_bets: exact(max_win) / exact(stake.lines),
        max_win_probability: exact(max_windows) / &cycle,
        reel_sets: vec![reel_set(model)],
        rates: rates(model, bet_coins, &window, &wheel, &round),
        conditional_rtps: Vec::new(),
        exactness: "exact fractions",
    })
}

/// It suffices to compute the return for one line: all lines have the same mean win, and the mean money prize does not
/// depend on the stake.
pub fn prove(model: &Model) -> Result<(), ModelError> {
    let window = Window::new(model, &moments::spin_table(&model.windows, 1), 1);
    let wheel = WheelMoments::new(model, 1);
    if window.awarded(&wheel) >= Exact::one() {
        return Err(ModelError::part(
            "free_spins",
            "a free spin must award fewer than one further free spin on average",
        ));
    }
    let round = RoundMoments::new(model, &window, &wheel);
    let promised = ratio(model.rtp_micros, 1_000_000);
    if round.mean != promised {
        return Err(ModelError::Return { actual: round.mean.to_string(), promised: promised.to_string() });
    }
    let chance = &round.bonuses * &wheel.jackpot;
    if chance != ratio(1, model.jackpot.odds) {
        let promised_odds = model.jackpot.odds;
        return Err(ModelError::JackpotChance { actual: chance.to_string(), promised_odds });
    }
    Ok(())
}

#[must_use]
pub fn parts(
    model: &Model,
    stake: &Stake,
    window: &Window,
    wheel: &WheelMoments,
    round: &RoundMoments,
) -> Vec<ReturnPart> {
    let jackpot = &model.jackpot;
    let bet_coins = exact(stake.lines) * exact(stake.coins_per_line);
    let share = ratio(stake.coin_value_micros, jackpot.base_coin_micros);
    vec![
        ReturnPart { name: PARTS[BASE_LINES], rtp: window.lines.clone() },
        ReturnPart { name: PARTS[SCATTER], rtp: window.scatter.clone() },
        ReturnPart { name: PARTS[BONUS], rtp: &window.bonus * &wheel.money },
        ReturnPart { name: PARTS[FREE_SPINS], rtp: round.mean_in_free_spins.clone() },
        ReturnPart { name: SEED, rtp: &round.bonuses * &wheel.jackpot * exact(jackpot.seed_coins) / bet_coins },
        ReturnPart { name: INCREMENTS, rtp: ratio(jackpot.contribution_micros, 1_000_000) * share },
    ]
}

fn rates(model: &Model, coins: u64, window: &Window, wheel: &WheelMoments, round: &RoundMoments) -> Vec<Rate> {
    let mut rates = vec![
        Rate::new("bonus", "chance of a bonus per paid or free spin", window.bonus.clone()),
        Rate::new(
            "scatter_free_spins",
            "chance of free spins started by scatters, per paid or free spin",
            window.scatter_trigger.clone(),
        ),
        Rate::new(
            "bonuses_per_paid_spin",
            "mean number of bonuses per paid spin, including its free spins",
            round.bonuses.clone(),
        ),
        Rate::new("free_spins_per_paid_spin", "mean number of free spins per paid spin", round.free_spins.clone()),
        Rate::new("jackpot", "mean number of jackpots per paid spin", &round.bonuses * &wheel.jackpot),
    ];
    for (prize, weight) in model.wheel.weights(coins) {
        let (key, title) = match prize {
            PrizeInfo::Jackpot => ("prize_jackpot".to_owned(), "chance per bonus to win the jackpot".to_owned()),
            PrizeInfo::Multiple(multiple) => {
                (format!("prize_{multiple}x"), format!("chance per bonus to win {multiple} bets"))
            }
            PrizeInfo::FreeSpins(spins) => {
                (format!("prize_{spins}_free_spins"), format!("chance per bonus to win {spins} free spins"))
            }
        };
        rates.push(Rate::new(key, title, ratio(weight, model.wheel.total())));
    }
    rates
}

fn reel_set(model: &Model) -> ReelSet {
    let windows = &model.windows;
    let on_line = moments::combinations(windows);
    let anywhere = moments::spin_table(windows, 1).windows;
    let cycle = exact(windows.reels.cycle());
    let combination = |row: &crate::contract::info::PayRow| {
        let count = usize::from(row.count);
        let ways: u64 = match (row.scatter, row.bonus) {
            (true, _) => anywhere[count].iter().sum(),
            (_, true) => anywhere.iter().map(|by_bonuses| by_bonuses[count]).sum(),
            _ => on_line[usize::from(row.symbol)][count],
        };
        let chance = exact(ways) / &cycle;
        Combination { symbol: row.symbol, count: row.count, rtp: &chance * exact(row.pays), chance }
    };
    ReelSet {
        title: "all spins",
        strips: windows.reels.strips(),
        combinations: model.paytable().iter().map(combination).collect(),
    }
}
