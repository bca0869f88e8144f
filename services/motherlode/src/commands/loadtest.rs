//! Exit code 1 means that a threshold is exceeded or the books do not match, 2 that the arguments are unusable.

use super::{
    Failure, Format, say,
    stake::{StakeArgs, newest},
};
use crate::{figures, target::Target};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use motherlode_loadtest::{Options, Report, Thresholds};
use motherlode_state::CoinValue;
use std::{cell::Cell, time::Duration};

#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// Operator of the simulated players; if a token is used, it must belong to this operator.
    #[arg(long, value_name = "NAME", default_value = "loadtest")]
    operator: String,
    /// Deposit nothing: the operator's seamless wallet has enough money for each player.
    #[arg(long)]
    seamless: bool,
    /// Rounds to play.
    #[arg(long, value_name = "N", default_value = "20_000", value_parser = figures::count)]
    rounds: u64,
    /// Rounds in flight.
    #[arg(long, value_name = "C", default_value_t = 64)]
    concurrency: usize,
    /// Number of connections, shared by the rounds in flight.
    #[arg(long, value_name = "K", default_value_t = 4)]
    connections: usize,
    /// Number of players; each plays one round at a time.
    #[arg(long, value_name = "P", default_value_t = 1_000)]
    players: usize,
    /// Use existing players of the game, named PREFIX00000000 and so on, instead of new ones.
    #[arg(long, value_name = "PREFIX")]
    existing: Option<String>,
    /// Rounds to start per second. Latencies are measured from the scheduled starts. Default: no limit.
    #[arg(long, value_name = "R")]
    rate: Option<f64>,
    /// Play over PlayStream, one stream per connection.
    #[arg(long)]
    stream: bool,
    /// Game to play.
    #[arg(long, value_name = "GAME", default_value_t = motherlode_slots::standard().name().to_owned())]
    game: String,
    #[command(flatten)]
    stake: StakeArgs,
    /// Number of concurrent readers that page through the players' histories.
    #[arg(long, value_name = "N", default_value_t = 0)]
    readers: usize,
    /// Process id of a service on this machine, to report its processor time, context switches and memory.
    #[arg(long, value_name = "PID")]
    pid: Option<u32>,
    /// Seconds after which no further round starts.
    #[arg(long, value_name = "S", default_value_t = 300)]
    seconds_max: u64,
    /// Highest accepted p99 latency of all calls, in milliseconds.
    #[arg(long, value_name = "MS")]
    max_p99_ms: Option<f64>,
    /// Highest accepted share of failed calls, 0 to 1.
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    max_error_rate: f64,
    /// Allow other players on the service. The contributions that the pool received may then exceed those of the load
    /// test's bets.
    #[arg(long)]
    shared: bool,
    /// Format of the report.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl Args {
    fn options(&self) -> Result<Options, Failure> {
        let game = newest(&self.game)?;
        let stake = self.stake.checked(game)?;
        Ok(Options {
            target: self.target.url.clone(),
            credentials: self.target.credentials()?,
            operator: self.operator.clone(),
            seamless: self.seamless,
            rounds: self.rounds,
            concurrency: self.concurrency,
            connections: self.connections,
            players: self.players,
            existing: self.existing.clone(),
            rate: self.rate,
            stream: self.stream,
            game: self.game.clone(),
            lines: stake.lines,
            coins_per_line: stake.coins_per_line,
            coin_value: CoinValue(stake.coin_value_micros),
            buy_feature: stake.buy_feature,
            bet_coins: game.check_stake(&stake).map_err(Failure::unusable)?,
            readers: self.readers,
            pid: self.pid,
            time_max: Duration::from_secs(self.seconds_max),
            shared: self.shared,
            thresholds: Thresholds { p99_ms_max: self.max_p99_ms, error_rate_max: self.max_error_rate },
        })
    }
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let interrupted = Cell::new(false);
    let options = args.options()?;
    let report = play(&options, &args.target, &interrupted)?;
    say(&match args.format {
        Format::Text => report.to_string(),
        Format::Json => super::json(&report)?,
    })?;
    match (interrupted.get(), report.ok) {
        (true, _) => {
            Err(Failure::found(format!("interrupted: {} of {} rounds were played", report.rounds, options.rounds)))
        }
        (false, true) => Ok(()),
        (false, false) => Err(Failure::found("")),
    }
}

fn play(options: &Options, target: &Target, interrupted: &Cell<bool>) -> Result<Report, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::found)?;
    let bar = progress(options);
    // The first Ctrl-C ends the run with a report; the second ends the process at once.
    let interrupt = async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        interrupted.set(true);
        tokio::spawn(async {
            if tokio::signal::ctrl_c().await.is_ok() {
                std::process::exit(130);
            }
        });
    };
    let played =
        runtime.block_on(motherlode_loadtest::run_until(options, &|rounds| bar.set_position(rounds), interrupt));
    bar.finish_and_clear();
    played.map_err(|error| match error.is_unusable_input() {
        true => Failure::unusable(error),
        false => runtime.block_on(target.connect()).err().unwrap_or_else(|| Failure::found(error)),
    })
}

fn progress(options: &Options) -> ProgressBar {
    let style = "{bar:40} {pos}/{len} rounds, {per_sec}";
    let bar = ProgressBar::with_draw_target(Some(options.rounds), ProgressDrawTarget::stderr());
    match ProgressStyle::with_template(style) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use motherlode_log::MemoryStore;
    use motherlode_runtime::Config;
    use motherlode_server::Server;
    use motherlode_spin::Dealer;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        args: Args,
    }

    fn run_with(words: &str) -> Result<(), Failure> {
        let words = format!("loadtest {words}");
        run(&Cli::try_parse_from(words.split_whitespace()).unwrap().args)
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_run_within_its_thresholds_ends_well_and_one_beyond_them_with_exit_code_1() {
        let data = tempfile::tempdir().unwrap();
        let config = Config { listen: ([127, 0, 0, 1], 0).into(), data: data.path().to_owned(), ..Config::default() };
        let store = Box::new(MemoryStore::new(0));
        let (ledger, dealer) = (motherlode_ledger::Options::default(), Dealer::from_master([7; 32]));
        let server = Server::start(&config, store, ledger, dealer).await.unwrap();
        let basis = format!("--target http://{} --rounds 100 --players 64", server.address());
        let ran = |words: &str| {
            let words = format!("{basis} {words}");
            tokio::task::spawn_blocking(move || run_with(&words))
        };
        assert_eq!(ran("--format json").await.unwrap(), Ok(()));
        assert_eq!(ran("--max-p99-ms 0.000001").await.unwrap(), Err(Failure::found("")));
        server.stop().await.unwrap();
    }

    #[test]
    fn unusable_arguments_are_exit_code_2_and_nobody_there_is_1() {
        for words in ["--players 3", "--target there", "--rate 0", "--max-error-rate 2", "--seconds-max 0"] {
            assert_eq!(run_with(words).unwrap_err().code, 2, "{words}");
        }
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        assert_eq!(run_with(&format!("--target http://{address}")).unwrap_err().code, 1);
    }
}
