//! Actual returns of games, which [`crate::band`] compares with the theoretical returns (PL-23).
//!
//! A level is one version of a game at one stake in one currency for one operator. Levels are summed with and without
//! weighting by stake, so that high stakes do not hide a deviation at low stakes. A feature collected over several
//! rounds (crystals, Potions) can be won at a stake that differs from the stakes that paid for it. Figures of single
//! levels and unweighted sums therefore exclude such features.
//!
//! The expected return is in cash (DM-19): it is the exact return in coins plus the effect of rounding wins to minor units.

use crate::{
    band::{self, Stratum, Theory, Verdict, Wins},
    features,
    level_days::LevelDays,
    open_round::OpenRound,
};
use motherlode_ledger::fields::money;
use motherlode_proto::{
    report::v1::{self as wire, r#return::Weighting},
    round::v1 as round,
};
use motherlode_rounds::minor_micros;
use motherlode_slots::{self as slots, FEATURES_MAX, Game, Nature, contract::rounding::CoinFraction, par::Exact};
use motherlode_state::{Currency, Minor, SmolStr};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, HashMap},
    sync::LazyLock,
};

#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct Returns(BTreeMap<Level, BTreeMap<SmolStr, Tally>>);

pub(crate) struct ReturnFilter {
    pub(crate) game: String,
    pub(crate) operator: Option<String>,
    pub(crate) out_of_band_only: bool,
    pub(crate) days: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Level {
    game: SmolStr,
    rules_version: SmolStr,
    currency: Currency,
    coin_value: u64,
    lines: u32,
    coins_per_line: u32,
    buy_feature: bool,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Tally {
    bet: i64,
    wins: i128,
    all: Wins,
    own: Wins,
    gifts: u64,
    features: [u64; FEATURES_MAX],
    states: BTreeMap<u16, u64>,
    days: LevelDays,
}

#[derive(Debug, Clone, Copy)]
struct Theories {
    all: Theory,
    own: Theory,
    gift: f64,
    /// Upper bound, per unit of stake, of the rounding error of collected features, which are paid at the mean coin
    /// value of several rounds.
    mixed: f64,
    chances: [f64; FEATURES_MAX],
}

pub(crate) struct ReturnList {
    pub(crate) levels: Vec<wire::Return>,
    pub(crate) totals: Vec<wire::Return>,
}

impl Returns {
    pub(crate) fn of_all<'a>(partitions: impl Iterator<Item = &'a Self>) -> Self {
        let mut sum = Self::default();
        for (level, tallies) in partitions.flat_map(|returns| &returns.0) {
            for (operator, tally) in tallies {
                sum.count(level.clone(), operator, tally);
            }
        }
        sum
    }

    pub(crate) fn settled(&mut self, operator: &str, open: &OpenRound<'_>, time_ms: i64) {
        let started = &open.started;
        let Some(terms) = started.stake.terms() else { return };
        let level = Level {
            game: started.game.clone(),
            rules_version: started.rules_version.clone(),
            currency: started.currency,
            coin_value: started.coin_value.0,
            lines: terms.lines,
            coins_per_line: terms.coins_per_line,
            buy_feature: terms.buy_feature,
        };
        let bet = started.bet.0;
        let tally = self.tally(level, operator);
        tally.bet = bet;
        tally.wins += i128::from(open.win);
        tally.days.add(time_ms, open.win);
        *tally.states.entry(open.state()).or_default() += 1;
        tally.gifts += u64::from(open.gift);
        tally.all.add(bets(open.win, bet));
        tally.own.add(bets(open.win - open.collected, bet));
        for (at, count) in tally.features.iter_mut().enumerate() {
            *count += u64::from(open.features >> at & 1);
        }
    }

    fn count(&mut self, level: Level, operator: &str, rounds: &Tally) {
        self.tally(level, operator).merge(rounds);
    }

    fn tally(&mut self, level: Level, operator: &str) -> &mut Tally {
        self.0.entry(level).or_default().entry(operator.into()).or_default()
    }

    pub(crate) fn rounds(&self) -> Vec<(String, u64)> {
        let mut rounds = BTreeMap::new();
        for (level, tallies) in &self.0 {
            *rounds.entry(level.game.to_string()).or_default() +=
                tallies.values().map(|tally| tally.all.rounds).sum::<u64>();
        }
        rounds.into_iter().collect()
    }

    /// The first call takes tens of milliseconds per level, so call it on a separate thread and hold no lock.
    pub(crate) fn report(&self, wanted: &ReturnFilter) -> ReturnList {
        let levels = self.0.iter().filter(|(level, _)| wanted.game.is_empty() || level.game == wanted.game);
        let tallies: Vec<_> = levels
            .filter_map(|(level, tallies)| {
                let of =
                    |(operator, _): &(&SmolStr, &Tally)| wanted.operator.as_ref().is_none_or(|one| one == *operator);
                let mut wanted = tallies.iter().filter(of).map(|(_, tally)| tally);
                let mut sum = wanted.next()?.clone();
                wanted.for_each(|tally| sum.merge(tally));
                Some((level, sum, level.known()))
            })
            .collect();
        let shown = |of: &wire::Return| of.out_of_band || !wanted.out_of_band_only;
        let days = |tally: &Tally| if wanted.days { tally.days.to_wire(tally.all.rounds, tally.wins) } else { vec![] };
        let told =
            |(level, tally, known): &LevelReturn<'_>| wire::Return { days: days(tally), ..level.report(tally, *known) };
        let levels = tallies.iter().map(told).filter(shown).collect();
        let versions = tallies.chunk_by(|(one, ..), (next, ..)| one.version() == next.version());
        let totals = versions.flat_map(|levels| [total(levels, Weighting::Stake), total(levels, Weighting::Round)]);
        ReturnList { levels, totals: totals.flatten().filter(shown).collect() }
    }
}

type LevelReturn<'a> = (&'a Level, Tally, Option<Theories>);

