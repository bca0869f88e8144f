mod announce;
mod notify;

use super::{Failure, address, config_file, config_file::faulty, log_step};
use motherlode_ledger::{DrawKeys, StartRefused, draws::DrawKeysError};
use motherlode_proofs::{KeyError, ProofsError};
use motherlode_runtime::{
    Config,
    config::{Role, Verify},
    process, stop, telemetry,
};
use motherlode_server::{Phase, Reloads, ServeError, note_refused_start, serve};
use motherlode_spin::Dealer;
use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

const LEAVE: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Address to listen on; port 0 lets the system choose. Default 127.0.0.1:50051.
    #[arg(long, value_name = "ADDR", value_parser = address)]
    listen: Option<SocketAddr>,
    /// Folder of the log and its index. Default ./data.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Keep the log on the NATS JetStream servers nats://host:port,host:port,... The index stays in the data folder.
    #[arg(long, value_name = "URL")]
    store: Option<String>,
    /// Number of partitions, 1 to 64; fixed when the log is created. Default 1.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    partitions: Option<u32>,
    /// Role of this process: all, ledger, spin, jackpot or console. Default all.
    #[arg(long, value_name = "ROLE")]
    role: Option<Role>,
    /// Addresses of the processes that write the log: http://host:port,... Required for roles without a log, and for
    /// partitions that other processes write.
    #[arg(long, value_name = "URL", value_delimiter = ',')]
    ledger: Vec<String>,
    /// Partitions that this process writes (role ledger only); it reads other partitions from --ledger. Default all.
    #[arg(long, value_name = "N", value_delimiter = ',')]
    write_partitions: Vec<u32>,
    /// Partitions that this process loads in addition to partition 0 and the partitions it writes; only for the roles
    /// spin and ledger. Calls for players of other partitions are refused with PARTITION_ELSEWHERE. Default all.
    #[arg(long, value_name = "N", value_delimiter = ',')]
    read_partitions: Vec<u32>,
    /// Verify the log's full segments after the start (background), or the whole log before the first answer (all). Default
    /// background.
    #[arg(long, value_name = "WHEN")]
    verify: Option<Verify>,
    /// Address of the console (web pages). Default 127.0.0.1:50080; no console if this port is in use.
    #[arg(long, value_name = "ADDR", value_parser = address, conflicts_with = "no_console")]
    console: Option<SocketAddr>,
    /// Address that serves metrics (Prometheus) and health probes over plain HTTP. Default none.
    #[arg(long, value_name = "ADDR", value_parser = address)]
    telemetry: Option<SocketAddr>,
    /// Serve no console.
    #[arg(long)]
    no_console: bool,
    /// Start even if acknowledged records were lost, as after a restore from a backup. The sealed random values for
    /// later rounds are replaced, because lost records may have revealed them. The log records the loss.
    #[arg(long)]
    restored: bool,
    /// Start even if draw keys named in the log were lost. A draw key determines random values for rounds. Unused
    /// values of a lost key are replaced, and open rounds that need its values can only be voided.
    #[arg(long)]
    draw_keys_lost: bool,
    /// Sign with the configured key or a new key, even if another key has signed the log. Verifiers then treat it as
    /// another log.
    #[arg(long)]
    new_log_key: bool,
    /// Configuration file (TOML).
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl Args {
    pub(super) fn config(&self) -> Result<Config, Failure> {
        let mut config = config_file::read(self.config.as_deref())?;
        if let Some(url) = &self.store {
            config.store = config.store.at(url).map_err(|error| faulty(None, &error))?;
        }
        config.listen = self.listen.unwrap_or(config.listen);
        config.partitions = self.partitions.unwrap_or(config.partitions);
        config.data = self.data.clone().unwrap_or(config.data);
        config.role = self.role.unwrap_or(config.role);
        config.verify = self.verify.unwrap_or(config.verify);
        if !self.ledger.is_empty() {
            config.ledger.targets.clone_from(&self.ledger);
        }
        if !self.write_partitions.is_empty() {
            config.ledger.write_partitions = self.write_partitions.iter().copied().collect();
        }
        if !self.read_partitions.is_empty() {
            config.ledger.read_partitions = self.read_partitions.iter().copied().collect();
        }
        config.telemetry.listen = self.telemetry.or(config.telemetry.listen);
        config.draws.accept_loss = self.restored;
        config.draws.accept_lost_keys = self.draw_keys_lost;
        config.proofs.accept_new_key = self.new_log_key;
        config.console.usual = !self.no_console;
        config.console.listen = self.console.or(config.console.listen).filter(|_| !self.no_console);
        config.check_role().map_err(|error| faulty(self.file(), &error))?;
        if config.data.exists() && !config.data.is_dir() {
            let what = format!("{} is a file: --data must be a folder", config.data.display());
            return Err(Failure::unusable(what)
                .with_step("Specify a folder with --data; `serve` creates it if it does not exist"));
        }
        Ok(config)
    }

    pub(super) fn file(&self) -> Option<&Path> {
        self.config.as_deref()
    }
}

