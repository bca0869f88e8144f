//! Compares, in floating point, a simulation's result with the exact figures of the game.

use motherlode_picture::{
    figures::{grouped, number},
    par::report::StakeReport,
};
use motherlode_proto::convert::play::hex;
use motherlode_slots::{Feature, Game, Par, Seed, Stake, Tally, par::Exact, simulate::Sum};
use serde::{Serialize, Serializer};
use std::time::Duration;

/// Maximum probability that a simulation of a correct game reports a contradiction. It is divided among the figures
/// that the simulation compares (Bonferroni correction).
const FALSE_ALARMS: f64 = 1e-3;
/// Minimum effective number of wins (their squared sum divided by the sum of their squares) for which a component's
/// standard deviation is reliable. Below it, the larger of the component's and the whole win's standard deviation is
/// used.
const EQUAL_WINS_MIN: f64 = 2_000.0;
/// Assumed upper bound of the expected number of wins above the sample's highest win. If the expected number exceeded
/// this bound, a sample without such a win would have a probability below exp(-10), or 1 in 22,026.
const UNSEEN: f64 = 10.0;
const Z_95: f64 = 1.959_963_985;

#[derive(Debug, Serialize)]
pub struct Report {
    game: &'static str,
    #[serde(skip)]
    title: String,
    rules_version: &'static str,
    model_hash: String,
    stake: StakeReport,
    seed: String,
    rounds: u64,
    threads: usize,
    rtp_without_jackpot: Estimate,
    #[serde(serialize_with = "by_name")]
    rtp_parts: Vec<(&'static str, Estimate)>,
    interval_95: [f64; 2],
    interval_3_sigma: [f64; 2],
    hit_frequency: Estimate,
    #[serde(serialize_with = "by_name")]
    features: Vec<(&'static str, Estimate)>,
    /// Variance of a round's win; `None` if a few rounds account for most of the variance.
    #[serde(skip_serializing_if = "Option::is_none")]
    variance: Option<Estimate>,
    #[serde(skip_serializing_if = "Option::is_none")]
    jackpots: Option<Estimate>,
    jackpots_won: u64,
    /// Highest simulated win, excluding the jackpot.
    max_win_bets: f64,
    stated_max_win_bets: f64,
    seconds: f64,
    rounds_per_second: f64,
    rounds_per_second_per_thread: f64,
}

fn by_name<S: Serializer>(parts: &[(&'static str, Estimate)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(parts.iter().map(|(key, estimate)| (key, estimate)))
}

#[derive(Debug, Clone, Copy, Serialize)]
pub struct Estimate {
    pub simulated: f64,
    pub exact: f64,
    std_dev_sample: f64,
    std_dev_exact: Option<f64>,
    pub sigmas: f64,
    /// Distance from the exact figure in standard errors. For a probability, the distance is the square root of the
    /// deviance, which is also valid for rare events.
    pub judged: f64,
}

impl Estimate {
    fn new(rounds: f64, simulated: f64, sample_variance: f64, exact: f64, std_dev_exact: Option<f64>) -> Self {
        let std_dev_sample = sample_variance.max(0.0).sqrt();
        let error = std_dev_exact.unwrap_or(std_dev_sample) / rounds.sqrt();
        let distance = simulated - exact;
        let sigmas = if distance == 0.0 { 0.0 } else { distance / error };
        Self { simulated, exact, std_dev_sample, std_dev_exact, sigmas, judged: sigmas }
    }

    fn of_part(sum: &Sum, rounds: f64, bet: f64, exact: &Exact, std_dev_whole: f64) -> Self {
        let of = Self::from_sum(sum, rounds, bet, exact, None);
        let equal_wins = float(sum.coins) * float(sum.coins) / float(sum.squares).max(1.0);
        if of.sigmas == 0.0 || equal_wins >= EQUAL_WINS_MIN {
            return of;
        }
        let error = of.std_dev_sample.max(std_dev_whole) / rounds.sqrt();
        Self { judged: (of.simulated - of.exact) / error, ..of }
    }

    fn from_sum(sum: &Sum, rounds: f64, bet: f64, exact: &Exact, std_dev_exact: Option<f64>) -> Self {
        let mean = float(sum.coins) / rounds / bet;
        let square = float(sum.squares) / rounds / bet / bet;
        Self::new(rounds, mean, square - mean * mean, number(exact), std_dev_exact)
    }

    fn of_chance(count: u64, rounds: f64, exact: &Exact) -> Self {
        let (share, chance) = (float(count) / rounds, number(exact));
        let of = Self::new(rounds, share, share * (1.0 - share), chance, Some((chance * (1.0 - chance)).sqrt()));
        // The probability of at least this deviance is at most exp(-deviance / 2), even for rare events (Chernoff
        // bound).
        let term = |share: f64, chance: f64| if share > 0.0 { share * (share / chance).ln() } else { 0.0 };
        let deviance = 2.0 * rounds * (term(share, chance) + term(1.0 - share, 1.0 - chance));
        Self { judged: deviance.max(0.0).sqrt().copysign(share - chance), ..of }
    }

    /// A sample without the rarest wins underestimates the variance and its standard error. If the estimate is below
    /// the exact variance, [`Self::unseen`] is therefore subtracted from the difference.
    fn of_variance(tally: &Tally, rounds: f64, bet: f64, std_dev: f64) -> Option<Self> {
        let (mean, square) = (float(tally.win.coins) / rounds / bet, float(tally.win.squares) / rounds / bet / bet);
        let fourth = float(tally.win_fourths) / rounds / bet.powi(4);
        if fourth <= 0.0 || square * square * rounds / fourth < EQUAL_WINS_MIN {
            return None;
        }
        let of = Self::new(rounds, square - mean * mean, fourth - square * square, std_dev * std_dev, None);
        let error = of.std_dev_sample / rounds.sqrt();
        let lacking = of.exact - of.simulated - Self::unseen(float(tally.max_win_coins) / bet, rounds);
        let judged = if of.sigmas > 0.0 { of.sigmas } else { -lacking.max(0.0) / error };
        Some(Self { judged, ..of })
    }

    /// Returns an upper bound of the variance due to wins above the sample's highest win: twice the square of the
    /// highest win, times the probability of a higher win. The bound assumes that this probability falls at least as
    /// fast as the inverse fourth power of the win.
    fn unseen(highest_bets: f64, rounds: f64) -> f64 {
        2.0 * highest_bets * highest_bets * UNSEEN / rounds
    }

    fn interval(&self, rounds: f64, errors: f64) -> [f64; 2] {
        let half = errors * self.std_dev_exact.unwrap_or(self.std_dev_sample) / rounds.sqrt();
        [self.simulated - half, self.simulated + half]
    }
}

impl Report {
    #[must_use]
    pub fn new(
        game: &dyn Game,
        stake: &Stake,
        par: &Par,
        tally: &Tally,
        master: Seed,
        threads: usize,
        took: Duration,
    ) -> Self {
        let (rounds, bet) = (float(tally.rounds), float(par.bet_coins));
        let seconds = took.as_secs_f64().max(1e-9);
        let of = |sum: &Sum, exact: &Exact, std_dev| Estimate::from_sum(sum, rounds, bet, exact, std_dev);
        let total = of(&tally.win, &par.rtp_without_jackpot, Some(par.std_dev));
        Self {
            game: par.game,
            title: game.info().title.clone(),
            rules_version: par.rules_version,
            model_hash: hex(&par.model_hash),
            stake: StakeReport::new(game, stake, par),
            seed: hex(&master),
            rounds: tally.rounds,
            threads,
            rtp_without_jackpot: total,
            rtp_parts: game
                .parts()
                .iter()
                .zip(&tally.parts)
                .map(|(name, sum)| (name.key, Estimate::of_part(sum, rounds, bet, &par.part(name.key), par.std_dev)))
                .collect(),
            interval_95: total.interval(rounds, Z_95),
            interval_3_sigma: total.interval(rounds, 3.0),
            hit_frequency: Estimate::of_chance(tally.hits, rounds, &par.hit_frequency),
            features: features(game, stake, par, tally),
            variance: Estimate::of_variance(tally, rounds, bet, par.std_dev),
            jackpots: par.rate("jackpot").map(|chance| Estimate::of_chance(tally.jackpots, rounds, chance)),
            jackpots_won: tally.jackpots,
            max_win_bets: float(tally.max_win_coins) / bet,
            stated_max_win_bets: game.highest_win(stake).map_or(f64::INFINITY, |highest| number(&highest.bets)),
            seconds,
            rounds_per_second: rounds / seconds,
            rounds_per_second_per_thread: rounds / seconds / float(u64::try_from(threads).unwrap_or(u64::MAX)),
        }
    }

    #[must_use]
    pub fn contradiction(&self) -> Option<String> {
        let (figures, most) = (self.figures(), self.sigmas_max());
        let out = figures.iter().filter(|(_, of)| of.judged.is_nan() || of.judged.abs() > most);
        let told: Vec<_> =
            out.map(|(name, of)| format!("{} is {:+.2} sigma", name.replace('_', " "), of.judged)).collect();
        let from = || {
            format!(
                "{} from its exact value; each of the {} figures may differ from its exact value by at most \
                 {most:.2} sigma",
                told.join(", "),
                figures.len()
            )
        };
        let figures = (!told.is_empty()).then(from);
        let Self { max_win_bets: most, stated_max_win_bets: stated, .. } = self;
        let highest = (most > stated)
            .then(|| format!("a round won {most:.2} times its bet, more than the stated maximum, {stated:.2}"));
        let all: Vec<_> = figures.into_iter().chain(highest).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }

    /// Returns the largest accepted distance in standard errors. Each tail has a probability of at most exp(-z² / 2),
    /// so a correct game exceeds this distance in at most one of 1,000 simulations.
    #[must_use]
    pub fn sigmas_max(&self) -> f64 {
        let figures = u32::try_from(self.figures().len()).unwrap_or(u32::MAX);
        (2.0 * (2.0 * f64::from(figures) / FALSE_ALARMS).ln()).sqrt()
    }

    #[must_use]
    pub fn figures(&self) -> Vec<(String, Estimate)> {
        let parts = self.rtp_parts.iter().map(|(key, of)| ((*key).to_owned(), *of));
        let whole = [
            ("rtp_without_jackpot".to_owned(), self.rtp_without_jackpot),
            ("hit_frequency".to_owned(), self.hit_frequency),
        ];
        let features = self.features.iter().map(|(key, of)| (format!("{key}_frequency"), *of));
        let variance = self.variance.map(|of| ("variance".to_owned(), of));
        let jackpots = self.jackpots.map(|of| ("jackpots".to_owned(), of));
        whole.into_iter().chain(variance).chain(parts).chain(features).chain(jackpots).collect()
    }

    #[must_use]
    pub fn text(&self) -> String {
        let rounds = float(self.rounds);
        let total = &self.rtp_without_jackpot;
        let whole = |number: f64| grouped(&format!("{number:.0}"));
        let percents = |[low, high]: [f64; 2]| format!("{:.4} % to {:.4} %", low * 100.0, high * 100.0);
        let mut lines = vec![
            format!("{} {}: {} rounds", self.title, self.rules_version, whole(rounds)),
            format!("stake {}", self.stake),
            format!("seed {}", self.seed),
            String::new(),
            format!("  {:<20}{:>14}{:>14}{:>14}{:>14}", "of the bet", "simulated", "exact", "1 sigma", "distance"),
        ];
        let all = if self.jackpots.is_some() { "without jackpot" } else { "all" };
        lines.extend(self.rtp_parts.iter().map(|(key, part)| row(&key.replace('_', " "), part, rounds, 4)));
        lines.push(row(all, total, rounds, 4));
        lines.push(row("hit frequency", &self.hit_frequency, rounds, 4));
        let feature = |(key, of): &(&str, Estimate)| row(&format!("{} rounds", key.replace('_', " ")), of, rounds, 4);
        lines.extend(self.features.iter().map(feature));
        lines.extend(self.jackpots.iter().map(|jackpots| row("jackpots per spin", jackpots, rounds, 6)));
        let unseen = Estimate::unseen(self.max_win_bets, rounds);
        match &self.variance {
            Some(of) => lines.extend([
                format!("  variance {:.4} bets², exact value {:.4}: {:+.2} sigma", of.simulated, of.exact, of.sigmas),
                format!("  up to {unseen:.4} of the exact value may come from wins too rare to occur here"),
            ]),
            None => lines.push("  the variance is not checked, because a few rounds account for most of it".to_owned()),
        }
        lines.extend([
            String::new(),
            "  ~: 1 sigma (standard error) is estimated from the simulated wins, else exact".to_owned(),
            format!(
                "  each of the {} figures may differ by at most {:.2} sigma from its exact value",
                self.figures().len(),
                self.sigmas_max()
            ),
            format!("  95 % interval    {}", percents(self.interval_95)),
            format!("  3 sigma          {}", percents(self.interval_3_sigma)),
            format!("  std deviation    {:.4} bets (computed, exact)", total.std_dev_exact.unwrap_or(f64::NAN)),
            format!(
                "  highest win      {} bets; the stated maximum is {}",
                grouped(&format!("{:.2}", self.max_win_bets)),
                grouped(&format!("{:.2}", self.stated_max_win_bets))
            ),
            format!(
                "  speed            {} rounds/s, {} on each of {} threads",
                whole(self.rounds_per_second),
                whole(self.rounds_per_second_per_thread),
                self.threads
            ),
            String::new(),
        ]);
        lines.join("\n")
    }
}

fn features(game: &dyn Game, stake: &Stake, par: &Par, tally: &Tally) -> Vec<(&'static str, Estimate)> {
    if stake.buy_feature {
        return vec![];
    }
    let feature = |(feature, count): (&Feature, &u64)| {
        Some((feature.key, Estimate::of_chance(*count, float(tally.rounds), par.rate(feature.key)?)))
    };
    game.features().iter().zip(&tally.features).filter_map(feature).collect()
}

fn row(name: &str, estimate: &Estimate, rounds: f64, places: usize) -> String {
    let percent = |share: f64| format!("{:.places$} %", share * 100.0);
    let error = estimate.std_dev_exact.unwrap_or(estimate.std_dev_sample) / rounds.sqrt();
    let mark = if estimate.std_dev_exact.is_some() { ' ' } else { '~' };
    format!(
        "  {name:<20.20}{:>14}{:>14}{:>14}{:>+9.2} sig{mark}",
        percent(estimate.simulated),
        percent(estimate.exact),
        percent(error),
        estimate.sigmas
    )
    .trim_end()
    .to_owned()
}

#[allow(clippy::cast_precision_loss)]
fn float(count: impl Into<u128>) -> f64 {
    count.into() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use motherlode_slots::Carried;

    #[test]
    fn distance_is_in_standard_errors() {
        let estimate = Estimate::new(10_000.0, 1.1, 36.0, 1.0, Some(5.0));
        assert!((estimate.sigmas - 2.0).abs() < 1e-9, "{estimate:?}");
        let by_sample = Estimate::new(10_000.0, 1.1, 25.0, 1.0, None);
        assert!((by_sample.sigmas - 2.0).abs() < 1e-9, "{by_sample:?}");
        let [low, high] = estimate.interval(10_000.0, 3.0);
        assert!((low - 0.95).abs() < 1e-9 && (high - 1.25).abs() < 1e-9, "{low} {high}");
    }

    #[test]
    fn the_sample_mean_and_spread_are_those_of_its_wins() {
        let sum = Sum { coins: 40, squares: 1600 };
        let estimate = Estimate::from_sum(&sum, 2.0, 10.0, &Exact::from_integer(2.into()), None);
        assert_eq!((estimate.simulated, estimate.std_dev_sample, estimate.sigmas), (2.0, 2.0, 0.0));
    }

    #[test]
    fn parts_are_reported_by_name_and_add_up_to_the_whole() {
        for game in motherlode_slots::games().iter().copied() {
            let limits = &game.info().limits;
            let stake = Stake {
                coin_value_micros: limits.coin_values_micros[0],
                lines: limits.lines.1,
                coins_per_line: limits.coins_per_line.0,
                buy_feature: false,
            };
            let par = game.par(&stake).unwrap();
            let tally = motherlode_slots::simulate(game, &stake, Carried::default(), 20_000, [3; 32]).unwrap();
            let report = Report::new(game, &stake, &par, &tally, [3; 32], 1, Duration::from_secs(1));
            let parts: f64 = report.rtp_parts.iter().map(|(_, part)| part.simulated).sum();
            assert!((parts - report.rtp_without_jackpot.simulated).abs() < 1e-9, "{}", report.text());
            assert_eq!(report.jackpots.is_some(), game.info().jackpot, "{}", game.name());
            assert!(report.text().lines().all(|line| line.chars().count() <= 80), "{}", report.text());
        }
    }

    fn judged(name: &str, rounds: u64, seed: u8, change: impl Fn(&mut Par)) -> Option<String> {
        let game = motherlode_slots::latest(name).unwrap();
        let limits = &game.info().limits;
        let stake = Stake {
            coin_value_micros: limits.coin_values_micros[0],
            lines: limits.lines.1,
            coins_per_line: limits.coins_per_line.0,
            buy_feature: false,
        };
        let mut par = game.par(&stake).unwrap();
        change(&mut par);
        let tally = motherlode_slots::simulate(game, &stake, Carried::default(), rounds, [seed; 32]).unwrap();
        Report::new(game, &stake, &par, &tally, [seed; 32], 1, Duration::from_secs(1)).contradiction()
    }

    #[test]
    fn pl_43_mf_d7_each_figure_that_is_not_the_models_is_found() {
        let ratio = |numerator: i64, denominator: i64| Exact::new(numerator.into(), denominator.into());
        for seed in 0..5 {
            assert_eq!(judged("bewitched", 50_000, seed, |_| {}), None, "seed {seed}");
        }
        let hits = judged("bewitched", 50_000, 1, |par| par.hit_frequency = &par.hit_frequency * ratio(3, 4)).unwrap();
        assert!(hits.starts_with("hit frequency is +"), "{hits}");
        let parts = judged("bewitched", 50_000, 1, |par| {
            for part in par.parts.iter_mut().filter(|part| part.name.key == "base_lines") {
                part.rtp = &part.rtp * ratio(2, 1);
            }
        });
        assert!(parts.as_ref().is_some_and(|of| of.contains("base lines is -")), "{parts:?}");
        let jackpots = judged("bewitched", 50_000, 1, |par| {
            for rate in par.rates.iter_mut().filter(|rate| rate.key == "jackpot") {
                rate.value = ratio(1, 500);
            }
        });
        assert!(jackpots.as_ref().is_some_and(|of| of.contains("jackpots is -")), "{jackpots:?}");
    }

    #[test]
    fn mf_d7_the_variance_is_judged_from_both_sides() {
        let sum = Sum { coins: 30_000, squares: 300_000 };
        let tally = Tally { rounds: 300_000, win: sum, win_fourths: 30_000_000, max_win_coins: 10, ..Tally::default() };
        let judged = |variance: f64| {
            let of = Estimate::of_variance(&tally, 300_000.0, 1.0, variance.sqrt()).unwrap();
            assert!((of.simulated - 0.99).abs() < 1e-9);
            of.judged
        };
        let (error, unseen) = (99.0_f64.sqrt() / 300_000.0_f64.sqrt(), 2_000.0 / 300_000.0);
        assert!((judged(0.9) - 0.09 / error).abs() < 1e-6, "above: {}", judged(0.9));
        assert!((judged(1.1) + (0.11 - unseen) / error).abs() < 1e-6, "below: {}", judged(1.1));
        assert!(judged(0.99 + unseen / 2.0).abs() < 1e-9, "rare wins may account for the difference");
        let few = Tally { rounds: 1_000, win: Sum { coins: 100, squares: 1_000 }, win_fourths: 100_000, ..tally };
        assert!(Estimate::of_variance(&few, 1_000.0, 1.0, 1.0).is_none(), "ten wins are too few to judge the variance");
    }

    #[test]
    fn a_chance_is_judged_by_its_deviance() {
        let chance = Exact::new(1.into(), 100.into());
        let judged = |count| Estimate::of_chance(count, 1_000.0, &chance).judged;
        assert!((judged(0) + 4.483_377).abs() < 1e-5, "{}", judged(0));
        assert!((judged(30) - 5.130_646).abs() < 1e-5, "{}", judged(30));
        assert!(judged(10).abs() < 1e-6);
    }
}