#[allow(clippy::cast_precision_loss, reason = "statistical bands may be rounded")]
fn total(levels: &[LevelReturn<'_>], weighting: Weighting) -> Option<wire::Return> {
    let (first, ..) = levels.first()?;
    let part =
        |(_, tally, known): &'_ LevelReturn<'_>| -> Option<(f64, Theories)> { Some((tally.bet as f64, (*known)?)) };
    let known: Vec<_> = levels.iter().map(part).collect::<Option<_>>()?;
    let parts = levels.iter().zip(&known).map(|((_, tally, _), (bet, known))| match weighting {
        Weighting::Stake => Stratum { weight: *bet, wins: &tally.all, theory: known.all },
        _ => Stratum { weight: 1.0, wins: &tally.own, theory: known.own },
    });
    // A new player's gift of crystals is valued at the highest stake, because it may be used at that stake.
    let highest = known.iter().map(|(bet, _)| *bet).fold(0.0, f64::max);
    let gifts: f64 = levels.iter().zip(&known).map(|((_, tally, _), (_, known))| tally.gifts as f64 * known.gift).sum();
    let mixed =
        levels.iter().zip(&known).map(|((_, tally, _), (bet, known))| tally.all.rounds as f64 * bet * known.mixed);
    let owed = if weighting == Weighting::Stake { gifts * highest + mixed.sum::<f64>() } else { 0.0 };
    let verdict = band::verdict(&parts.collect::<Vec<_>>(), owed);
    let wins: i128 = levels.iter().map(|(_, tally, _)| tally.wins).sum();
    let bets: i128 = levels.iter().map(|(_, tally, _)| tally.bets()).sum();
    let shown = wire::Return {
        game: first.game.to_string(),
        rules_version: first.rules_version.to_string(),
        rounds: levels.iter().map(|(_, tally, _)| tally.all.rounds).sum(),
        wins_minor: wins.to_string(),
        bets_minor: bets.to_string(),
        rtp: decimal(wins as f64 / bets as f64),
        theoretical_rtp: decimal(verdict.theoretical_rtp),
        weighting: weighting.into(),
        currency_code: first.currency.code().to_owned(),
        features: if weighting == Weighting::Round { frequencies(levels, &known) } else { vec![] },
        ..wire::Return::default()
    };
    Some(with_verdict(shown, &verdict))
}

fn frequencies(levels: &[LevelReturn<'_>], known: &[(f64, Theories)]) -> Vec<wire::FeatureFrequency> {
    let Some(game) = levels.first().and_then(|(level, ..)| slots::game(&level.game, &level.rules_version)) else {
        return vec![];
    };
    let paid = levels.iter().zip(known).filter(|((level, ..), _)| !level.buy_feature);
    let counted = paid.map(|((_, tally, _), (_, known))| {
        let chances = |state| features::in_state(game, known.chances, state, float);
        let states = tally.states.iter().map(|(state, rounds)| (*rounds, chances(*state)));
        features::FeatureCounts { seen: &tally.features, states: states.collect() }
    });
    features::frequencies(game.features(), &counted.collect::<Vec<_>>())
}

fn with_verdict(shown: wire::Return, verdict: &Verdict) -> wire::Return {
    wire::Return {
        held_rtp: decimal(verdict.rtp),
        held_theoretical_rtp: decimal(verdict.theoretical_rtp),
        effective_rounds: format!("{:.1}", verdict.effective_rounds),
        band: decimal(verdict.above),
        band_below: decimal(verdict.below),
        out_of_band: verdict.out_of_band,
        ..shown
    }
}

impl Level {
    fn version(&self) -> (&str, &str, Currency) {
        (&self.game, &self.rules_version, self.currency)
    }

    #[allow(clippy::cast_precision_loss, reason = "measured returns to player may be rounded")]
    fn report(&self, tally: &Tally, known: Option<Theories>) -> wire::Return {
        let shown = wire::Return {
            game: self.game.to_string(),
            rules_version: self.rules_version.to_string(),
            stake: Some(round::Stake {
                coin_value: motherlode_state::CoinValue(self.coin_value).to_string(),
                lines: self.lines,
                coins_per_line: self.coins_per_line,
                buy_feature: self.buy_feature,
            }),
            bet: Some(money(Minor(tally.bet), self.currency)),
            rounds: tally.all.rounds,
            wins_minor: tally.wins.to_string(),
            bets_minor: tally.bets().to_string(),
            rtp: decimal(tally.wins as f64 / tally.bets() as f64),
            weighting: Weighting::Level.into(),
            currency_code: self.currency.code().to_owned(),
            ..wire::Return::default()
        };
        let Some(known) = known else { return shown };
        let verdict = band::verdict(&[Stratum { weight: 1.0, wins: &tally.own, theory: known.own }], 0.0);
        let (theoretical_rtp, std_dev) = (decimal(known.all.rtp), decimal(known.all.std_dev));
        with_verdict(wire::Return { theoretical_rtp, std_dev, ..shown }, &verdict)
    }

    fn known(&self) -> Option<Theories> {
        let game = slots::game(&self.game, &self.rules_version)?;
        let known = self.in_coins(game)?;
        let coin = CoinFraction::new(self.coin_value, minor_micros(self.currency));
        let Some(rounding) = game.rounding(coin) else { return (coin.denominator == 1).then_some(known) };
        let in_cash = |theory: Theory, adds: f64| Theory {
            rtp: theory.rtp + adds,
            rtp_least: theory.rtp_least + float(&rounding.adds_to_own),
            std_dev: theory.std_dev + rounding.spread_at_most,
        };
        let mixed = float(&rounding.mixed_at_most);
        let all = in_cash(known.all, float(&rounding.adds));
        let own = in_cash(known.own, float(&rounding.adds_to_own));
        Some(Theories { all: Theory { rtp_least: all.rtp_least - mixed, ..all }, own, mixed, ..known })
    }

    fn in_coins(&self, game: &'static dyn Game) -> Option<Theories> {
        type Key = (&'static str, &'static str, u32, u32, bool);
        static KNOWN: LazyLock<Mutex<HashMap<Key, Theories>>> = LazyLock::new(Mutex::default);
        let key = (game.name(), game.rules_version(), self.lines, self.coins_per_line, self.buy_feature);
        let found = KNOWN.lock().get(&key).copied();
        if found.is_some() {
            return found;
        }
        let known = known(game, self)?;
        KNOWN.lock().insert(key, known);
        Some(known)
    }
}

fn known(game: &dyn Game, level: &Level) -> Option<Theories> {
    let stake = slots::Stake {
        coin_value_micros: level.coin_value,
        lines: level.lines,
        coins_per_line: level.coins_per_line,
        buy_feature: level.buy_feature,
    };
    let par = game.par(&stake).ok()?;
    let (rtp, std_dev) = (float(&par.rtp_without_jackpot), par.std_dev);
    let collected = float(&par.of_nature(Nature::Collected));
    // `std_dev` also bounds the standard deviation without collected features, because these features' correlation with
    // other wins is not negative.
    let own = Theory { rtp: rtp - collected, rtp_least: rtp - collected, std_dev };
    let all = Theory { rtp, rtp_least: own.rtp, std_dev };
    let chances = features::chances(game, &par, float);
    Some(Theories { all, own, gift: par.rate("gift_worth").map_or(0.0, float), mixed: 0.0, chances })
}

impl Tally {
    fn merge(&mut self, other: &Self) {
        self.bet = other.bet;
        self.wins += other.wins;
        self.gifts += other.gifts;
        self.days.merge(&other.days);
        for (state, more) in &other.states {
            *self.states.entry(*state).or_default() += more;
        }
        for (count, more) in self.features.iter_mut().zip(other.features) {
            *count += more;
        }
        self.all.merge(&other.all);
        self.own.merge(&other.own);
    }

    fn bets(&self) -> i128 {
        i128::from(self.bet) * i128::from(self.all.rounds)
    }
}

#[allow(clippy::cast_precision_loss, reason = "statistics")]
fn bets(win: i64, bet: i64) -> f64 {
    win as f64 / bet as f64
}

fn float(exact: &Exact) -> f64 {
    slots::par::decimal(exact, 12).parse().unwrap_or_default()
}

fn decimal(figure: f64) -> String {
    let written = format!("{figure:.6}");
    if written == "-0.000000" { "0.000000".to_owned() } else { written }
}

#[cfg(test)]
mod tests;
