//! Measures how many bytes the service allocates per round, and in how many allocations.
//!
//! `cargo run --release -p motherlode --example allocations -- --rounds 10000`
//!
//! The result is the difference between two runs, one twice as long as the other, so that the allocations of the set-up
//! cancel out.

use clap::Parser;
use motherlode_loadtest::Options;
use stats_alloc::{INSTRUMENTED_SYSTEM, Stats, StatsAlloc};
use std::{
    alloc::System,
    error::Error,
    io::{BufRead, BufReader, Lines, Write},
    process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio},
};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

#[derive(Parser)]
struct Args {
    /// Number of rounds in the first measured run; the second has twice as many.
    #[arg(long, default_value_t = 10_000)]
    rounds: u64,
}

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some("serve") {
        std::thread::spawn(|| {
            for _ in std::io::stdin().lines() {
                let Stats { allocations, reallocations, bytes_allocated, .. } = ALLOCATOR.stats();
                println!("counted {} {bytes_allocated}", allocations + reallocations);
            }
        });
        return motherlode::cli::main(motherlode_spin::Dealer::from_keys);
    }
    let args = Args::parse();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let done = runtime.map_err(Into::into).and_then(|runtime| runtime.block_on(measure(args.rounds)));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("allocations: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn measure(rounds: u64) -> Result<(), Box<dyn Error>> {
    println!("| | allocations per round | bytes per round |\n|---|---|---|");
    for (name, stream, concurrency, connections) in [
        ("unary, 64 in flight", false, 64, 4),
        ("unary, 64 in flight on one connection", false, 64, 1),
        ("unary, 1 in flight", false, 1, 1),
        ("PlayStream, 256 in flight", true, 256, 4),
    ] {
        let data = tempfile::tempdir()?;
        let mut service = Service::start(&data.path().display().to_string())?;
        let basis = Options {
            target: service.target.clone(),
            concurrency,
            connections,
            players: 256,
            stream,
            ..Options::default()
        };
        let mut used = vec![];
        for rounds in [rounds / 5, rounds, 2 * rounds] {
            let before = service.counted()?;
            let report = motherlode_loadtest::run(&Options { rounds, ..basis.clone() }, &|_| ()).await?;
            if !report.ok {
                return Err(report.to_string().into());
            }
            let after = service.counted()?;
            used.push([after[0] - before[0], after[1] - before[1]]);
        }
        let [allocations, bytes] = [0, 1].map(|of| used[2][of].saturating_sub(used[1][of]) / rounds);
        println!("| {name} | {allocations} | {bytes} |");
    }
    Ok(())
}

struct Service {
    child: Child,
    target: String,
    asked: ChildStdin,
    said: Lines<BufReader<ChildStdout>>,
}

impl Service {
    fn start(data: &str) -> Result<Self, Box<dyn Error>> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["serve", "--listen", "127.0.0.1:0", "--data", data]).env("RUST_LOG", "warn");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (Some(asked), Some(said)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("the service's input and output are not piped".into());
        };
        let mut service = Self { child, target: String::new(), asked, said: BufReader::new(said).lines() };
        let rest = service.heard("listens on ")?;
        service.target = format!("http://{}", rest.split(',').next().unwrap_or_default().trim());
        Ok(service)
    }

    fn counted(&mut self) -> Result<[u64; 2], Box<dyn Error>> {
        writeln!(self.asked)?;
        let said = self.heard("counted ")?;
        let (allocations, bytes) = said.split_once(' ').ok_or("the service printed a malformed line of counts")?;
        Ok([allocations.parse()?, bytes.parse()?])
    }

    fn heard(&mut self, words: &str) -> Result<String, Box<dyn Error>> {
        let line = self.said.by_ref().map_while(Result::ok).find_map(|line| Some(line.split_once(words)?.1.to_owned()));
        line.ok_or_else(|| "the service has ended".into())
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
