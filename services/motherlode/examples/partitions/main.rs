//! Measures durable rounds per second for different numbers of partitions, on segment files and on JetStream with three
//! replicas.
//!
//! `cargo run --release -p motherlode --example partitions -- --seconds 1 --repeats 7` (after `tests/run nats`)
//!
//! Prints the rate of each setup divided by the rate of one partition on segment files in the same repeat, as median
//! and range over all repeats.

#[path = "../compare/process.rs"]
mod process;

use clap::Parser;
use motherlode_loadtest::Options;
use motherlode_testkit::nats::Cluster;
use process::Process;
use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const PARTITIONS: [u32; 3] = [1, 2, 4];
const LOADS: [(usize, bool); 2] = [(64, false), (256, true)];

#[derive(Parser)]
struct Args {
    /// Seconds per measurement.
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
    #[arg(long, default_value_t = 7)]
    repeats: usize,
    /// Folder for the temporary logs, on the disk to measure.
    #[arg(long, default_value = "target")]
    folder: PathBuf,
}

struct Service {
    name: String,
    process: Process,
}

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some("serve") {
        return motherlode::cli::main(motherlode_spin::Dealer::from_keys);
    }
    let args = Args::parse();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime.map_err(Into::into).and_then(|runtime| runtime.block_on(compare(&args))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("partitions: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn compare(args: &Args) -> Result<(), Box<dyn Error>> {
    let data = tempfile::tempdir_in(&args.folder)?;
    let cluster = Cluster::start(&data.path().join("servers"));
    let services = start(data.path(), &cluster)?;
    let time = Duration::from_secs_f64(args.seconds);
    for service in &services {
        played(service, 64, false, Duration::from_millis(500)).await?;
    }
    for (in_flight, stream) in LOADS {
        let mut rates = vec![vec![]; services.len()];
        for turn in 1..=args.repeats {
            for (service, rates) in services.iter().zip(&mut rates) {
                rates.push(played(service, in_flight, stream, time).await?);
            }
            let last: Vec<_> = rates.iter().filter_map(|rates| rates.last()).map(|rate| rate.round()).collect();
            eprintln!("{in_flight} in flight, turn {turn}: {last:?}");
        }
        let call = if stream { "PlayStream" } else { "unary" };
        println!(
            "\n| {call}, {in_flight} in flight | rounds/s, relative to one partition on segment files |\n|---|---|"
        );
        let first = rates.first().cloned().unwrap_or_default();
        for (Service { name, .. }, rates) in services.iter().zip(rates) {
            let mut shares: Vec<f64> = rates.iter().zip(&first).map(|(rate, first)| rate / first).collect();
            shares.sort_by(f64::total_cmp);
            let at = |place: usize| shares.get(place).copied().unwrap_or(f64::NAN);
            println!("| {name} | {:.2} ({:.2} to {:.2}) |", at(shares.len() / 2), at(0), at(shares.len() - 1));
        }
    }
    Ok(())
}

fn start(data: &Path, cluster: &Cluster) -> Result<Vec<Service>, Box<dyn Error>> {
    let mut services = vec![];
    for store in ["segment files", "JetStream, 3 replicas"] {
        for partitions in PARTITIONS {
            let folder = data.join(format!("{}-{partitions}", services.len()));
            fs::create_dir_all(&folder)?;
            let mut configuration = format!("listen = \"127.0.0.1:0\"\ndata = {folder:?}\npartitions = {partitions}\n");
            if store != "segment files" {
                let config = cluster.config(&format!("BENCH{partitions}"));
                let (url, stream, monitor) = (config.url.unwrap_or_default(), config.stream, config.monitor);
                configuration += &format!("[store]\nurl = {url:?}\nstream = {stream:?}\nmonitor = {monitor:?}\n");
            }
            let file = folder.join("motherlode.toml");
            fs::write(&file, configuration)?;
            let process = Process::start(&["serve", "--config", &file.display().to_string()], None)?;
            services.push(Service { name: format!("{store}, {partitions}"), process });
        }
    }
    Ok(services)
}

async fn played(service: &Service, in_flight: usize, stream: bool, time: Duration) -> Result<f64, Box<dyn Error>> {
    let options = Options {
        target: service.process.target(),
        rounds: 100_000_000,
        concurrency: in_flight,
        connections: 4,
        players: 4 * in_flight,
        stream,
        pid: Some(service.process.id()),
        time_max: time,
        ..Options::default()
    };
    let report = motherlode_loadtest::run(&options, &|_| ()).await?;
    if report.ok { Ok(report.rounds_per_second) } else { Err(format!("{}: {report}", service.name).into()) }
}
