//! What a simulation found, beside what the mathematics says.
//!
//! Floating point is at home here: the exact figures are fractions of [`Par`], these are estimates of them.

use super::super::par::StakeReport;
use crate::figures::grouped;
use motherlode_proto::convert::play::hex;
use motherlode_slots::{
    Game, Par, Seed, Stake, Tally,
    game::PrizeInfo,
    par::{Exact, decimal},
    simulate::Sum,
};
use serde::Serialize;
use std::time::Duration;

/// Half the width of the 95 % interval in standard errors.
const Z_95: f64 = 1.959_963_985;

/// The result of a simulation.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    game: &'static str,
    #[serde(skip)]
    title: String,
    rules_version: &'static str,
    model_hash: String,
    stake: StakeReport,
    seed: String,
    rounds: u64,
    threads: usize,
    /// The return without the jackpot, and its parts. In bets.
    rtp_without_jackpot: Estimate,
    rtp_parts: Parts,
    interval_95: Interval,
    interval_3_sigma: Interval,
    hit_frequency: Estimate,
    /// Jackpots won a paid spin.
    jackpots: Estimate,
    jackpots_won: u64,
    bonuses: u64,
    free_spins: u64,
    /// Highest win of a round, jackpot not included.
    max_win_bets: f64,
    seconds: f64,
    rounds_per_second: f64,
    rounds_per_second_per_thread: f64,
}

#[derive(Debug, Serialize)]
struct Parts {
    base_lines: Estimate,
    scatter: Estimate,
    bonus: Estimate,
    free_spins: Estimate,
}

/// A mean beside its exact value.
#[derive(Debug, Clone, Copy, Serialize)]
struct Estimate {
    simulated: f64,
    exact: f64,
    /// Of one round, as the rounds played show it.
    std_dev_sample: f64,
    /// Of one round, from the mathematics; none where only the sample knows.
    std_dev_exact: Option<f64>,
    /// Distance from the exact value in standard errors.
    sigmas: f64,
}

/// Where the mean lies, by the exact standard deviation and by the sample's.
#[derive(Debug, Serialize)]
struct Interval {
    by_exact_std_dev: [f64; 2],
    by_sample_std_dev: [f64; 2],
}

impl Estimate {
    fn new(rounds: f64, simulated: f64, sample_variance: f64, exact: f64, std_dev_exact: Option<f64>) -> Self {
        let std_dev_sample = sample_variance.max(0.0).sqrt();
        let error = std_dev_exact.unwrap_or(std_dev_sample) / rounds.sqrt();
        let distance = simulated - exact;
        // No spread: it is the exact value, or it is infinitely far away.
        let sigmas = if distance == 0.0 { 0.0 } else { distance / error };
        Self { simulated, exact, std_dev_sample, std_dev_exact, sigmas }
    }

    /// Of wins in coins, at a bet in coins.
    fn of(sum: &Sum, rounds: f64, bet: f64, exact: &Exact, std_dev_exact: Option<f64>) -> Self {
        let mean = float(sum.coins) / rounds / bet;
        let square = float(sum.squares) / rounds / bet / bet;
        Self::new(rounds, mean, square - mean * mean, number(exact), std_dev_exact)
    }

    /// Of something that happens in so many rounds, or does not.
    fn of_chance(count: u64, rounds: f64, exact: &Exact) -> Self {
        let (share, chance) = (float(count) / rounds, number(exact));
        Self::new(rounds, share, share * (1.0 - share), chance, Some((chance * (1.0 - chance)).sqrt()))
    }

    fn interval(&self, rounds: f64, errors: f64) -> Interval {
        let around = |std_dev: f64| {
            let half = errors * std_dev / rounds.sqrt();
            [self.simulated - half, self.simulated + half]
        };
        Interval {
            by_exact_std_dev: around(self.std_dev_exact.unwrap_or(self.std_dev_sample)),
            by_sample_std_dev: around(self.std_dev_sample),
        }
    }
}

