use num_traits::One;

use super::model::{BASE_LINES, FREE_SPINS, Model, PARTS, SCATTER, TREASURE};
use super::moments::{Amount, RoundMoments, Window};
use super::treasure::{starts, treasure_table};
use crate::contract::game::Game;
use crate::contract::info::PayRow;
use crate::contract::par::{Combination, Exact, Par, Rate, ReelSet, ReturnPart, exact, float, ratio};
use crate::contract::stake::{Stake, StakeRefused};
use crate::math::moments;
use crate::parts::file::ModelError;
use crate::parts::picks::NEEDS;

pub(crate) fn par(game: &dyn Game, model: &Model, stake: &Stake) -> Result<Par, StakeRefused> {
    let bet_coins = u64::from(model.limits.check(stake)?);
    let window = Window::new(model, stake.lines);
    let amount = Amount::new(&model.objects);
    let round = RoundMoments::new(model, &window, &amount);
    let cycle = exact(model.windows.reels.cycle());
    let hits = moments::hits_or(&model.windows, stake.lines, |line, columns| starts(model, line, columns));
    let (max_win, max_windows) = moments::max_win(&model.windows, stake.lines);
    let part = |place: usize, rtp: Exact| ReturnPart { name: PARTS[place], rtp };
    Ok(Par {
        game: game.name(),
        rules_version: game.rules_version(),
        model_hash: game.model_hash(),
        bet_coins,
        rtp: round.mean.clone(),
        rtp_without_jackpot: round.mean.clone(),
        parts: vec![
            part(BASE_LINES, window.lines.clone()),
            part(SCATTER, window.scatter.clone()),
            part(TREASURE, &window.objects * &amount.mean),
            part(FREE_SPINS, round.mean_in_free_spins.clone()),
        ],
        hit_frequency: exact(hits) / &cycle,
        std_dev: float(&round.variance).sqrt(),
        max_win_bets: exact(max_win) / exact(stake.lines),
        max_win_probability: exact(max_windows) / &cycle,
        reel_sets: vec![reel_set(model, &amount)],
        rates: rates(model, &window, &amount, &round),
        conditional_rtps: Vec::new(),
        exactness: "exact fractions",
    })
}

/// Checks the published return at one line. One line suffices, because all lines have the same mean win.
pub fn prove(model: &Model) -> Result<(), ModelError> {
    let window = Window::new(model, 1);
    if window.spins >= Exact::one() {
        return Err(ModelError::part(
            "free_spins",
            "a free spin must award fewer than one further free spin on average",
        ));
    }
    let actual = RoundMoments::new(model, &window, &Amount::new(&model.objects)).mean;
    let promised = ratio(model.rtp_micros, 1_000_000);
    if actual != promised {
        return Err(ModelError::Return { actual: actual.to_string(), promised: promised.to_string() });
    }
    Ok(())
}

fn rates(model: &Model, window: &Window, amount: &Amount, round: &RoundMoments) -> Vec<Rate> {
    let spins = Exact::one() + &round.free_spins;
    let mut rates = vec![
        Rate::new("treasure", "chance of a Treasure bonus per paid or free spin", window.treasure.clone()),
        Rate::new("free_spins", "chance of triggering free spins per paid or free spin", window.trigger.clone()),
        Rate::new(
            "treasures_per_paid_spin",
            "mean number of spins with a Treasure bonus per paid spin, including its free spins",
            &window.treasure * spins,
        ),
        Rate::new("free_spins_per_paid_spin", "mean number of free spins per paid spin", round.free_spins.clone()),
        Rate::new(
            "treasure_object_coins",
            "mean amount in an object, in coins per coin bet on its line",
            amount.mean.clone(),
        ),
    ];
    let total: u128 = model.objects.amounts().iter().map(|&(_, weight)| u128::from(weight)).sum();
    for &(coins, weight) in model.objects.amounts() {
        let (key, title) = (format!("object_{coins}_coins"), format!("chance that an object contains {coins} coins"));
        rates.push(Rate::new(key, title, exact(weight) / exact(total)));
    }
    rates
}

fn reel_set(model: &Model, amount: &Amount) -> ReelSet {
    let windows = &model.windows;
    let on_line = moments::combinations(windows);
    let anywhere = moments::spin_table(windows, 1).windows;
    let treasures = treasure_table(model, 1).runs;
    let cycle = exact(windows.reels.cycle());
    let combination = |row: &PayRow| {
        let count = usize::from(row.count);
        let (ways, pays) = match (row.scatter, row.bonus) {
            (true, _) => (anywhere[count].iter().sum(), exact(row.pays)),
            (_, true) => (treasures[count], &amount.mean * exact(row.count)),
            _ => (on_line[usize::from(row.symbol)][count], exact(row.pays)),
        };
        let chance = exact(ways) / &cycle;
        Combination { symbol: row.symbol, count: row.count, rtp: &chance * pays, chance }
    };
    ReelSet {
        title: "all spins",
        strips: windows.reels.strips(),
        combinations: windows.paytable(&model.symbols, NEEDS).iter().map(combination).collect(),
    }
}
