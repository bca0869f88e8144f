//! `serve`: all services in one process, or those of a role.

use super::Failure;
use crate::{
    place::{Place, read_config},
    server::Server,
    writing::{Stage, write},
};
use motherlode_ledger::{Options, Standing};
use motherlode_runtime::{Config, config::Role, stop, telemetry};
use motherlode_spin::Dealer;
use std::{
    io::Write,
    net::{SocketAddr, TcpListener},
    path::PathBuf,
};

/// What `serve` can be told; the command line wins over the file.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Address to listen on; port 0 lets the system choose. Default 127.0.0.1:50051.
    #[arg(long, value_name = "ADDR")]
    listen: Option<SocketAddr>,
    /// Folder of the log and its index. Default ./data.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Keep the log on JetStream: nats://host:port,host:port,... The index stays in the folder.
    #[arg(long, value_name = "URL")]
    store: Option<String>,
    /// Partitions of the log, 1 to 64: fixed for ever when it's made. Default 1.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    partitions: Option<u32>,
    /// What this process does: all, ledger, spin or jackpot. Default all.
    #[arg(long, value_name = "ROLE")]
    role: Option<Role>,
    /// The processes with the log, for the roles without: http://host:port,... Their index stays in the folder.
    #[arg(long, value_name = "URL", value_delimiter = ',')]
    ledger: Vec<String>,
    /// The partitions that this process writes, of the role ledger; it has the others from those that --ledger names. Default
    /// all.
    #[arg(long, value_name = "N", value_delimiter = ',')]
    writes: Vec<u32>,
    /// Configuration file (TOML).
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl Args {
    fn config(&self) -> Result<Config, Failure> {
        let mut config = read_config(self.config.as_deref())?;
        if let Some(url) = &self.store {
            config.store = config.store.at(url).map_err(Failure::unusable)?;
        }
        config.listen = self.listen.unwrap_or(config.listen);
        config.partitions = self.partitions.unwrap_or(config.partitions);
        config.data = self.data.clone().unwrap_or(config.data);
        config.role = self.role.unwrap_or(config.role);
        if !self.ledger.is_empty() {
            config.ledger.targets.clone_from(&self.ledger);
        }
        if !self.writes.is_empty() {
            config.ledger.writes = self.writes.iter().copied().collect();
        }
        config.check_role().map_err(Failure::unusable)?;
        Ok(config)
    }
}

/// Serves until a signal.
///
/// # Errors
/// [`Failure`] says what could not be opened, bound or replayed.
pub fn run(args: &Args) -> Result<(), Failure> {
    let config = args.config()?;
    let threads = match config.worker_threads {
        0 => std::thread::available_parallelism().map_or(1, |processors| processors.get().div_ceil(2)),
        threads => threads,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build();
    let runtime = runtime.map_err(Failure::found)?;
    runtime.block_on(async {
        let _telemetry = telemetry::start("motherlode", &config.telemetry).map_err(Failure::unusable)?;
        let signalled = stop::signalled().map_err(Failure::found)?;
        let options = Options {
            queue_length_max: config.limits.queue_length_max,
            batch_commits_max: config.limits.batch_commits_max,
            ..Options::default()
        };
        let dealer = Dealer::new().map_err(Failure::found)?;
        if config.role.has_log() {
            let said = |stage: Stage<'_>| match stage {
                Stage::Serves(server) => announce(server, &config),
                Stage::StandsBy(listener) => say_standing_by(listener, &config),
            };
            return write(&config, options, dealer, signalled, said).await.map_err(Failure::found);
        }
        let mut signalled = std::pin::pin!(signalled);
        // It waits for the process with the log: a signal ends that.
        let server = tokio::select! {
            joined = Server::join(&config, options, dealer) => joined.map_err(Failure::found)?,
            _ = &mut signalled => return Ok(()),
        };
        announce(&server, &config);
        let failed = tokio::select! {
            signal = signalled => {
                tracing::info!(signal, "stopping");
                None
            }
            standing = server.failed() => Some(standing),
        };
        server.stop().await.map_err(Failure::found)?;
        match failed {
            // A log that is not the one it held: whoever starts it again has it replay, and judge, from the beginning.
            Some(Standing::Failed(why) | Standing::Fenced(why)) => Err(Failure::found(why)),
            Some(Standing::Takes) | None => Ok(()),
        }
    })
}

/// Says where it listens, for when it takes over.
fn say_standing_by(listener: &TcpListener, config: &Config) {
    let (address, log) = (listener.local_addr().unwrap_or(config.listen), Place::of(config));
    let mut out = std::io::stdout().lock();
    // As with all that is said.
    let _ = writeln!(out, "motherlode listens on {address}, stands by for log {log}");
}

/// Says where it listens, and what to try next.
fn announce(server: &Server, config: &Config) {
    let address = server.address();
    let log = match config.role.has_log() {
        true => Place::of(config).to_string(),
        false => format!("at {}", config.ledger.targets.join(", ")),
    };
    let mut out = std::io::stdout().lock();
    // Nobody may be listening on standard output any more: no reason not to serve.
    if cfg!(feature = "forced-outcomes") {
        let _ = writeln!(out, "TEST BUILD: outcomes can be forced. Not for play.");
    }
    let (scheme, ca) = match config.tls {
        Some(_) => ("https", " --ca ROOT.pem"),
        None => ("http", ""),
    };
    let (token, open) = match config.operators.is_empty() {
        true => ("", "\nNo operators are configured: whoever reaches this address may do everything.\n"),
        false => (" --token-file FILE", ""),
    };
    let audited = config.store.url.clone().unwrap_or_else(|| config.data.display().to_string());
    let target = format!("--target {scheme}://{address}{ca}{token}");
    let _ = writeln!(
        out,
        "motherlode listens on {address}, log in {log}, position {}
{open}
Try, in another terminal:
  motherlode play bewitched {target} --auto --rounds 20
  motherlode watch jackpots {target}
  motherlode loadtest {target} --rounds 20000
  motherlode audit {audited}
(from a checkout: cargo run --release -- play bewitched --auto --rounds 20)",
        server.ledger().durable()
    );
}
