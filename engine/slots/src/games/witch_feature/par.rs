use num_traits::{One, Signed, Zero};

use super::model::{Model, PARTS};
use super::moments::{Means, chance, highest_window, shows_free_spins};
use super::round::UNLOCKED;
use super::unlocking::Chain;
use super::variance;
use crate::contract::game::Game;
use crate::contract::info::Fact;
use crate::contract::par::{
    Combination, Condition, ConditionalRtp, Exact, Par, Rate, ReelSet, ReturnPart, decimal, exact, ratio,
};
use crate::contract::stake::{Stake, StakeRefused};
use crate::math::moments;
use crate::parts::file::ModelError;
use crate::parts::windows::Windows;

const UNLOCK_SPINS: &str = "mean number of spins until a player who is new to a bet level has unlocked all features";
const UNLOCK_COST: &str = "mean loss in bets of a player who is new to a bet level, compared with a player who has \
     unlocked all features";

pub fn prove(model: &Model) -> Result<(), ModelError> {
    let means = Means::new(model);
    if means.awarded >= Exact::one() {
        return Err(ModelError::part(
            "free_spins",
            "a free spin must award fewer than one further free spin on average",
        ));
    }
    let (actual, promised) = (means.rtp(model, 4), ratio(model.rtp_micros, 1_000_000));
    // The Explosion's probability is a multiple of 10^-15, so the return is exact only to this precision.
    if (&actual - &promised).abs() > ratio(1, 1_000_000_000_000_000u64) {
        return Err(ModelError::Return { actual: actual.to_string(), promised: promised.to_string() });
    }
    Ok(())
}

#[must_use]
pub fn facts(model: &Model, means: &Means) -> Vec<Fact> {
    let rtp = |unlocked| decimal(&means.rtp(model, unlocked), 4);
    let unlocking = Chain::new(model, means).unlocking(&means.rtp(model, 4));
    vec![
        Fact {
            key: "highest_window_bets",
            title: "highest win of one spin of the reels, in bets, including multipliers",
            value: decimal(&highest_window(model).floor(), 0),
        },
        Fact { key: "rtp_unlocked_1", title: "return while only High Symbols is unlocked", value: rtp(1) },
        Fact { key: "rtp_unlocked_2", title: "return while two features are unlocked", value: rtp(2) },
        Fact { key: "rtp_unlocked_3", title: "return while three features are unlocked", value: rtp(3) },
        Fact { key: "unlock_spins", title: UNLOCK_SPINS, value: decimal(&unlocking.spins, 1) },
        Fact { key: "unlock_cost_bets", title: UNLOCK_COST, value: decimal(&unlocking.cost_bets, 1) },
    ]
}

pub(crate) fn par(game: &dyn Game, (model, means): (&Model, &Means), stake: &Stake) -> Result<Par, StakeRefused> {
    let bet_coins = u64::from(model.limits.check(stake)?);
    let rtp = means.rtp(model, 4);
    let samples = variance::stored(&game.model_hash()).unwrap_or_else(|| variance::sampled(model));
    let (deviation, error) = variance::std_dev(model, means, samples);
    let (max_win, max_windows) = moments::max_win(&model.base, stake.lines);
    let conditional = |key, title, unlocked| ConditionalRtp {
        key,
        title,
        rtp: means.rtp(model, unlocked),
        condition: Condition::Held { key: UNLOCKED, value: i64::try_from(unlocked).unwrap_or(i64::MAX) },
    };
    let mut rates = rates(model, means);
    let chain = Chain::new(model, means);
    let unlocking = chain.unlocking(&rtp);
    rates.push(Rate::new("unlock_spins", UNLOCK_SPINS, unlocking.spins));
    rates.push(Rate::new("unlock_cost_bets", UNLOCK_COST, unlocking.cost_bets));
    rates.push(Rate::new(
        "std_dev_standard_error",
        "standard error of the standard deviation, from sampled second moments",
        Exact::from_float(error).unwrap_or_else(Exact::zero),
    ));
    Ok(Par {
        game: game.name(),
        rules_version: game.rules_version(),
        model_hash: game.model_hash(),
        bet_coins,
        rtp: rtp.clone(),
        rtp_without_jackpot: rtp,
        parts: PARTS.into_iter().zip(means.parts(model, 4)).map(|(name, rtp)| ReturnPart { name, rtp }).collect(),
        hit_frequency: means.hits(model),
        std_dev: deviation,
        max_win_bets: exact(max_win) / exact(stake.lines),
        max_win_probability: exact(max_windows) / exact(model.base.reels.cycle()),
        reel_sets: vec![
            reel_set("paid spin", &model.base),
            reel_set("respins", &model.respin),
            reel_set("free spins", &model.free),
        ],
        rates,
        conditional_rtps: [
            conditional("unlocked_1", "long-run return while only High Symbols is unlocked", 1),
            conditional("unlocked_2", "long-run return while High Symbols and Random Wilds are unlocked", 2),
            conditional("unlocked_3", "long-run return while all but Mega Wild are unlocked", 3),
        ]
        .into_iter()
        .chain(chain.first_spins())
        .collect(),
        exactness: "returns, chances and rates are exact fractions, except the returns of a new player's first spins, \
             whose error is below 10^-30. The standard deviation is exact, except for the second moments of High \
             Symbols, Random Wilds, Mega Wild and the Explosion, which are each sampled from 100,000 windows",
    })
}

