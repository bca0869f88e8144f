//! `serve`: all services in one process.

use super::Failure;
use crate::{
    place::{Place, read_config},
    server::{Server, open_stores},
};
use motherlode_ledger::Options;
use motherlode_runtime::{Config, stop, telemetry};
use motherlode_spin::Dealer;
use std::{io::Write, net::SocketAddr, path::PathBuf};

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
        let stores = open_stores(&config).map_err(Failure::found)?;
        let options = Options {
            queue_length_max: config.limits.queue_length_max,
            batch_commits_max: config.limits.batch_commits_max,
            ..Options::default()
        };
        let dealer = Dealer::new().map_err(Failure::found)?;
        let server = Server::start(&config, stores, options, dealer).await.map_err(Failure::found)?;
        announce(&server, &config);
        let signal = signalled.await;
        tracing::info!(signal, "stopping");
        server.stop().await.map_err(Failure::found)
    })
}

/// Says where it listens, and what to try next.
fn announce(server: &Server, config: &Config) {
    let (address, log) = (server.address(), Place::of(config));
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
