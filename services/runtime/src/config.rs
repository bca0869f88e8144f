//! The configuration file of `motherlode serve`: parsed whole and checked before a port is bound.
//!
//! Every key has a default, an unknown key is refused: a misspelt limit must not be ignored silently.

mod canonical;
mod console;
mod currencies;
pub(crate) mod error;
mod operators;
mod proofs;
mod role;
mod rules;
mod seamless;
mod store;
mod verify;

pub use console::Console;
pub use currencies::{CoinLadder, Currencies};
pub use error::ConfigError;
pub use operators::{Credential, Digest, Operator, PLATFORM};
pub use proofs::{Proofs, Witness};
pub use role::{LedgerTargets, Role};
pub use rules::Rules;
pub use seamless::{Seamless, WalletCredentials, WalletKind, WalletProtocol};
pub use store::{AllowUnsafe, Store, StoreTls};
pub use verify::Verify;

use crate::jurisdiction::{Jurisdictions, Profiles};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    net::{IpAddr, SocketAddr},
    path::PathBuf,
};

/// The configuration of `serve`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Address to listen on; port 0 lets the system choose.
    pub listen: SocketAddr,
    /// Directory of the log and its index.
    pub data: PathBuf,
    /// The role of this process.
    pub role: Role,
    /// Where the log is, for the roles that don't have it.
    pub ledger: LedgerTargets,
    /// Where the log is kept, if not in that directory.
    pub store: Store,
    /// Partitions of the log, each with a writer of its own: fixed for ever when it's made.
    pub partitions: u32,
    /// When the records are verified that an earlier run of the service has closed its segments over.
    pub verify: Verify,
    /// Threads that answer requests; 0 for half of the processors, one at least. The log's disk, the index and all that
    /// follows the log need the others.
    pub worker_threads: usize,
    /// Limits of the service.
    pub limits: Limits,
    /// Limits of play, by jurisdiction and operator.
    pub jurisdictions: Jurisdictions,
    /// Rounds that their players left.
    pub interruption: Interruption,
    /// Reports.
    pub report: Report,
    /// Currencies and coin ladders.
    pub currencies: Currencies,
    /// Superseded rules versions that take new bets.
    pub rules: Rules,
    /// Demo play.
    pub demo: Demo,
    /// Sealed draws.
    pub draws: Draws,
    /// Telemetry.
    pub telemetry: Telemetry,
    /// The log's checkpoints.
    pub proofs: Proofs,
    /// The pages for people.
    pub console: Console,
    /// Whether the services' descriptions are served to whoever asks.
    pub reflection: bool,
    /// TLS; without it, everything is said in the clear.
    pub tls: Option<Tls>,
    /// Who may call (PL-27); without any, whoever reaches the service may do everything.
    pub operators: Vec<Operator>,
    /// Operators whose wallets are called although they are not among those: for tests in one process, without access. No file can
    /// name one, and nobody is let in by it.
    #[serde(skip)]
    pub wallets_beside: Vec<Operator>,
    /// Settings that are refused beyond loopback unless they are allowed here.
    pub allow_beyond_loopback: BeyondLoopback,
}

/// TLS of the service: files in PEM, read at the start.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// The service's certificate, and those between it and its root.
    pub certificate: PathBuf,
    /// The private key of the certificate.
    pub key: PathBuf,
    /// Roots that clients' certificates are checked against; without it, no client's certificate is asked for.
    pub client_ca: Option<PathBuf>,
}

/// Settings that a service which others can reach needs by name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct BeyondLoopback {
    /// Serves without TLS: something in between keeps tokens and money from being read.
    pub plaintext: bool,
    /// Serves without operators: whoever reaches the service may do everything.
    pub anyone: bool,
}

/// Reports: from when on a win is a significant event (PL-22). No rule names a figure.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Report {
    /// EUR that a win must reach.
    pub large_win_eur: u32,
    /// The same for single operators.
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
    /// The balance that a demo session fills the player's account up to, in hundredths of play money.
    pub balance_minor: u64,
}

impl Default for Demo {
    fn default() -> Self {
        Self { balance_minor: 100_000 }
    }
}

/// Sealed draws.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Draws {
    /// The file of the draw keys, made at the first start: all processes that open players, void rounds or spin share one.
    pub key_file: Option<PathBuf>,
    /// Folder in memory-backed storage for the pages, the evidence of the next start in the same boot. Default:
    /// `motherlode` in $RUNTIME_DIRECTORY, $XDG_RUNTIME_DIR, /run or /dev/shm.
    pub page_folder: Option<PathBuf>,
    /// Whether this start accepts a loss of the log's end. Set by a flag alone.
    #[serde(skip)]
    pub accept_loss: bool,
    /// Whether this start accepts a loss of draw keys. Set by a flag alone.
    #[serde(skip)]
    pub accept_lost_keys: bool,
}

