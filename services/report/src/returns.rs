//! What games return, held against their mathematics (PL-23).
//!
//! A level is a version of a game at one stake in one currency, counted operator by operator: all its rounds have the same
//! distribution, whose mean and standard deviation the game's own mathematics give. The band is Bernstein's bound for sums of bounded independent
//! figures: outside of `z s / sqrt(N) + z^2 M / 3N` lies at most `2 exp(-z^2 / 2)` of the chance at any number of rounds,
//! so that a sound game with few rounds, and one great win among them, raises nothing.
//!
//! Statistics, not money: floating point is enough here.

use crate::follower::{Figures, Open};
use motherlode_books::{Currency, Minor};
use motherlode_ledger::fields::money;
use motherlode_proto::{log::v1::RoundTerms, report::v1 as wire, round::v1 as round};
use motherlode_slots::{self as slots, Game, par::Exact};
use parking_lot::Mutex;
use prost::Message;
use std::{
    collections::{BTreeMap, HashMap},
    sync::LazyLock,
};

/// Standard deviations on either side: a sound game leaves the band in 7.5 of a million looks.
const Z: f64 = 5.0;

/// Returns by level and operator.
#[derive(Clone, Default)]
pub(crate) struct Returns(BTreeMap<Level, BTreeMap<String, Tally>>);

/// Which returns are asked for.
pub(crate) struct Wanted {
    /// Of a game; empty for all.
    pub(crate) game: String,
    /// Of an operator; none for all of them together.
    pub(crate) operator: Option<String>,
    /// Only those out of their band.
    pub(crate) out_of_band_only: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Level {
    game: String,
    rules_version: String,
    currency: Currency,
    coin_value: u64,
    lines: u32,
    coins_per_line: u32,
    buy_feature: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    bet: i64,
    rounds: u64,
    wins: i128,
    win_max: i64,
}

/// What the mathematics say of a round, in bets.
#[derive(Debug, Clone, Copy)]
struct Theory {
    rtp: f64,
    /// The least that it is while nothing has been collected or unlocked.
    rtp_least: f64,
    std_dev: f64,
    win_max: f64,
}

impl Returns {
    /// What all partitions have counted, together.
    pub(crate) fn of_all(partitions: &[&Figures]) -> Self {
        let mut sum = Self::default();
        for (level, tallies) in partitions.iter().flat_map(|figures| &figures.returns.0) {
            for (operator, tally) in tallies {
                sum.count(level.clone(), operator, *tally);
            }
        }
        sum
    }

    /// Counts a settled round of an operator's player.
    pub(crate) fn settled(&mut self, operator: &str, open: &Open<'_>) {
        let started = &open.started;
        let Ok(terms) = RoundTerms::decode(started.stake.as_slice()) else { return };
        let level = Level {
            game: started.game.clone(),
            rules_version: started.rules_version.clone(),
            currency: started.currency,
            coin_value: started.coin_value.0,
            lines: terms.lines,
            coins_per_line: terms.coins_per_line,
            buy_feature: terms.buy_feature,
        };
        let round = Tally { bet: started.bet.0, rounds: 1, wins: open.win.into(), win_max: open.win };
        self.count(level, operator, round);
    }

    fn count(&mut self, level: Level, operator: &str, rounds: Tally) {
        let tallies = self.0.entry(level).or_default();
        match tallies.get_mut(operator) {
            Some(tally) => *tally = tally.and(rounds),
            None => {
                tallies.insert(operator.to_owned(), rounds);
            }
        }
    }

    /// Rounds counted, by game.
    pub(crate) fn rounds(&self) -> Vec<(String, u64)> {
        let mut rounds = BTreeMap::new();
        for (level, tallies) in &self.0 {
            *rounds.entry(level.game.clone()).or_default() += tallies.values().map(|tally| tally.rounds).sum::<u64>();
        }
        rounds.into_iter().collect()
    }

