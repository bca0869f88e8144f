//! The configuration of `motherlode serve`, checked before a port is bound.

mod archive;
mod canonical;
mod console;
mod currencies;
pub(crate) mod error;
mod files;
mod operators;
mod proofs;
mod replaced;
mod role;
mod rules;
mod seamless;
mod store;
mod telemetry;
mod verify;

pub use archive::ArchiveReads;
pub use console::Console;
pub use currencies::{CoinLadder, Currencies};
pub use error::{ConfigError, NeedsRestart};
pub use operators::{Credential, Digest, Operator, PLATFORM, PlayerIds};
pub use proofs::{Proofs, Witness};
pub use role::{LedgerTargets, Role};
pub use rules::Rules;
pub use seamless::{Seamless, WalletCredentials, WalletKind, WalletProtocol};
pub use store::{AllowUnsafe, Store, StoreTls};
pub use telemetry::{LogFormat, OtlpProtocol, Telemetry};
pub use verify::Verify;

use crate::jurisdiction::{Jurisdictions, Profiles};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    net::{IpAddr, SocketAddr},
    path::PathBuf,
};

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Listening address for calls; port 0 lets the system choose.
    pub listen: SocketAddr,
    /// Data folder, which contains the log and its index.
    pub data: PathBuf,
    /// Role of this process.
    pub role: Role,
    /// Addresses of the processes that write the log.
    pub ledger: LedgerTargets,
    /// JetStream store of the log.
    pub store: Store,
    /// Number of partitions, permanent once the log exists.
    pub partitions: u32,
    /// Part of the log that is verified before the first answer.
    pub verify: Verify,
    /// Threads for requests; 0 means half of the processors, which leaves processors for the log, its index and its
    /// readers.
    pub worker_threads: usize,
    /// Limits of the service.
    pub limits: Limits,
    /// Limits of play per jurisdiction and operator.
    pub jurisdictions: Jurisdictions,
    /// Completion of abandoned rounds.
    pub interruption: Interruption,
    /// Thresholds of significant events.
    pub report: Report,
    /// Currencies and coin ladders.
    pub currencies: Currencies,
    /// Superseded rules versions that accept new bets.
    pub rules: Rules,
    /// Demo play.
    pub demo: Demo,
    /// Sealed draws.
    pub draws: Draws,
    /// Logs, spans and metrics.
    pub telemetry: Telemetry,
    /// Signed checkpoints and proofs of the log.
    pub proofs: Proofs,
    /// Archive that supplies records removed by `motherlode prune`.
    pub archive: ArchiveReads,
    /// Web pages.
    pub console: Console,
    /// Whether gRPC reflection is served.
    pub reflection: bool,
    /// TLS files; default: plaintext.
    pub tls: Option<Tls>,
    /// Operators that may call the service (PL-27). If no operators are configured, every caller has all permissions.
    pub operators: Vec<Operator>,
    /// Further operators with wallets but without access, for tests in one process.
    #[serde(skip)]
    pub wallets_beside: Vec<Operator>,
    /// Exceptions for a service that is reachable beyond loopback.
    pub allow_beyond_loopback: BeyondLoopback,
}

/// TLS files in PEM, read at startup and at each reload.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// Certificate chain of the service.
    pub certificate: PathBuf,
    /// Private key.
    pub key: PathBuf,
    /// Root certificates that client certificates must chain to; default: no client certificates are requested.
    pub client_ca: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct BeyondLoopback {
    /// Whether to serve without TLS, for example behind a proxy with TLS.
    pub plaintext: bool,
    /// Whether to serve without configured operators; every caller then has all permissions.
    pub anyone: bool,
    /// Whether to serve metrics and health (`telemetry.listen`) without TLS and log-in.
    pub telemetry: bool,
}

/// Thresholds of significant events (PL-22).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Report {
    /// Threshold of a large win, in EUR.
    pub large_win_eur: u32,
    /// Maps operators to their thresholds of a large win, in EUR.
    pub operators: BTreeMap<String, u32>,
}

impl Default for Report {
    fn default() -> Self {
        Self { large_win_eur: 1_000, operators: BTreeMap::new() }
    }
}

