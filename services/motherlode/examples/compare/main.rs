//! Compares the service with two lower bounds: an empty gRPC echo, and a plain file with fdatasync.
//!
//! `cargo run --release -p motherlode --example compare -- --seconds 1 --repeats 9`
//!
//! Prints ratios of measurements in the same repeat, and the CPU time per call, each as median and range over all
//! repeats. Then measures latencies of rounds, echoes and appends at constant rates.

mod echo;
mod file;
mod guard;
mod process;
mod rates;
mod starts;
mod table;

use clap::Parser;
use guard::Identity;
use hdrhistogram::Histogram;
use motherlode_loadtest::{Cost, LatencyMs, Options};
use process::Process;
use std::{
    error::Error,
    path::{Path, PathBuf},
    process::ExitCode,
    time::{Duration, Instant},
};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Parser)]
struct Args {
    /// Seconds per measurement.
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
    #[arg(long, default_value_t = 9)]
    repeats: usize,
    #[arg(long, value_delimiter = ',', default_value = "1,64,256")]
    in_flight: Vec<usize>,
    /// Folder for the temporary log and plain file, on the disk to measure.
    #[arg(long, default_value = "target")]
    folder: PathBuf,
    #[arg(long, default_value_t = 4)]
    connections: usize,
    /// Constant rates, as fractions of the highest measured rate of unary rounds.
    #[arg(long, value_delimiter = ',', default_value = "0.3,0.6,0.8")]
    shares: Vec<f64>,
    /// Use TLS for the service and the echoes, and an operator's token for the service.
    #[arg(long)]
    guarded: bool,
    /// Store the log on the JetStream server at nats://host:port, with one replica.
    #[arg(long)]
    store: Option<String>,
}

const RECORD_BYTES: usize = 350;

#[derive(Debug, Clone, Copy)]
struct Cell {
    rate: f64,
    p50: f64,
    p99: f64,
    cost: Option<(Cost, Cost)>,
}

#[derive(Debug, Clone, Copy)]
enum Way {
    Echo,
    /// Echo on a single-threaded runtime.
    Lean,
    File,
    Unary,
    Stream,
}

const WAYS: [Way; 5] = [Way::Echo, Way::Lean, Way::File, Way::Unary, Way::Stream];

struct Turn {
    in_flight: usize,
    cells: [Cell; WAYS.len()],
    sync_ms: f64,
}

impl Turn {
    fn cell(&self, way: Way) -> Cell {
        self.cells[way as usize]
    }
}

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("serve") => return motherlode::cli::main(motherlode_spin::Dealer::from_keys),
        Some("echo") => {
            return ended(echo::serve(
                std::thread::available_parallelism().map_or(1, |processors| processors.get().div_ceil(2)),
                std::env::args().nth(2),
            ));
        }
        Some("lean") => return ended(echo::serve(0, std::env::args().nth(2))),
        _ => {}
    }
    let args = Args::parse();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    ended(runtime.map_err(Into::into).and_then(|runtime| runtime.block_on(compare(&args))))
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