/// Limits: nothing grows without one.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Appends that are not durable yet; one more is answered RESOURCE_EXHAUSTED. Operators share them: half is divided evenly
    /// between them and theirs alone, half is whoever's needs it.
    pub queue_length_max: usize,
    /// Commits in one group commit.
    pub batch_commits_max: usize,
    /// Players in memory, about 1 KB each, all partitions together; the others are read from the files beside the index when they are
    /// asked for. Those that have changed since the latest snapshot, and those with open rounds, stay in memory however many they are.
    pub players_in_memory: usize,
    /// Open rounds of one operator in each partition, about 2.5 KB each in memory; a bet that would leave one more open is answered
    /// RESOURCE_EXHAUSTED, OPEN_ROUNDS_FULL.
    pub open_rounds_per_operator_max: usize,
    /// Bytes of one request message.
    pub message_bytes_max: usize,
    /// Requests in flight on one connection.
    pub concurrent_requests_max: u32,
    /// Maximum number of open connections of all listeners; lower if the process's limit of descriptors is lower.
    pub connections_max: usize,
    /// The same from one address; in IPv6, from a network of 64 bits.
    pub connections_per_peer_max: usize,
    /// The same from single addresses, as of a gateway that all come through.
    pub connections_of_peers: BTreeMap<IpAddr, usize>,
    /// Connections of one operator with calls under way.
    pub connections_per_operator_max: usize,
    /// TLS handshakes under way at one time; the others wait, or make way, by their addresses.
    pub tls_handshakes_max: usize,
    /// Milliseconds from a connection's being accepted until TLS and HTTP/2, or its first request of HTTP/1.1, have begun.
    pub handshake_ms_max: u64,
    /// Milliseconds without a call after which a connection is closed.
    pub connection_idle_ms_max: u64,
    /// Milliseconds from one ping to the next on a connection.
    pub keep_alive_ms: u64,
    /// Milliseconds until a ping is answered; then the connection is closed.
    pub keep_alive_answer_ms_max: u64,
    /// Bytes of one call's headers.
    pub header_bytes_max: u32,
    /// Calls in 10 seconds that their caller may give up on one connection before it's closed.
    pub cancelled_calls_max: u32,
    /// Frames of HTTP/2 that belong to no call (PING, SETTINGS, WINDOW_UPDATE, PRIORITY, ...) per second on one connection, 64 bytes
    /// each plus their payload, with a burst of up to 10 seconds' worth. Each call allows 8 more frames, and each 64 bytes sent by
    /// the service one more. A connection above the limit is closed with ENHANCE_YOUR_CALM.
    pub control_frames_per_second_max: u32,
    /// Descriptors that no connection gets: the log and its index need some.
    pub descriptors_reserved: usize,
    /// Bytes that wait to be sent or to come whole, of all calls.
    pub buffer_bytes_max: usize,
    /// The same of one operator's calls.
    pub buffer_bytes_per_operator_max: usize,
    /// Milliseconds that a call waits for the log, whatever deadline the caller set; then it answers DEADLINE_EXCEEDED.
    pub request_ms_max: u64,
    /// Milliseconds that the answer to a hit waits for its award; after that it says "pending".
    pub award_wait_ms_max: u64,
    /// Milliseconds after which a change of a pool or a switch that no second actor has approved lapses (PL-27).
    pub change_lapse_ms: u64,
    /// Milliseconds without an action after which a session expires.
    pub session_idle_ms_max: u64,
    /// Milliseconds after a dropped connection in which no session of its player and game is opened.
    pub session_hold_ms: u64,
    /// Sessions at one time; one more is answered RESOURCE_EXHAUSTED. Operators share them in the same way.
    pub sessions_max: usize,
    /// Bytes of one segment file.
    pub segment_bytes: u64,
}

/// How rounds are finished that their players left (PL-03).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Interruption {
    /// Milliseconds from one look at the open rounds to the next.
    pub sweep_ms: u64,
    /// Game by game, hours after which a round is resolved for its player, instead of those of the game's own rules.
    pub hours: BTreeMap<String, u32>,
    /// The same by jurisdiction; these come before the others.
    pub jurisdictions: BTreeMap<String, BTreeMap<String, u32>>,
}

/// Telemetry: spans and logs to standard error, and to an OpenTelemetry collector when one is named.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Telemetry {
    /// Filter of what is logged: a level, and targets with levels of their own, as in `info,motherlode_ledger=debug`; RUST_LOG
    /// overrides it.
    pub filter: String,
    /// OTLP endpoint over gRPC, such as "http://127.0.0.1:4317"; none by default.
    pub otlp_endpoint: Option<String>,
    /// Share of requests that are traced to the collector, in percent.
    pub sample_percent: u8,
    /// Seconds between two exports of the metrics.
    pub metrics_seconds: u16,
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