/// Demo play (PL-17).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Demo {
    /// Initial balance of a demo session, in hundredths of play money.
    pub balance_minor: u64,
}

impl Default for Demo {
    fn default() -> Self {
        Self { balance_minor: 100_000 }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Draws {
    /// Draw key file, created at the first start. All processes that accept bets, open player accounts or void rounds
    /// must share this file.
    pub key_file: Option<PathBuf>,
    /// Memory-backed folder that stores the position of the log's end, so that the next start detects lost records; a
    /// reboot clears the folder. Default: `motherlode-UID` in the first usable folder of $RUNTIME_DIRECTORY,
    /// $XDG_RUNTIME_DIR, /run and /dev/shm.
    pub page_folder: Option<PathBuf>,
    /// Whether to start although the log's end is lost; set only by a command-line flag.
    #[serde(skip)]
    pub accept_loss: bool,
    /// Whether to start although draw keys are lost; set only by a command-line flag.
    #[serde(skip)]
    pub accept_lost_keys: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Maximum number of appends that are not yet durable; further appends get RESOURCE_EXHAUSTED. Half of the maximum
    /// is divided evenly between operators, who share the other half.
    pub queue_length_max: usize,
    /// Maximum commits per group commit.
    pub batch_commits_max: usize,
    /// Maximum players in memory across all partitions, about 1 KB each; other players are read from files. Players
    /// with open rounds, or with changes since the last snapshot, stay in memory.
    pub players_in_memory: usize,
    /// Maximum open rounds per operator and partition, about 2.5 KB each; further rounds get RESOURCE_EXHAUSTED,
    /// OPEN_ROUNDS_FULL.
    pub open_rounds_per_operator_max: usize,
    /// Maximum bytes of a request message.
    pub message_bytes_max: usize,
    /// Maximum concurrent requests per connection.
    pub concurrent_requests_max: u32,
    /// Maximum connections of all listeners, also limited by the process's file descriptors.
    pub connections_max: usize,
    /// Maximum connections per IPv4 address or IPv6 /64 network.
    pub connections_per_peer_max: usize,
    /// Maps addresses, such as a gateway's, to limits that replace `connections_per_peer_max`.
    pub connections_of_peers: BTreeMap<IpAddr, usize>,
    /// Maximum connections per operator; a connection counts after its first admitted call.
    pub connections_per_operator_max: usize,
    /// Maximum concurrent TLS handshakes; further handshakes wait or are dropped.
    pub tls_handshakes_max: usize,
    /// Maximum milliseconds for the TLS and HTTP/2 handshakes, or for the first HTTP/1.1 request to arrive.
    pub handshake_ms_max: u64,
    /// Milliseconds before an idle connection is closed.
    pub connection_idle_ms_max: u64,
    /// Milliseconds between pings on a connection.
    pub keep_alive_ms: u64,
    /// Milliseconds to wait for a ping's answer before the connection is closed.
    pub keep_alive_answer_ms_max: u64,
    /// Maximum bytes of a call's headers.
    pub header_bytes_max: u32,
    /// Maximum cancelled calls per connection within 10 seconds; one more closes the connection.
    pub cancelled_calls_max: u32,
    /// Allowance for HTTP/2 control frames (PING, SETTINGS, WINDOW_UPDATE, PRIORITY, ...) per second and connection, in
    /// units of 64 bytes. At most 10 seconds of unused allowance accumulate. Each frame uses 64 bytes plus its payload.
    /// Each call, and every 512 bytes sent to the client, adds 8 units to the allowance. A connection that exceeds its
    /// allowance is closed with ENHANCE_YOUR_CALM.
    pub control_frames_per_second_max: u32,
    /// File descriptors reserved for the log and its index.
    pub descriptors_reserved: usize,
    /// Maximum buffered bytes of all calls.
    pub buffer_bytes_max: usize,
    /// Maximum buffered bytes of an operator's calls.
    pub buffer_bytes_per_operator_max: usize,
    /// Maximum milliseconds that a call waits for the log, even with a later deadline; then DEADLINE_EXCEEDED.
    pub request_ms_max: u64,
    /// Milliseconds that a call that hit the jackpot waits for the award; after that, its answer reports the award as
    /// pending.
    pub award_wait_ms_max: u64,
    /// Milliseconds before an unapproved change of a pool or switch lapses (PL-27).
    pub change_lapse_ms: u64,
    /// Milliseconds before an inactive session expires.
    pub session_idle_ms_max: u64,
    /// Milliseconds after a dropped connection before the player can open a new session of the same game.
    pub session_hold_ms: u64,
    /// Maximum open sessions; further sessions get RESOURCE_EXHAUSTED. Half of the maximum is divided evenly between
    /// operators, who share the other half.
    pub sessions_max: usize,
    /// Size of a segment file in bytes; the current and the next file are preallocated.
    pub segment_bytes: u64,
}

/// Completion of abandoned rounds (PL-03).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Interruption {
    /// Milliseconds between searches for abandoned rounds.
    pub sweep_ms: u64,
    /// Maps games to the hours after which an abandoned round is resolved; replaces the game's default.
    pub hours: BTreeMap<String, u32>,
    /// Maps jurisdictions and games to the hours after which an abandoned round is resolved; takes precedence over
    /// `hours`.
    pub jurisdictions: BTreeMap<String, BTreeMap<String, u32>>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 50051)),
            data: PathBuf::from("data"),
            role: Role::default(),
            ledger: LedgerTargets::default(),
            store: Store::default(),
            partitions: 1,
            verify: Verify::default(),
            worker_threads: 0,
            limits: Limits::default(),
            jurisdictions: Jurisdictions::default(),
            interruption: Interruption::default(),
            report: Report::default(),
            currencies: Currencies::default(),
            rules: Rules::default(),
            demo: Demo::default(),
            draws: Draws::default(),
            telemetry: Telemetry::default(),
            proofs: Proofs::default(),
            archive: ArchiveReads::default(),
            console: Console::default(),
            reflection: true,
            tls: None,
            operators: vec![],
            wallets_beside: vec![],
            allow_beyond_loopback: BeyondLoopback::default(),
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            queue_length_max: 8192,
            batch_commits_max: 512,
            players_in_memory: 1_000_000,
            open_rounds_per_operator_max: 100_000,
            message_bytes_max: 64 * 1024,
            concurrent_requests_max: 1024,
            connections_max: 1024,
            connections_per_peer_max: 256,
            connections_of_peers: BTreeMap::new(),
            connections_per_operator_max: 256,
            tls_handshakes_max: 64,
            handshake_ms_max: 5_000,
            connection_idle_ms_max: 300_000,
            keep_alive_ms: 30_000,
            keep_alive_answer_ms_max: 20_000,
            header_bytes_max: 16 * 1024,
            cancelled_calls_max: 5_000,
            control_frames_per_second_max: 100,
            descriptors_reserved: 256,
            buffer_bytes_max: 256 * 1024 * 1024,
            buffer_bytes_per_operator_max: 64 * 1024 * 1024,
            request_ms_max: 10_000,
            award_wait_ms_max: 2_000,
            change_lapse_ms: 86_400_000,
            session_idle_ms_max: 30 * 60_000,
            session_hold_ms: 30_000,
            sessions_max: 100_000,
            segment_bytes: 64 * 1024 * 1024,
        }
    }
}