fn ended(done: Result<(), Box<dyn Error>>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("compare: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn compare(args: &Args) -> Result<(), Box<dyn Error>> {
    std::fs::create_dir_all(&args.folder)?;
    let data = tempfile::tempdir_in(&args.folder)?;
    let identity = if args.guarded { Some(Identity::make()?) } else { None };
    let keys = tempfile::tempdir()?;
    let mut config = String::new();
    if let Some(identity) = &identity {
        config += &identity.write(keys.path())?;
    }
    if args.store.is_some() {
        config += "[store]\nreplicas = 1\nallow_unsafe = {replicas = true, sync_interval = true}\n";
    }
    let file = keys.path().join("config.toml");
    std::fs::write(&file, config)?;
    let (data_path, file, keys_path) = (text(data.path()), text(&file), text(keys.path()));
    let mut words = vec!["serve", "--listen", "127.0.0.1:0", "--data", &data_path, "--config", &file];
    let store = args.store.as_ref().map(|url| format!("{url}/compare-{}", std::process::id()));
    if let Some(store) = &store {
        words.extend(["--store", store]);
    }
    let folder = args.guarded.then_some(keys_path.as_str());
    let start = |words: &[&str]| Process::start(words, identity.as_ref().map(Identity::credentials));
    let service = start(&words)?;
    let echoes = |kind| start(&[&[kind], folder.as_slice()].concat());
    let (echo, lean) = (echoes("echo")?, echoes("lean")?);
    let time = Duration::from_secs_f64(args.seconds);
    played(&service, args, 64, false, Duration::from_millis(500)).await?;
    let record = if args.store.is_some() { RECORD_BYTES } else { record_bytes(data.path())? };
    eprintln!("a commit is {record} bytes on average");
    let file = file::Plain::create(data.path(), record)?;
    let mut table = vec![];
    for &in_flight in &args.in_flight {
        let mut turns = vec![];
        for number in 0..args.repeats {
            let none = Cell { rate: 0.0, p50: 0.0, p99: 0.0, cost: None };
            let mut turn = Turn { in_flight, cells: [none; WAYS.len()], sync_ms: 0.0 };
            for nth in 0..WAYS.len() {
                let way = WAYS[(number + nth) % WAYS.len()];
                turn.cells[way as usize] = match way {
                    Way::Echo => echo::measure(&echo, args.connections, in_flight, time, None).await?,
                    Way::Lean => echo::measure(&lean, args.connections, in_flight, time, None).await?,
                    Way::File => {
                        let (appends, sync_ms) = file::measure(&file, in_flight, time, None).await?;
                        turn.sync_ms = sync_ms;
                        appends
                    }
                    Way::Unary => played(&service, args, in_flight, false, time).await?,
                    Way::Stream => played(&service, args, in_flight, true, time).await?,
                };
                eprintln!("{in_flight} in flight, turn {}: {way:?} {:?}", number + 1, turn.cell(way));
            }
            eprintln!("  a sync {:.3} ms", turn.sync_ms);
            turns.push(turn);
        }
        table.push((in_flight, turns));
    }
    table::print(&table);
    rates::measure((&service, &echo), args, &file, &table).await
}

async fn played(
    service: &Process,
    args: &Args,
    in_flight: usize,
    stream: bool,
    time: Duration,
) -> Result<Cell, Box<dyn Error>> {
    let options = Options {
        target: service.target(),
        credentials: service.credentials.clone().unwrap_or_default(),
        rounds: 100_000_000,
        concurrency: in_flight,
        connections: args.connections,
        players: 4 * in_flight,
        stream,
        pid: Some(service.id()),
        time_max: time,
        ..Options::default()
    };
    let report = motherlode_loadtest::run(&options, &|_| ()).await?;
    if !report.ok {
        return Err(report.to_string().into());
    }
    let (rate, LatencyMs { p50, p99, .. }) = (report.rounds_per_second, report.latency_ms);
    Ok(Cell { rate, p50, p99, cost: report.cost.zip(report.client_cost) })
}

fn record_bytes(data: &std::path::Path) -> Result<usize, Box<dyn Error>> {
    let (mut count, mut bytes) = (0, 0);
    for record in motherlode_log::scan(&motherlode_server::log_folder(data, 0))? {
        count += 1;
        bytes += record?.bytes.len();
    }
    Ok(bytes / std::cmp::max(count, 1))
}

fn cell(latencies: &Histogram<u64>, took: Duration) -> Cell {
    let ms = |quantile| Duration::from_nanos(latencies.value_at_quantile(quantile)).as_secs_f64() * 1e3;
    #[allow(clippy::cast_precision_loss, reason = "for display")]
    let rate = latencies.len() as f64 / took.as_secs_f64();
    Cell { rate, p50: ms(0.5), p99: ms(0.99), cost: None }
}

fn nanos(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1_000, 600_000_000_000, 3).expect("the histogram's bounds are valid")
}
