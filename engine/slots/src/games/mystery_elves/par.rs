use num_traits::Zero;

use super::model::{BASE_LINES, HOLD_AND_WIN, Model, PARTS};
use super::moments::{Ends, FeatureMoments, MIDDLE, OUTER, RoundMoments, Window, at_end, hits};
use crate::contract::game::Game;
use crate::contract::info::PayRow;
use crate::contract::par::{
    Combination, Condition, ConditionalRtp, Exact, Par, Rate, ReelSet, ReturnPart, exact, float, ratio,
};
use crate::contract::stake::{Stake, StakeRefused};
use crate::math::moments;
use crate::parts::windows::Windows;

pub(crate) const BUY_FEATURE: &str = "buy_feature";

pub(crate) fn par(game: &dyn Game, model: &Model, stake: &Stake) -> Result<Par, StakeRefused> {
    let (_, bet_coins) = model.check(stake)?;
    let windows = if stake.buy_feature { &model.bought } else { &model.windows };
    let price = exact(if stake.buy_feature { model.buy_bets } else { 1 });
    let (symbol, needs) = (model.hold_and_win.symbol, model.hold_and_win.needs);
    let feature = FeatureMoments::new(model);
    let window = Window::new(windows, symbol);
    let round = RoundMoments::new(&window, needs, &feature);
    let cycle = exact(windows.reels.cycle());
    let (max_win, max_windows) = moments::max_win(windows, u32::MAX);
    let rtp = (&round.lines + &round.feature) / &price;
    Ok(Par {
        game: game.name(),
        rules_version: game.rules_version(),
        model_hash: game.model_hash(),
        bet_coins: u64::from(bet_coins),
        rtp_without_jackpot: rtp.clone(),
        rtp,
        parts: vec![
            ReturnPart { name: PARTS[BASE_LINES], rtp: &round.lines / &price },
            ReturnPart { name: PARTS[HOLD_AND_WIN], rtp: &round.feature / &price },
        ],
        hit_frequency: exact(hits(windows, symbol, needs)) / &cycle,
        std_dev: float(&(&round.variance / (&price * &price))).sqrt(),
        max_win_bets: exact(max_win) / exact(windows.lines.rows().len()) / &price,
        max_win_probability: exact(max_windows) / &cycle,
        reel_sets: vec![
            reel_set(model, "paid spin", &model.windows),
            reel_set(model, "spin that starts the bought feature", &model.bought),
            ReelSet {
                title: "each position in Hold and Win",
                strips: vec![model.hold_and_win.strip.clone()],
                combinations: Vec::new(),
            },
        ],
        rates: rates(model, &window),
        conditional_rtps: vec![ConditionalRtp {
            key: BUY_FEATURE,
            title: "return of the bought feature, as a share of its price",
            rtp: buy_feature(model, &feature),
            condition: Condition::Bought,
        }],
        exactness: "exact fractions",
    })
}

#[must_use]
pub fn base(model: &Model, feature: &FeatureMoments) -> Exact {
    returns(model, &model.windows, feature)
}

#[must_use]
pub fn buy_feature(model: &Model, feature: &FeatureMoments) -> Exact {
    returns(model, &model.bought, feature) / exact(model.buy_bets)
}

fn returns(model: &Model, windows: &Windows, feature: &FeatureMoments) -> Exact {
    let window = Window::new(windows, model.hold_and_win.symbol);
    window.lines() + window.feature(model.hold_and_win.needs, &feature.mean)
}

fn rates(model: &Model, window: &Window) -> Vec<Rate> {
    let (feature, needs) = (&model.hold_and_win, model.hold_and_win.needs);
    let starts = window.starts(needs);
    let ends = Ends::new(feature);
    let full = |outer, middle| if outer + middle == OUTER + MIDDLE { exact(1) } else { Exact::zero() };
    let of_feature = |of: &dyn Fn(usize, usize) -> Exact| window.feature(needs, &at_end(feature, of)) / &starts;
    vec![
        Rate::new("full_screen", "chance of a full screen at the end of a feature", of_feature(&full)),
        Rate::new(
            "grand",
            "chance of winning the GRAND in a feature",
            of_feature(&|outer, middle| ends.grand(outer, middle)),
        ),
        Rate::new(
            "bonus_symbols",
            "mean number of Bonus symbols held at the end of a feature",
            of_feature(&|outer, middle| exact(outer + middle)),
        ),
        Rate::new("bonus_lands", "chance that a respin of one position shows a Bonus symbol", {
            let on_strip = feature.strip.iter().filter(|&&symbol| symbol == feature.symbol).count();
            ratio(on_strip, feature.strip.len())
        }),
        Rate::new("hold_and_win", "chance per spin that Hold and Win starts", starts),
    ]
}

fn reel_set(model: &Model, title: &'static str, windows: &Windows) -> ReelSet {
    let on_line = moments::combinations(windows);
    let window = Window::new(windows, model.hold_and_win.symbol);
    let cycle = exact(windows.reels.cycle());
    let combination = |row: &PayRow| {
        let count = usize::from(row.count);
        let chance = if row.bonus {
            (0..=MIDDLE.min(count)).map(|middle| window.chance((count - middle, middle))).sum()
        } else {
            exact(on_line[usize::from(row.symbol)][count]) / &cycle
        };
        Combination { symbol: row.symbol, count: row.count, rtp: &chance * exact(row.pays), chance }
    };
    ReelSet { title, strips: windows.reels.strips(), combinations: model.paytable().iter().map(combination).collect() }
}