impl Report {
    pub(super) fn new(
        game: &dyn Game,
        stake: &Stake,
        par: &Par,
        tally: &Tally,
        master: Seed,
        threads: usize,
        took: Duration,
    ) -> Self {
        let (rounds, bet) = (float(tally.rounds), float(par.bet_coins));
        let (parts, seconds) = (&par.rtp_parts, took.as_secs_f64().max(1e-9));
        let of = |sum: &Sum, exact: &Exact, std_dev| Estimate::of(sum, rounds, bet, exact, std_dev);
        let total = of(&tally.win, &par.rtp_without_jackpot, Some(par.std_dev));
        Self {
            game: par.game,
            title: game.info().title.clone(),
            rules_version: par.rules_version,
            model_hash: hex(&par.model_hash),
            stake: StakeReport::of(stake),
            seed: hex(&master),
            rounds: tally.rounds,
            threads,
            rtp_without_jackpot: total,
            rtp_parts: Parts {
                base_lines: of(&tally.base_lines, &parts.base_lines, None),
                scatter: of(&tally.scatter, &parts.scatter, Some(scatter_std_dev(game, par))),
                bonus: of(&tally.bonus, &parts.bonus, Some(bonus_std_dev(par))),
                free_spins: of(&tally.free, &parts.free_spins, None),
            },
            interval_95: total.interval(rounds, Z_95),
            interval_3_sigma: total.interval(rounds, 3.0),
            hit_frequency: Estimate::of_chance(tally.hits, rounds, &par.hit_frequency),
            jackpots: Estimate::of_chance(tally.jackpots, rounds, &par.features.jackpot),
            jackpots_won: tally.jackpots,
            bonuses: tally.bonuses,
            free_spins: tally.free_spins,
            max_win_bets: float(tally.max_win_coins) / bet,
            seconds,
            rounds_per_second: rounds / seconds,
            rounds_per_second_per_thread: rounds / seconds / float(u64::try_from(threads).unwrap_or(u64::MAX)),
        }
    }

    /// Distance of the return from the exact one in standard errors.
    pub(super) fn sigmas(&self) -> f64 {
        self.rtp_without_jackpot.sigmas
    }

