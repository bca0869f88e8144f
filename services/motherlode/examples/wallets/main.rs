//! Measures durable rounds per second with seamless wallets of different latencies, relative to a transfer wallet. Also
//! measures an operator's p99 latency while the wallet of another operator does not answer.
//!
//! `cargo run --release -p motherlode --example wallets -- --seconds 1 --repeats 5`
//!
//! Prints ratios of measurements in the same repeat, as median and range over all repeats.

mod closes;
#[path = "../compare/process.rs"]
mod process;
mod wallet;

use clap::Parser;
use motherlode_loadtest::{LatencyMs, Options};
use motherlode_proto::{
    ledger::v1::{OpenAccountRequest, ledger_service_client::LedgerServiceClient},
    round::v1::{Account, Stake},
    spin::v1::{SpinRequest, spin_service_client::SpinServiceClient},
};
use motherlode_runtime::{
    access::digest,
    connect::{Credentials, connect},
};
use process::Process;
use std::{error::Error, fs, path::PathBuf, process::ExitCode, time::Duration};
use tokio::task::JoinSet;
use tonic::Request;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const TRANSFER: &str = "transfer";
const HANGING: &str = "hanging";
const ASKED_AGAIN_AFTER: Duration = Duration::from_secs(1);
const CALLS_A_CONNECTION: usize = 256;

#[derive(Parser)]
struct Args {
    /// Seconds per measurement.
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
    #[arg(long, default_value_t = 5)]
    repeats: usize,
    /// Rounds in flight.
    #[arg(long, value_delimiter = ',', default_value = "64,256,4096")]
    in_flight: Vec<usize>,
    /// Latencies of the wallets in milliseconds.
    #[arg(long, value_delimiter = ',', default_value = "0,5,50")]
    wallets: Vec<u64>,
    /// Rounds per second of the operator whose latency is measured while the other wallet does not answer.
    #[arg(long, default_value_t = 300.0)]
    rate: f64,
    /// Number of bets in flight to the wallet that does not answer.
    #[arg(long, default_value_t = 256)]
    hanging: usize,
    /// Only measure the cost of reporting round ends, with the first wallet of --wallets.
    #[arg(long)]
    closes: bool,
    /// Folder for the temporary log, on the disk to measure.
    #[arg(long, default_value = "target")]
    folder: PathBuf,
}

fn main() -> ExitCode {
    let ended = match std::env::args().nth(1).as_deref() {
        Some("serve") => return motherlode::cli::main(motherlode_spin::Dealer::from_keys),
        Some("wallet") => wallet::serve(std::env::args().nth(2).and_then(|ms| ms.parse().ok())),
        _ => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.map_err(Into::into).and_then(|runtime| runtime.block_on(compare(&Args::parse())))
        }
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("wallets: {error}");
            ExitCode::FAILURE
        }
    }
}

struct Running {
    service: Process,
    _wallets: Vec<Process>,
}

fn start(args: &Args, folder: &std::path::Path) -> Result<Running, Box<dyn Error>> {
    let mut wallets = vec![];
    let mut configuration = format!("listen = \"127.0.0.1:0\"\ndata = {folder:?}\n{}", operator(TRANSFER, ""));
    for ms in &args.wallets {
        let wallet = Process::start(&["wallet", &ms.to_string()], None)?;
        let url = wallet.target();
        let seamless =
            format!("wallet = \"seamless\"\nseamless = {{ url = {url:?}, bets_max = 65536, credits_max = 1024 }}\n");
        configuration += &operator(&named(*ms), &seamless);
        if wallets.is_empty() {
            let silent = seamless.replacen(" }", ", close_rounds = false }", 1);
            configuration += &operator(closes::UNREPORTED, &silent);
        }
        wallets.push(wallet);
    }
    let wallet = Process::start(&["wallet", "hangs"], None)?;
    let seamless = format!("wallet = \"seamless\"\nseamless = {{ url = {:?} }}\n", wallet.target());
    configuration += &operator(HANGING, &seamless);
    wallets.push(wallet);
    let file = folder.join("motherlode.toml");
    fs::write(&file, configuration)?;
    let service = Process::start(&["serve", "--config", &file.display().to_string()], None)?;
    Ok(Running { service, _wallets: wallets })
}

fn named(ms: u64) -> String {
    format!("seamless-{ms}")
}

fn token(operator: &str) -> String {
    format!("the-token-of-{operator}-long-enough-to-be-one")
}

fn operator(id: &str, wallet: &str) -> String {
    let digest = digest(token(id).as_bytes());
    format!(
        "[[operators]]\nid = {id:?}\n{wallet}[[operators.credentials]]\nname = \"bench\"\ntoken_sha256 = \"{digest}\"\n\
         roles = [\"play\", \"wallet\", \"support\", \"audit\"]\n"
    )
}

fn credentials(operator: &str) -> Credentials {
    Credentials { token: Some(token(operator)), ..Credentials::default() }
}

