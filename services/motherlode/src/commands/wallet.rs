use super::{Failure, read_text, say};
use motherlode_runtime::config::{Seamless, WalletProtocol};
use motherlode_slots::latest_games;
use motherlode_wallet::check::{Options, Players, check, names};
use std::{path::PathBuf, time::Duration};

const PLAYERS: &str = "\
operator = \"acme\"
currency = \"EUR\"
player = \"check-1\"                # no one else may play or pay as these players during the check
other_player = \"check-2\"
session = \"check-session\"         # session reference of the calls; default: empty
# game = \"...\"                   # default: one of the games
# Each of these enables further cases:
# blocked_player = \"check-3\"      # receives 1 minor unit
# limited_player = \"check-4\"
# limit_minor = 100000
# expired_session = \"old-session\"
# currencies = { JPY = \"check-5\", KWD = \"check-6\" }
";

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Run the wallet contract's test cases against an operator's wallet, and report each result.
    Check(Check),
    /// Print a template of the file that names the players.
    Players,
    /// List the test cases.
    Cases,
}

#[derive(Debug, clap::Args)]
struct Check {
    /// Address of the wallet, such as https://wallet.acme.example:443.
    #[arg(long)]
    url: String,
    /// TOML file that names the players; see `motherlode wallet players`.
    #[arg(long, value_name = "FILE")]
    players: PathBuf,
    /// File with the signing key of the JSON protocol; without it, the wallet is called over gRPC.
    #[arg(long, value_name = "FILE")]
    signing_key_file: Option<PathBuf>,
    /// File with the bearer token; only for gRPC.
    #[arg(long, value_name = "FILE", conflicts_with = "signing_key_file")]
    token_file: Option<PathBuf>,
    /// Root certificate for https, in PEM; default: the system's root certificates.
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Timeout of a call in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 2_000, value_parser = clap::value_parser!(u64).range(1..=60_000))]
    answer_ms_max: u64,
    /// Seconds within which a tester must restart the wallet; 0 skips the restart case.
    #[arg(long, value_name = "SECONDS", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=3_600))]
    restart_within: u64,
    /// Run only this case; may be repeated. See `motherlode wallet cases`.
    #[arg(long = "case", value_name = "NAME")]
    cases: Vec<String>,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    match &args.what {
        What::Check(args) => run_check(args),
        What::Players => say(PLAYERS),
        What::Cases => say(&names().map(|name| format!("{name}\n")).collect::<String>()),
    }
}

fn run_check(args: &Check) -> Result<(), Failure> {
    let step = "`motherlode wallet players` prints a template of the file";
    let text = read_text(&args.players, step)?;
    let mut players: Players = toml::from_str(&text)
        .map_err(|error| Failure::unusable(format!("{}: {error}", args.players.display())).with_step(step))?;
    if let Some(unknown) = args.cases.iter().find(|case| names().all(|name| name != case.as_str())) {
        return Err(Failure::unusable(format!("the wallet contract has no test case {unknown}"))
            .with_step("See `motherlode wallet cases`"));
    }
    if players.game.is_empty() {
        players.game = latest_games().first().map_or("", |game| game.name()).to_owned();
    }
    let settings = settings(args)?;
    let options = Options { cases: args.cases.clone(), restart_within: Duration::from_secs(args.restart_within) };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Failure::found)?;
    let report = runtime.block_on(check(&settings, players, options, |line| eprintln!("{line}")));
    let report = report.map_err(|error| Failure::unusable(error.to_string()))?;
    say(&report.to_string())?;
    match report.failed().count() {
        0 => Ok(()),
        _ => Err(Failure::found("")),
    }
}

fn settings(args: &Check) -> Result<Seamless, Failure> {
    let protocol = if args.signing_key_file.is_some() { WalletProtocol::Json } else { WalletProtocol::Grpc };
    let settings = Seamless {
        signing_key_file: args.signing_key_file.clone(),
        token_file: args.token_file.clone(),
        ca: args.ca.clone(),
        answer_ms_max: args.answer_ms_max,
        ..Seamless::new(&args.url, protocol)
    };
    if !settings.is_private() {
        return Err(Failure::unusable("--url must begin with https://, or with http:// for a wallet on this machine"));
    }
    Ok(settings)
}