impl Default for Interruption {
    fn default() -> Self {
        Self { sweep_ms: 60_000, hours: BTreeMap::new(), jurisdictions: BTreeMap::new() }
    }
}

impl Config {
    #[must_use]
    pub fn threads(&self) -> usize {
        match self.worker_threads {
            0 => std::thread::available_parallelism().map_or(1, |processors| processors.get().div_ceil(2)),
            threads => threads,
        }
    }

    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        let parsed = toml::from_str(text);
        let config: Self = parsed.map_err(|error| replaced::key(text).unwrap_or_else(|| error.into()))?;
        let limits = &config.limits;
        let ranged = [
            ("partitions", config.partitions.into(), 1, 64, "1 to 64"),
            ("worker_threads", config.worker_threads as u64, 0, 1024, "0 to 1024"),
            ("limits.queue_length_max", limits.queue_length_max as u64, 1, 1 << 20, "1 to 1048576"),
            ("limits.batch_commits_max", limits.batch_commits_max as u64, 1, 4096, "1 to 4096"),
            ("limits.players_in_memory", limits.players_in_memory as u64, 1000, 1 << 32, "1000 to 4294967296"),
            (
                "limits.open_rounds_per_operator_max",
                limits.open_rounds_per_operator_max as u64,
                1,
                1 << 24,
                "1 to 16777216",
            ),
            ("limits.message_bytes_max", limits.message_bytes_max as u64, 1024, 4 << 20, "1024 to 4194304"),
            ("limits.concurrent_requests_max", limits.concurrent_requests_max.into(), 1, 65_536, "1 to 65536"),
            ("limits.connections_max", limits.connections_max as u64, 1, 1 << 20, "1 to 1048576"),
            ("limits.connections_per_peer_max", limits.connections_per_peer_max as u64, 1, 1 << 20, "1 to 1048576"),
            (
                "limits.connections_per_operator_max",
                limits.connections_per_operator_max as u64,
                1,
                1 << 20,
                "1 to 1048576",
            ),
            ("limits.tls_handshakes_max", limits.tls_handshakes_max as u64, 4, 1 << 16, "4 to 65536"),
            ("limits.handshake_ms_max", limits.handshake_ms_max, 100, 600_000, "100 to 600000"),
            ("limits.connection_idle_ms_max", limits.connection_idle_ms_max, 1_000, 86_400_000, "1000 to 86400000"),
            ("limits.keep_alive_ms", limits.keep_alive_ms, 100, 3_600_000, "100 to 3600000"),
            ("limits.keep_alive_answer_ms_max", limits.keep_alive_answer_ms_max, 100, 600_000, "100 to 600000"),
            ("limits.header_bytes_max", limits.header_bytes_max.into(), 1024, 1 << 20, "1024 to 1048576"),
            ("limits.cancelled_calls_max", limits.cancelled_calls_max.into(), 1, 1 << 30, "1 to 1073741824"),
            (
                "limits.control_frames_per_second_max",
                limits.control_frames_per_second_max.into(),
                10,
                1 << 20,
                "10 to 1048576",
            ),
            ("limits.descriptors_reserved", limits.descriptors_reserved as u64, 16, 1 << 20, "16 to 1048576"),
            ("limits.buffer_bytes_max", limits.buffer_bytes_max as u64, 1 << 20, 1 << 40, "1048576 to 1099511627776"),
            (
                "limits.buffer_bytes_per_operator_max",
                limits.buffer_bytes_per_operator_max as u64,
                1 << 20,
                1 << 40,
                "1048576 to 1099511627776",
            ),
            ("limits.request_ms_max", limits.request_ms_max, 100, 600_000, "100 to 600000"),
            ("limits.award_wait_ms_max", limits.award_wait_ms_max, 0, 60_000, "0 to 60000"),
            ("limits.change_lapse_ms", limits.change_lapse_ms, 60_000, 2_592_000_000, "60000 to 2592000000"),
            ("limits.session_idle_ms_max", limits.session_idle_ms_max, 1_000, 86_400_000, "1000 to 86400000"),
            ("limits.session_hold_ms", limits.session_hold_ms, 0, 3_600_000, "0 to 3600000"),
            ("limits.sessions_max", limits.sessions_max as u64, 1, 1 << 20, "1 to 1048576"),
            ("limits.segment_bytes", limits.segment_bytes, 1 << 20, 1 << 30, "1048576 to 1073741824"),
            ("interruption.sweep_ms", config.interruption.sweep_ms, 100, 3_600_000, "100 to 3600000"),
            ("store.append_ms_max", config.store.append_ms_max, 1_000, 600_000, "1000 to 600000"),
            ("telemetry.metrics_seconds", config.telemetry.metrics_seconds.into(), 1, 3600, "1 to 3600"),
            ("archive.memory_bytes_max", config.archive.memory_bytes_max, 1 << 20, 1 << 40, "1048576 to 1099511627776"),
            ("demo.balance_minor", config.demo.balance_minor, 1, 1_000_000_000_000, "1 to 1000000000000"),
            ("telemetry.sample_percent", config.telemetry.sample_percent.into(), 0, 100, "0 to 100"),
        ];
        let hours = |key, hours: &u32| (key, u64::from(*hours), 1, 87_600, "1 to 87600");
        let interruption = &config.interruption;
        let by_game = interruption.hours.values().map(|game| hours("interruption.hours", game));
        let by_jurisdiction = interruption.jurisdictions.values().flat_map(BTreeMap::values);
        let by_jurisdiction = by_jurisdiction.map(|game| hours("interruption.jurisdictions", game));
        let of_peers = limits.connections_of_peers.values();
        let of_peers = of_peers.map(|of| ("limits.connections_of_peers", *of as u64, 1, 1 << 20, "1 to 1048576"));
        let ranged = ranged.into_iter().chain(of_peers).chain(by_game).chain(by_jurisdiction);
        for (key, value, low, high, range) in ranged {
            if !(low..=high).contains(&value) {
                return Err(ConfigError::Range { key, value, range });
            }
        }
        Profiles::new(&config.jurisdictions)?;
        config.store.check()?;
        config.console.check_links()?;
        operators::check(&config.operators, config.tls.as_ref().is_some_and(|tls| tls.client_ca.is_some()))?;
        Ok(config)
    }

    /// Checks that the role's required settings exist, and that the draw keys are in no folder that is copied with the log.
    pub fn check_role(&self) -> Result<(), ConfigError> {
        let copied = ["log", "copy", "index"].map(|folder| self.data.join(folder));
        if let Some(file) = self.draw_key_file().filter(|file| copied.iter().any(|folder| file.starts_with(folder))) {
            return Err(ConfigError::DrawKeys(file));
        }
        self.ledger.check(self.role, self.partitions)
    }

    /// Returns the draw key file, by default `keys/draws` in the data folder; `None` if this process uses no draw keys.
    #[must_use]
    pub fn draw_key_file(&self) -> Option<PathBuf> {
        let own = || self.role.spins().then(|| self.data.join("keys").join("draws"));
        let configured = self.draws.key_file.clone().filter(|_| self.role != Role::Jackpot);
        configured.or_else(own)
    }

    #[must_use]
    pub fn log_store(&self) -> Store {
        Store { own_key_file: Some(self.data.join("keys").join("stream")), ..self.store.clone() }
    }

    #[must_use]
    pub fn write_partitions(&self) -> BTreeSet<u32> {
        match self.ledger.write_partitions.is_empty() {
            true => (0..self.partitions).collect(),
            false => self.ledger.write_partitions.clone(),
        }
    }

    /// Returns partition 0 and the partitions that this process writes or replicates.
    #[must_use]
    pub fn read_partitions(&self) -> BTreeSet<u32> {
        match self.ledger.read_partitions.is_empty() {
            true => (0..self.partitions).collect(),
            false => [0]
                .into_iter()
                .chain(self.ledger.write_partitions.iter().chain(&self.ledger.read_partitions).copied())
                .collect(),
        }
    }

    /// Returns the number of operators between which limits are divided, at least 1.
    #[must_use]
    pub fn sharing(&self) -> usize {
        self.operators.iter().filter(|operator| operator.id != PLATFORM).count().max(1)
    }

    /// Checks that each address beyond loopback has TLS and operators, or that the configuration allows their absence
    /// (PL-27).
    pub fn check_exposure(&self) -> Result<(), ConfigError> {
        let (listen, allowed) = (self.listen, self.allow_beyond_loopback);
        // A console process needs no operators, because the processes that it calls authenticate the callers.
        let operators = !self.operators.is_empty() || self.role == Role::Console;
        self.console.check_exposure(operators, self.tls.is_some() || allowed.plaintext)?;
        let faults = [
            (self.tls.is_none() && !allowed.plaintext, "without TLS: calls are not encrypted", "plaintext"),
            (
                self.operators.is_empty() && !allowed.anyone,
                "without configured operators: every caller has all permissions",
                "anyone",
            ),
        ];
        if let Some((_, how, key)) = faults.into_iter().find(|(exposed, ..)| *exposed && !listen.ip().is_loopback()) {
            return Err(ConfigError::Exposed { listen, how, key });
        }
        match self.telemetry.listen.filter(|listen| !listen.ip().is_loopback() && !allowed.telemetry) {
            Some(listen) => {
                Err(ConfigError::Exposed { listen, how: "and serves metrics without TLS or log-in", key: "telemetry" })
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