impl Default for Telemetry {
    fn default() -> Self {
        Self { filter: "info".to_owned(), otlp_endpoint: None, sample_percent: 100, metrics_seconds: 10 }
    }
}

impl Config {
    /// How many threads answer requests.
    #[must_use]
    pub fn threads(&self) -> usize {
        match self.worker_threads {
            0 => std::thread::available_parallelism().map_or(1, |processors| processors.get().div_ceil(2)),
            threads => threads,
        }
    }

    /// Parses and checks a configuration file's text.
    ///
    /// # Errors
    /// [`ConfigError`] names the line, the key or the range.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        let config: Self = toml::from_str(text)?;
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
        operators::check(&config.operators, config.tls.as_ref().is_some_and(|tls| tls.client_ca.is_some()))?;
        Ok(config)
    }

    /// Checks that the process knows what its role needs to know, and keeps its draw keys apart from the log.
    ///
    /// # Errors
    /// [`ConfigError::Ledger`] says what is missing, [`ConfigError::DrawKeys`] where the keys can't be.
    pub fn check_role(&self) -> Result<(), ConfigError> {
        let copied = ["log", "copy", "index"].map(|folder| self.data.join(folder));
        if let Some(file) = self.draw_key_file().filter(|file| copied.iter().any(|folder| file.starts_with(folder))) {
            return Err(ConfigError::DrawKeys(file));
        }
        self.ledger.check(self.role, self.partitions)
    }

    /// The file of the draw keys: as configured, or `keys/draws` in the data folder for a process that spins. None for another,
    /// which then neither seals nor reveals.
    #[must_use]
    pub fn draw_key_file(&self) -> Option<PathBuf> {
        let own = || self.role.spins().then(|| self.data.join("keys").join("draws"));
        // Those that keep the pools neither seal nor reveal: the keys are not theirs, whatever the configuration names.
        let configured = self.draws.key_file.clone().filter(|_| self.role != Role::Jackpot);
        configured.or_else(own)
    }

    /// The log's place on JetStream, with the path of the data folder's own stream key.
    #[must_use]
    pub fn log_store(&self) -> Store {
        Store { own_key_file: Some(self.data.join("keys").join("stream")), ..self.store.clone() }
    }

    /// The partitions that this process writes, if it's one with the log; it has the others from those that write them.
    #[must_use]
    pub fn writes(&self) -> BTreeSet<u32> {
        match self.ledger.writes.is_empty() {
            true => (0..self.partitions).collect(),
            false => self.ledger.writes.clone(),
        }
    }

    /// The partitions that this process holds: those that it writes, and of the others replicas. Home is always among them.
    #[must_use]
    pub fn holds(&self) -> BTreeSet<u32> {
        match self.ledger.holds.is_empty() {
            true => (0..self.partitions).collect(),
            false => [0].into_iter().chain(self.ledger.writes.iter().chain(&self.ledger.holds).copied()).collect(),
        }
    }

    /// The most that open campaigns of operators may cost, in EUR, of those that have such a cap (PL-36).
    pub fn campaign_caps(&self) -> impl Iterator<Item = (String, motherlode_books::Nano)> + '_ {
        let caps = self.operators.iter().filter_map(|of| Some((of.id.clone(), of.campaign_liability_eur_max?)));
        caps.map(|(operator, eur)| (operator, motherlode_books::Nano::major(eur.into())))
    }

    /// Weights of the operators.
    pub fn weights(&self) -> impl Iterator<Item = (&str, u32)> {
        self.operators.iter().map(|operator| (operator.id.as_str(), operator.weight))
    }

    /// How many operators share what there is of places: those with players. Without any there's one, everybody.
    #[must_use]
    pub fn sharing(&self) -> usize {
        self.operators.iter().filter(|operator| operator.id != PLATFORM).count().max(1)
    }

    /// Checks that the service is not open to others by mistake: beyond loopback it needs TLS and operators, or leave by
    /// name to do without (PL-27).
    ///
    /// # Errors
    /// [`ConfigError::Exposed`] names the key that allows it.
    pub fn check_exposure(&self) -> Result<(), ConfigError> {
        let (listen, allowed) = (self.listen, self.allow_beyond_loopback);
        // A process that has the console alone has no operators: those whom it calls have, or nobody logs in.
        let operators = !self.operators.is_empty() || self.role == Role::Console;
        self.console.check_exposure(operators, self.tls.is_some() || allowed.plaintext)?;
        let faults = [
            (self.tls.is_none() && !allowed.plaintext, "and without TLS all is said in the clear", "plaintext"),
            (
                self.operators.is_empty() && !allowed.anyone,
                "and without operators whoever does may do everything",
                "anyone",
            ),
        ];
        match faults.into_iter().find(|(exposed, ..)| *exposed && !listen.ip().is_loopback()) {
            Some((_, how, key)) => Err(ConfigError::Exposed { listen, how, key }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