async fn compare(args: &Args) -> Result<(), Box<dyn Error>> {
    let data = tempfile::tempdir_in(&args.folder)?;
    let running = start(args, &fs::canonicalize(data.path())?)?;
    if args.closes {
        return closes::compare(args, &running).await;
    }
    let operators: Vec<_> = [TRANSFER.to_owned()].into_iter().chain(args.wallets.iter().map(|ms| named(*ms))).collect();
    for operator in &operators {
        played(&running, args, operator, 64, None).await?;
    }
    println!("| rounds/s, relative to a transfer wallet | {} |", columns(&args.in_flight));
    println!("|---{}|", "|---".repeat(args.in_flight.len()));
    let mut rows = vec![vec![]; operators.len()];
    for &in_flight in &args.in_flight {
        let mut rates = vec![vec![]; operators.len()];
        for turn in 0..args.repeats {
            for nth in 0..operators.len() {
                let which = (turn + nth) % operators.len();
                rates[which].push(played(&running, args, &operators[which], in_flight, None).await?.0);
            }
            let last: Vec<_> = rates.iter().filter_map(|rates| rates.last()).map(|rate| rate.round()).collect();
            eprintln!("{in_flight} in flight, turn {}: {last:?}", turn + 1);
        }
        for (row, of) in rows.iter_mut().zip(&rates) {
            row.push(span(of.iter().zip(&rates[0]).map(|(rate, first)| rate / first).collect()));
        }
    }
    for (ms, row) in args.wallets.iter().zip(rows.iter().skip(1)) {
        println!("| wallet latency {ms} ms | {} |", row.join(" | "));
    }
    beside_one_that_hangs(args, &running).await
}

fn columns(in_flight: &[usize]) -> String {
    in_flight.iter().map(|count| format!("{count} in flight")).collect::<Vec<_>>().join(" | ")
}

fn span(mut of: Vec<f64>) -> String {
    of.sort_by(f64::total_cmp);
    let at = |place: usize| of.get(place).copied().unwrap_or(f64::NAN);
    format!("{:.2} ({:.2} to {:.2})", at(of.len() / 2), at(0), at(of.len().saturating_sub(1)))
}

async fn played(
    running: &Running,
    args: &Args,
    operator: &str,
    in_flight: usize,
    rate: Option<f64>,
) -> Result<(f64, LatencyMs), Box<dyn Error>> {
    let options = Options {
        target: running.service.target(),
        credentials: credentials(operator),
        operator: operator.to_owned(),
        seamless: operator != TRANSFER,
        rounds: 10_000_000,
        concurrency: in_flight,
        connections: 4.max(in_flight / CALLS_A_CONNECTION),
        players: 2 * in_flight,
        rate,
        pid: Some(running.service.id()),
        time_max: Duration::from_secs_f64(args.seconds),
        ..Options::default()
    };
    let report = motherlode_loadtest::run(&options, &|_| ()).await?;
    if report.ok {
        Ok((report.rounds_per_second, report.latency_ms))
    } else {
        Err(format!("{operator}: {report}").into())
    }
}

async fn beside_one_that_hangs(args: &Args, running: &Running) -> Result<(), Box<dyn Error>> {
    let mut ratios = vec![];
    for turn in 0..args.repeats {
        let mut p99 = [0.0; 2];
        for nth in 0..2 {
            let beside = (turn + nth) % 2;
            let bets = if beside == 1 { hang(args, running).await? } else { JoinSet::new() };
            p99[beside] = played(running, args, TRANSFER, 64, Some(args.rate)).await?.1.p99;
            if beside == 1 && bets.is_empty() {
                return Err("no bet waits for the hanging wallet".into());
            }
        }
        eprintln!("p99 alone and with the hanging wallet, turn {}: {p99:?} ms", turn + 1);
        ratios.push(p99[1] / p99[0]);
    }
    println!(
        "\nAnother operator's p99 while {} bets wait for a hanging wallet, relative to its p99 alone: {}",
        args.hanging,
        span(ratios)
    );
    Ok(())
}

async fn hang(args: &Args, running: &Running) -> Result<JoinSet<()>, Box<dyn Error>> {
    let connection = connect(&running.service.target(), &credentials(HANGING), None).await?;
    let mut run = [0; 8];
    getrandom::fill(&mut run)?;
    let run = u64::from_be_bytes(run);
    let mut bets = JoinSet::new();
    for number in 0..args.hanging {
        let account = Some(Account {
            operator_id: HANGING.to_owned(),
            player_id: format!("{run:016x}-{number}"),
            currency_code: "EUR".to_owned(),
        });
        let (mut ledger, mut spins) =
            (LedgerServiceClient::new(connection.clone()), SpinServiceClient::new(connection.clone()));
        let open = OpenAccountRequest { request_id: "open".to_owned(), account: account.clone() };
        ledger.open_account(open).await?;
        bets.spawn(async move {
            let Options { game, lines, coins_per_line, coin_value, .. } = Options::default();
            let stake = Stake { coin_value: coin_value.to_string(), lines, coins_per_line, buy_feature: false };
            let bet = SpinRequest {
                request_id: "r".to_owned(),
                account,
                game,
                stake: Some(stake),
                witch: 1,
                ..Default::default()
            };
            loop {
                let mut request = Request::new(bet.clone());
                request.set_timeout(Duration::from_secs(1));
                let refused = spins.spin(request).await.is_err();
                assert!(refused, "the hanging wallet has confirmed a bet");
                tokio::time::sleep(ASKED_AGAIN_AFTER).await;
            }
        });
    }
    Ok(bets)
}
