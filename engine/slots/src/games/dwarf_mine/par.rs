use num_traits::Zero;

use super::model::{BASE_WAYS, BET_COINS, COLLECTIONS, FREE_SPINS, Model, PARTS};
use super::moments::{FreeSpin, Returns, of_ways};
use super::new_player;
use crate::contract::game::Game;
use crate::contract::par::{Combination, Exact, Par, Rate, ReelSet, ReturnPart, exact, ratio};
use crate::contract::stake::{Stake, StakeRefused};
use crate::parts::collection::GIFT_COLOUR;
use crate::parts::expansion::CRYSTALS;
use crate::parts::reels::REELS;
use crate::parts::ways::WaysReels;

pub(crate) fn par(game: &dyn Game, returns: &Returns<'_>, stake: &Stake) -> Result<Par, StakeRefused> {
    let model = returns.model;
    let bet_coins = u64::from(model.limits.check(stake)?);
    let rtp = returns.total();
    let mut rtps = [Exact::zero(), Exact::zero(), Exact::zero()];
    rtps[BASE_WAYS] = returns.base();
    rtps[FREE_SPINS] = returns.free_spins();
    rtps[COLLECTIONS] = returns.collections();
    Ok(Par {
        game: game.name(),
        rules_version: game.rules_version(),
        model_hash: game.model_hash(),
        bet_coins,
        rtp: rtp.clone(),
        rtp_without_jackpot: rtp,
        parts: PARTS.iter().zip(rtps).map(|(&name, rtp)| ReturnPart { name, rtp }).collect(),
        hit_frequency: exact(1) - &returns.paid.nothing,
        std_dev: returns.variance().sqrt(),
        max_win_bets: exact(returns.paid.highest) / exact(bet_coins),
        max_win_probability: returns.paid.highest_chance.clone(),
        reel_sets: returns.reel_sets(),
        rates: returns.rates(),
        conditional_rtps: new_player::returns(model, returns),
        exactness: "exact fractions, except the returns of a new player's first spins, whose error is below 10^-30",
    })
}

impl Returns<'_> {
    fn rates(&self) -> Vec<Rate> {
        let (paid, model) = (&self.paid, self.model);
        let collections = paid.crystal() * exact(CRYSTALS) / exact(model.needs);
        let gift = self.collection_worth(GIFT_COLOUR) * ratio(model.gift, model.needs);
        let mut rates = vec![
            Rate::new("five_rows", "chance that one Bonus symbol enlarges the window to five rows", paid.bonuses(1)),
            Rate::new("six_rows", "chance that two Bonus symbols enlarge the window to six rows", paid.bonuses(2)),
            Rate::new(
                "free_spins",
                "chance that three Bonus symbols enlarge the window to seven rows and start free spins",
                paid.bonuses(3),
            ),
            Rate::new(
                "free_spins_per_paid_spin",
                "mean number of free spins per paid spin",
                paid.bonuses(3) * exact(model.free_spins),
            ),
            Rate::new("crystal", "chance of winning a crystal of a given colour in a paid spin", paid.crystal()),
            Rate::new(
                "collections_per_paid_spin",
                "mean number of collections completed per paid spin, in the long run",
                collections.clone(),
            ),
            Rate::new(
                "collection_spins_per_paid_spin",
                "mean number of Collection Free Spins per paid spin, in the long run",
                collections * exact(model.collection_spins),
            ),
            Rate::new("free_spins_win", "mean win of the free spins that three Bonus symbols start, in bets", {
                exact(model.free_spins) * &self.free.coins / exact(BET_COINS)
            }),
        ];
        for (colour, symbol) in model.super_high.iter().enumerate() {
            let name = &model.symbols[usize::from(*symbol)].name;
            let key = format!("collection_win_{}", crate::parts::collection::KEYS[colour]);
            let title = format!(
                "mean win of a completed collection with {name}, in bets at the collection's mean \
                 coin value"
            );
            rates.push(Rate::new(key, title, self.collection_worth(colour)));
        }
        rates.push(Rate::new(
            "gift_worth",
            "mean value in bets of the crystals given once to a new player; not part of the return",
            gift,
        ));
        rates
    }

    fn reel_sets(&self) -> Vec<ReelSet> {
        let model = self.model;
        let titles = ["collection: green", "collection: yellow", "collection: blue", "collection: red"];
        let mut base = of_ways(&model.regular(), &self.paid.ways, model);
        let starts = |symbol, count, chance| Combination { symbol, count, chance, rtp: Exact::zero() };
        base.push(starts(model.bonus, 3, self.paid.bonuses(3)));
        base.extend(model.crystals.map(|crystal| starts(crystal, 1, self.paid.crystal())));
        let mut sets = vec![
            ReelSet { title: "paid spin", strips: strips(&model.base), combinations: base },
            self.free.reel_set("free spins", &model.free, model),
        ];
        let collections = titles.into_iter().zip(&self.collection).zip(&model.collection);
        sets.extend(collections.map(|((title, spin), reels)| spin.reel_set(title, reels, model)));
        sets
    }
}

impl FreeSpin {
    fn reel_set(&self, title: &'static str, reels: &WaysReels, model: &Model) -> ReelSet {
        ReelSet { title, strips: strips(reels), combinations: of_ways(&self.symbols, &self.ways, model) }
    }
}

fn strips(reels: &WaysReels) -> Vec<Vec<u8>> {
    (0..REELS).map(|reel| reels.columns(reel).iter().map(|column| column.cells[0]).collect()).collect()
}