fn failed(error: &ServeError) -> Failure {
    let step = match error {
        ServeError::Log(error) => log_step(error),
        ServeError::DrawKeys(DrawKeysError::Io { .. } | DrawKeysError::Malformed { .. })
        | ServeError::Start(StartRefused::Keys(DrawKeysError::Io { .. } | DrawKeysError::Malformed { .. })) => {
            "Restore the file from a backup, or specify another file with [draws] key_file"
        }
        ServeError::Proofs(ProofsError::Key(KeyError::Missing { .. } | KeyError::Other { .. })) => "",
        ServeError::Proofs(ProofsError::Key(_)) => {
            "Restore the file from a backup, or specify another file with [proofs] key_file"
        }
        _ => "",
    };
    Failure::caused(error).with_step(step)
}

pub fn run(args: &Args, dealer: fn(DrawKeys) -> Dealer) -> Result<(), Failure> {
    let (config, file) = (args.config()?, args.file());
    motherlode_server::check(&config).map_err(|error| faulty(file, &error))?;
    if config.store.url.is_none() {
        motherlode_server::check_addresses(&config).map_err(|error| failed(&error))?;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(config.threads()).enable_all().build();
    let runtime = runtime.map_err(Failure::found)?;
    let served = runtime.block_on(async {
        let instance = process::instance(config.listen);
        let _telemetry = telemetry::start(&config.telemetry, config.role, instance).map_err(Failure::unusable)?;
        process::warn_of_memory(&config);
        let signalled = stop::signalled().map_err(Failure::found)?;
        let again = args.clone();
        let read = move || {
            let changed = again.config().map_err(|failure| failure.message)?;
            motherlode_server::check(&changed).map_err(|error| error.to_string())?;
            Ok(changed)
        };
        let reloads = Reloads::start(read).map_err(Failure::found)?;
        let signalled = async {
            let signal = signalled.await;
            notify::stopping();
            signal
        };
        let keys = match config.draw_key_file().filter(|_| config.role != Role::Console) {
            Some(file) => DrawKeys::open(&file).map_err(ServeError::from).map_err(|error| {
                note_refused_start(&config.data, &error);
                failed(&error)
            })?,
            None => DrawKeys::none(),
        };
        let dealer = dealer(keys);
        let scripted = dealer.is_scripted();
        let say = |phase: Phase<'_>| match phase {
            Phase::Serving(server) => {
                server.identity().announce();
                reloads.serve(server.reloader());
                announce::say_serving(server, &config, file, scripted);
                notify::ready("serving");
            }
            Phase::Standby(listener) => {
                announce::say_standing_by(listener, &config);
                notify::ready("standing by");
            }
            Phase::Console(address) => {
                announce::say_console(address, &config);
                notify::ready("serving the console");
            }
        };
        tokio::select! {
            served = serve(&config, dealer, Box::pin(signalled), &say) => served.map_err(|error| failed(&error)),
            () = notify::watchdog() => Ok(()),
            () = reloads.run() => Err(Failure::found("the task that reloads the configuration has ended: start the process again")),
        }
    });
    // Only a task that reads the log may still be running.
    runtime.shutdown_timeout(LEAVE);
    served
}