fn rates(model: &Model, means: &Means) -> Vec<Rate> {
    let rate = |key: &str, title: &str, value: &Exact| Rate::new(key, title, value.clone());
    let [high, wilds, multiplier, mega, none] = &means.combinations;
    vec![
        rate("high_symbols", "mean number of High Symbols Respins per paid spin", high),
        rate("random_wilds", "mean number of Random Wilds Respins per paid spin", wilds),
        rate("multiplier", "mean number of Multiplier features per paid spin", multiplier),
        rate("mega_wild", "mean number of Mega Wild Respins per paid spin", mega),
        rate("explosion", "mean number of Explosions per paid spin", &(none * chance(model.explosion))),
        rate("free_spins_trigger", "chance per paid spin that free spins start", &means.trigger),
        rate(
            "free_spins_per_paid_spin",
            "mean number of free spins per paid spin",
            &(&means.trigger * exact(model.free_spins) / (Exact::one() - &means.awarded)),
        ),
        rate("respin_wins", "chance of a win in one spin of the respin reels", &means.respin_wins),
        rate("high_symbols_mean", "mean win of a High Symbols Respin, in bets", &means.features[0]),
        rate("random_wilds_mean", "mean win of a Random Wilds Respin, in bets", &means.features[1]),
        rate("multiplier_mean", "mean win of a Multiplier feature, in bets", &means.features[2]),
        rate("mega_wild_mean", "mean win of a Mega Wild Respin, in bets", &means.features[3]),
        rate("explosion_mean", "mean win of an Explosion, in bets", &means.explosion),
        rate("free_spins_mean", "mean win of the free spins that one trigger starts, in bets", &means.free_spins),
    ]
}

fn reel_set(title: &'static str, of: &Windows) -> ReelSet {
    let ways = moments::combinations(of);
    let cycle = exact(of.reels.cycle());
    let mut combinations = Vec::new();
    for (symbol, (ways, pays)) in (0u8..).zip(ways.iter().zip(of.lines.pays())) {
        for count in (1u8..=5).rev().filter(|&count| pays[usize::from(count)] > 0) {
            let chance = exact(ways[usize::from(count)]) / &cycle;
            let rtp = &chance * exact(pays[usize::from(count)]);
            combinations.push(Combination { symbol, count, chance, rtp });
        }
    }
    let both = shows_free_spins(of, 0) * shows_free_spins(of, 4);
    if !both.is_zero() {
        combinations.push(Combination { symbol: of.scatters.symbol, count: 2, chance: both, rtp: Exact::zero() });
    }
    ReelSet { title, strips: of.reels.strips(), combinations }
}

/// Returns the probability of the Explosion after a combination that starts no feature.
#[must_use]
pub fn chance_of_explosion(model: &Model) -> Exact {
    chance(model.explosion)
}