    /// For people.
    pub(super) fn text(&self) -> String {
        let rounds = float(self.rounds);
        let (total, parts) = (&self.rtp_without_jackpot, &self.rtp_parts);
        let whole = |number: f64| grouped(&format!("{number:.0}"));
        let percents = |[low, high]: [f64; 2]| format!("{:.4} % to {:.4} %", low * 100.0, high * 100.0);
        let mut lines = vec![
            format!("{} {}: {} rounds at {}", self.title, self.rules_version, whole(rounds), self.stake),
            format!("seed {}", self.seed),
            String::new(),
            format!("  {:<20}{:>14}{:>14}{:>14}{:>14}", "of the bet", "simulated", "exact", "1 sigma", "distance"),
        ];
        let rows = [
            ("paid line wins", &parts.base_lines, 4),
            ("paid scatters", &parts.scatter, 4),
            ("paid bonus money", &parts.bonus, 4),
            ("free spins", &parts.free_spins, 4),
            ("without jackpot", total, 4),
            ("hit frequency", &self.hit_frequency, 4),
            ("jackpots a spin", &self.jackpots, 6),
        ];
        lines.extend(rows.map(|(name, estimate, places)| row(name, estimate, rounds, places)));
        lines.extend([
            String::new(),
            "  ~ the spread is the sample's; elsewhere it is the exact one".to_owned(),
            format!("  95 % interval    {}", percents(self.interval_95.by_exact_std_dev)),
            format!("     by the sample {}", percents(self.interval_95.by_sample_std_dev)),
            format!("  3 sigma          {}", percents(self.interval_3_sigma.by_exact_std_dev)),
            format!("     by the sample {}", percents(self.interval_3_sigma.by_sample_std_dev)),
            format!(
                "  std deviation    {:.4} bets, exactly {:.4}",
                total.std_dev_sample,
                total.std_dev_exact.unwrap_or(f64::NAN)
            ),
            format!(
                "  played           {} bonuses, {} free spins, {} jackpots\n  highest win      {} bets",
                grouped(&self.bonuses.to_string()),
                grouped(&self.free_spins.to_string()),
                grouped(&self.jackpots_won.to_string()),
                grouped(&format!("{:.2}", self.max_win_bets))
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

fn row(name: &str, estimate: &Estimate, rounds: f64, places: usize) -> String {
    let percent = |share: f64| format!("{:.places$} %", share * 100.0);
    let error = estimate.std_dev_exact.unwrap_or(estimate.std_dev_sample) / rounds.sqrt();
    let mark = if estimate.std_dev_exact.is_some() { ' ' } else { '~' };
    format!(
        "  {name:<20}{:>14}{:>14}{:>14}{:>+9.2} sig{mark}",
        percent(estimate.simulated),
        percent(estimate.exact),
        percent(error),
        estimate.sigmas
    )
    .trim_end()
    .to_owned()
}

/// Standard deviation of a paid spin's scatter win in bets, from how often each number of scatters shows.
fn scatter_std_dev(game: &dyn Game, par: &Par) -> f64 {
    let pays = game.info().paytable.iter().filter(|row| row.scatter).map(|row| {
        let ways = par.combinations.iter().find(|of| of.symbol == row.symbol && of.count == row.count);
        (float(row.pays), float(ways.map_or(0, |of| of.ways)) / float(par.cycle))
    });
    std_dev(pays)
}

/// Standard deviation of the money in bets of the bonus that a paid spin starts, or does not.
fn bonus_std_dev(par: &Par) -> f64 {
    let starts = number(&par.features.bonus);
    std_dev(par.features.prizes.iter().filter_map(|(prize, chance)| match prize {
        PrizeInfo::Multiple(multiple) => Some((f64::from(*multiple), starts * number(chance))),
        PrizeInfo::FreeSpins(_) | PrizeInfo::Jackpot => None,
    }))
}

/// Of values with their chances; what is left of the chances is a value of 0.
fn std_dev(values: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (mean, square) = values
        .fold((0.0, 0.0), |(mean, square), (value, chance)| (mean + value * chance, square + value * value * chance));
    (square - mean * mean).sqrt()
}

/// The nearest float; 17 places are more than it holds.
fn number(exact: &Exact) -> f64 {
    decimal(exact, 17).parse().unwrap_or(f64::NAN)
}

#[allow(clippy::cast_precision_loss)] // An estimate needs no more than 53 bits.
fn float(count: impl Into<u128>) -> f64 {
    count.into() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_is_in_standard_errors() {
        // 10,000 rounds of spread 5 have a standard error of 0.05.
        let estimate = Estimate::new(10_000.0, 1.1, 36.0, 1.0, Some(5.0));
        assert!((estimate.sigmas - 2.0).abs() < 1e-9, "{estimate:?}");
        let by_sample = Estimate::new(10_000.0, 1.1, 25.0, 1.0, None);
        assert!((by_sample.sigmas - 2.0).abs() < 1e-9, "{by_sample:?}");
        let [low, high] = estimate.interval(10_000.0, 3.0).by_sample_std_dev;
        assert!((low - 0.92).abs() < 1e-9 && (high - 1.28).abs() < 1e-9, "{low} {high}");
    }

    #[test]
    fn the_spread_of_a_fair_coin_is_a_half() {
        assert!((std_dev([(1.0, 0.5)].into_iter()) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn the_sample_mean_and_spread_are_those_of_its_wins() {
        // Wins of 0 and 40 coins at a bet of 10: mean 2 bets, spread 2 bets.
        let sum = Sum { coins: 40, squares: 1600 };
        let estimate = Estimate::of(&sum, 2.0, 10.0, &Exact::from_integer(2.into()), None);
        assert_eq!((estimate.simulated, estimate.std_dev_sample, estimate.sigmas), (2.0, 2.0, 0.0));
    }

    /// The parts' exact spreads, held against a simulation's.
    #[test]
    fn exact_spreads_of_the_parts_are_near_the_samples() {
        let game = crate::commands::stake::newest("bewitched").unwrap();
        let stake = Stake { coin_value_micros: 100_000, lines: 15, coins_per_line: 1, buy_feature: false };
        let par = game.par(&stake).unwrap();
        let tally = motherlode_slots::simulate(game, &stake, 100_000, [3; 32]).unwrap();
        let report = Report::new(game, &stake, &par, &tally, [3; 32], 1, Duration::from_secs(1));
        for part in [report.rtp_parts.scatter, report.rtp_parts.bonus] {
            let ratio = part.std_dev_sample / part.std_dev_exact.unwrap();
            assert!((0.8..1.25).contains(&ratio), "{part:?}");
        }
        assert!(report.sigmas().abs() < 4.0);
        assert!(report.text().lines().all(|line| line.chars().count() <= 80), "{}", report.text());
    }
}
