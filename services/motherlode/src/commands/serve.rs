//! `serve`: all services in one process.

use super::Failure;
use crate::server::{Server, open_store};
use motherlode_ledger::Options;
use motherlode_runtime::{Config, stop, telemetry};
use motherlode_spin::Dealer;
use std::{fs, io::Write, net::SocketAddr, path::PathBuf};

/// What `serve` can be told; the command line wins over the file.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Address to listen on; port 0 lets the system choose. Default 127.0.0.1:50051.
    #[arg(long, value_name = "ADDR")]
    listen: Option<SocketAddr>,
    /// Folder of the log and its index. Default ./data.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Configuration file (TOML).
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl Args {
    fn config(&self) -> Result<Config, Failure> {
        let mut config = match &self.config {
            None => Config::default(),
            Some(path) => {
                let text = fs::read_to_string(path);
                let text = text.map_err(|error| Failure::unusable(format!("{}: {error}", path.display())))?;
                Config::parse(&text).map_err(|error| Failure::unusable(format!("{}: {error}", path.display())))?
            }
        };
        config.listen = self.listen.unwrap_or(config.listen);
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
        let store = open_store(&config).map_err(Failure::found)?;
        let options = Options {
            queue_length_max: config.limits.queue_length_max,
            batch_commits_max: config.limits.batch_commits_max,
            ..Options::default()
        };
        let dealer = Dealer::new().map_err(Failure::found)?;
        let server = Server::start(&config, store, options, dealer).await.map_err(Failure::found)?;
        announce(&server, &config);
        let signal = signalled.await;
        tracing::info!(signal, "stopping");
        server.stop().await.map_err(Failure::found)
    })
}

/// Says where it listens, and what to try next.
fn announce(server: &Server, config: &Config) {
    let (address, data) = (server.address(), config.data.display());
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
    let target = format!("--target {scheme}://{address}{ca}{token}");
    let _ = writeln!(
        out,
        "motherlode listens on {address}, log in {data}, position {}
{open}
Try, in another terminal:
  motherlode play bewitched {target} --auto --rounds 20
  motherlode watch jackpots {target}
  motherlode loadtest {target} --rounds 20000
  motherlode audit {data}
(from a checkout: cargo run --release -- play bewitched --auto --rounds 20)",
        server.ledger().durable()
    );
}
