use motherlode_runtime::connect::Credentials;
use motherlode_slots::standard;
use motherlode_state::{CoinValue, Currency, Minor, cash};
use std::time::Duration;

/// Maximum number of rounds. The deposits for this number of rounds fit into one balance even at the highest bet.
pub const ROUNDS_MAX: u64 = 10_000_000_000;
const CONCURRENCY_MAX: usize = 65_536;
const CONNECTIONS_MAX: usize = 1024;
const PLAYERS_MAX: usize = 10_000_000;

#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    pub target: String,
    pub credentials: Credentials,
    pub operator: String,
    pub seamless: bool,
    pub rounds: u64,
    pub concurrency: usize,
    pub connections: usize,
    /// Number of players. The number must be at least `concurrency`, because each player plays one round at a time.
    pub players: usize,
    pub existing: Option<String>,
    pub rate: Option<f64>,
    pub stream: bool,
    pub game: String,
    pub lines: u32,
    pub coins_per_line: u32,
    pub buy_feature: bool,
    pub bet_coins: u32,
    pub coin_value: CoinValue,
    pub readers: usize,
    pub pid: Option<u32>,
    pub time_max: Duration,
    pub shared: bool,
    pub thresholds: Thresholds,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thresholds {
    pub p99_ms_max: Option<f64>,
    pub error_rate_max: f64,
}

impl Default for Options {
    fn default() -> Self {
        let game = standard();
        let limits = &game.info().limits;
        let (lines, coins_per_line) = (limits.lines.1, limits.coins_per_line.0);
        Self {
            target: "http://127.0.0.1:50051".to_owned(),
            credentials: Credentials::default(),
            operator: "loadtest".to_owned(),
            seamless: false,
            rounds: 20_000,
            concurrency: 64,
            connections: 4,
            players: 1_000,
            existing: None,
            rate: None,
            stream: false,
            game: game.name().to_owned(),
            lines,
            coins_per_line,
            buy_feature: false,
            bet_coins: lines * coins_per_line,
            coin_value: CoinValue(100_000),
            readers: 0,
            pid: None,
            time_max: Duration::from_secs(300),
            shared: false,
            thresholds: Thresholds { p99_ms_max: None, error_rate_max: 0.0 },
        }
    }
}

impl Options {
    pub fn check(&self) -> Result<(), String> {
        let ranged = [
            ("rounds", self.rounds, 1, ROUNDS_MAX),
            ("concurrency", self.concurrency as u64, 1, CONCURRENCY_MAX as u64),
            ("connections", self.connections as u64, 1, CONNECTIONS_MAX as u64),
            ("players", self.players as u64, 1, PLAYERS_MAX as u64),
        ];
        for (name, value, low, high) in ranged {
            if !(low..=high).contains(&value) {
                return Err(format!("--{name} is {value}; it must be {low} to {high}"));
            }
        }
        if self.players < self.concurrency {
            let (players, concurrency) = (self.players, self.concurrency);
            return Err(format!(
                "--players {players} is below --concurrency {concurrency}: a player plays one round at a time"
            ));
        }
        if self.readers > CONCURRENCY_MAX {
            return Err(format!("--readers is {}; it must be at most {CONCURRENCY_MAX}", self.readers));
        }
        if self.time_max.is_zero() {
            return Err("--seconds-max must be above 0".to_owned());
        }
        if self.rate.is_some_and(|rate| !(rate.is_finite() && (0.001..=1e7).contains(&rate))) {
            return Err("--rate must be 0.001 to 10000000 rounds per second".to_owned());
        }
        if self.thresholds.p99_ms_max.is_some_and(|limit| !(limit.is_finite() && limit > 0.0)) {
            return Err("--max-p99-ms must be above 0".to_owned());
        }
        if !(0.0..=1.0).contains(&self.thresholds.error_rate_max) {
            return Err("--max-error-rate must be a share from 0 to 1, not a percentage".to_owned());
        }
        self.deposit().map(|_| ())
    }

    pub(crate) fn deposit(&self) -> Result<i64, String> {
        let bet = cash(self.bet_coins.into(), self.coin_value, Currency::EUR).ok().filter(|bet| *bet > Minor(0));
        let deposit = bet.and_then(|bet| bet.0.checked_mul(i64::try_from(self.rounds).ok()?.checked_add(1)?));
        deposit.ok_or_else(|| "the stake times the number of rounds exceeds the largest allowed deposit".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_usable() {
        assert_eq!(Options::default().check(), Ok(()));
    }

    #[test]
    fn what_is_out_of_range_is_refused_by_name() {
        let is = Options::default;
        let limit = |p99_ms_max, error_rate_max| Thresholds { p99_ms_max, error_rate_max };
        for (options, named) in [
            (Options { rounds: 0, ..is() }, "--rounds"),
            (Options { concurrency: 0, ..is() }, "--concurrency"),
            (Options { connections: 0, ..is() }, "--connections"),
            (Options { players: 63, ..is() }, "--players 63"),
            (Options { rate: Some(0.0), ..is() }, "--rate"),
            (Options { rate: Some(f64::NAN), ..is() }, "--rate"),
            (Options { time_max: Duration::ZERO, ..is() }, "--seconds-max"),
            (Options { thresholds: limit(Some(0.0), 0.0), ..is() }, "--max-p99-ms"),
            (Options { thresholds: limit(None, 1.5), ..is() }, "--max-error-rate"),
            (Options { bet_coins: 0, ..is() }, "the stake"),
            (Options { bet_coins: u32::MAX, coin_value: CoinValue(u64::MAX), ..is() }, "the stake"),
        ] {
            let refused = options.check().unwrap_err();
            assert!(refused.contains(named), "{refused}");
        }
    }

    #[test]
    fn a_player_can_lose_every_round_and_the_warm_up() {
        assert_eq!(Options { rounds: 3, ..Options::default() }.deposit(), Ok(150 * 4));
    }
}