    /// The levels that are wanted. The mathematics of a level cost tens of milliseconds at its first time: not for a lock,
    /// nor for a thread that answers calls.
    pub(crate) fn report(&self, wanted: &Wanted) -> Vec<wire::Return> {
        let levels = self.0.iter().filter(|(level, _)| wanted.game.is_empty() || level.game == wanted.game);
        let shown = levels.filter_map(|(level, tallies)| {
            let of = |(operator, _): &(&String, &Tally)| wanted.operator.as_ref().is_none_or(|one| one == *operator);
            let tally = tallies.iter().filter(of).map(|(_, tally)| *tally).reduce(Tally::and)?;
            Some(level.report(&tally))
        });
        shown.filter(|shown| shown.out_of_band || !wanted.out_of_band_only).collect()
    }
}

impl Level {
    fn report(&self, tally: &Tally) -> wire::Return {
        let rtp = tally.rtp();
        let mut shown = wire::Return {
            game: self.game.clone(),
            rules_version: self.rules_version.clone(),
            stake: Some(round::Stake {
                coin_value: motherlode_books::CoinValue(self.coin_value).to_string(),
                lines: self.lines,
                coins_per_line: self.coins_per_line,
                buy_feature: self.buy_feature,
            }),
            bet: Some(money(Minor(tally.bet), self.currency)),
            rounds: tally.rounds,
            wins_minor: tally.wins.to_string(),
            rtp: decimal(rtp),
            ..wire::Return::default()
        };
        if let Some(theory) = self.theory() {
            let band = theory.band(tally);
            shown.theoretical_rtp = decimal(theory.rtp);
            shown.std_dev = decimal(theory.std_dev);
            shown.band = decimal(band);
            shown.out_of_band = rtp > theory.rtp + band || rtp < theory.rtp_least - band;
        }
        shown
    }

    /// None for a version that this binary does not have.
    fn theory(&self) -> Option<Theory> {
        type Key = (&'static str, &'static str, u32, u32, bool);
        static KNOWN: LazyLock<Mutex<HashMap<Key, Theory>>> = LazyLock::new(Mutex::default);
        let game = slots::game(&self.game, &self.rules_version)?;
        let key = (game.name(), game.rules_version(), self.lines, self.coins_per_line, self.buy_feature);
        let known = KNOWN.lock().get(&key).copied();
        if known.is_some() {
            return known;
        }
        let theory = theory(game, self)?;
        KNOWN.lock().insert(key, theory);
        Some(theory)
    }
}

fn theory(game: &dyn Game, level: &Level) -> Option<Theory> {
    let stake = slots::Stake {
        coin_value_micros: level.coin_value,
        lines: level.lines,
        coins_per_line: level.coins_per_line,
        buy_feature: level.buy_feature,
    };
    let par = game.par(&stake).ok()?;
    // Returns before everything is unlocked; what only comes of a long collection (DM-14).
    let locked = par.conditional_rtps.iter().filter(|condition| condition.key.starts_with("unlocked"));
    let collected = par.parts.iter().filter(|part| part.name.key == "collections").map(|part| float(&part.rtp));
    let rtp = float(&par.rtp_without_jackpot);
    let least = locked.map(|condition| float(&condition.rtp)).fold(rtp, f64::min) - collected.sum::<f64>();
    Some(Theory { rtp, rtp_least: least, std_dev: par.std_dev, win_max: float(&par.max_win_bets) })
}

impl Theory {
    /// How far from the return a sound game may be.
    #[allow(clippy::cast_precision_loss, reason = "a band of statistics")]
    fn band(&self, tally: &Tally) -> f64 {
        let rounds = tally.rounds as f64;
        let win_max = self.win_max.max(tally.win_max as f64 / tally.bet as f64);
        Z * self.std_dev / rounds.sqrt() + Z * Z * win_max / (3.0 * rounds)
    }
}

impl Tally {
    /// Both together: rounds of the same bet.
    fn and(self, other: Self) -> Self {
        Self {
            bet: other.bet,
            rounds: self.rounds + other.rounds,
            wins: self.wins + other.wins,
            win_max: self.win_max.max(other.win_max),
        }
    }

    #[allow(clippy::cast_precision_loss, reason = "a return of statistics")]
    fn rtp(&self) -> f64 {
        self.wins as f64 / (self.bet as f64 * self.rounds as f64)
    }
}

fn float(exact: &Exact) -> f64 {
    slots::par::decimal(exact, 12).parse().unwrap_or_default()
}

fn decimal(figure: f64) -> String {
    format!("{figure:.6}")
}
