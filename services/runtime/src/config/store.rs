//! `[store]` in the configuration: where the log is kept, if not in segment files of the data folder.

use super::error::ConfigError;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, path::PathBuf};

/// A log on NATS JetStream: one stream a partition.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Store {
    /// The servers, "nats://host:port,host:port"; `None` for segment files.
    pub url: Option<String>,
    /// The prefix of the streams' names, before the partition: MOTHERLODE_0.
    pub stream: String,
    /// Servers that each keep a copy; a stream that's made anew gets so many, one that's there must have as many.
    pub replicas: u8,
    /// File with the credentials that NATS gave out (JWT and seed).
    pub credentials: Option<PathBuf>,
    /// File with the key that authenticates the writer's messages: 64 hexadecimal digits per line, of which the first line
    /// signs. The same for all processes and tools that read the log. Without it, `own_key_file`.
    pub key_file: Option<PathBuf>,
    /// `keys/stream` of the data folder, see [`Config::log_store`](super::Config::log_store): made with a new log where
    /// `key_file` is not configured.
    #[serde(skip)]
    pub own_key_file: Option<PathBuf>,
    /// Number of the last message without authentication, by stream, for a log from before the key.
    pub unsigned_up_to: BTreeMap<String, u64>,
    /// Whether a missing stream is created.
    pub create: bool,
    /// TLS to the servers; without it, everything is said in the clear.
    pub tls: Option<StoreTls>,
    /// Monitoring addresses of all servers, "http://host:8222": a client cannot see how a server syncs, these say it.
    pub monitor: Vec<String>,
    /// Milliseconds after which an append whose outcome cannot be found out is given up; a change of leaders is to fit.
    pub append_ms_max: u64,
    /// Unsafe settings that are refused unless they are allowed here.
    pub allow_unsafe: AllowUnsafe,
}

/// TLS to the servers of the log: files in PEM.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct StoreTls {
    /// Roots that the servers' certificates are checked against; without it, the system's.
    pub ca: Option<PathBuf>,
    /// The client's certificate.
    pub certificate: Option<PathBuf>,
    /// Its private key.
    pub key: Option<PathBuf>,
}

/// Each allows one thing that costs acknowledged rounds when the wrong machine fails.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct AllowUnsafe {
    /// Fewer than 3 replicas: a lost disk is a lost log.
    pub replicas: bool,
    /// A server that does not sync always, or that no monitoring address says so of: a power cut loses what was
    /// acknowledged.
    pub sync_interval: bool,
    /// A server before 2.15.1: faults that lose messages were mended up to there.
    pub version: bool,
    /// A stream that is kept in memory.
    pub storage: bool,
    /// Servers that take messages of less than 8 MiB: a large group commit is refused.
    pub max_payload: bool,
    /// No key: every NATS user with write access to the stream can write the log. For tests.
    pub unsigned: bool,
}

impl Default for Store {
    fn default() -> Self {
        Self {
            url: None,
            stream: "MOTHERLODE".to_owned(),
            replicas: 3,
            credentials: None,
            key_file: None,
            own_key_file: None,
            unsigned_up_to: BTreeMap::new(),
            create: true,
            tls: None,
            monitor: vec![],
            append_ms_max: 30_000,
            allow_unsafe: AllowUnsafe::default(),
        }
    }
}

impl Store {
    /// The same for the servers and, where the address has a path, the streams that a `nats://` address names:
    /// "nats://host:port,host:port/NAME".
    ///
    /// # Errors
    /// [`ConfigError::Store`] when it is none.
    pub fn at(&self, url: &str) -> Result<Self, ConfigError> {
        let rest = url.strip_prefix("nats://").unwrap_or_default();
        let (servers, stream) = rest.split_once('/').unwrap_or((rest, &self.stream));
        let store = Self { url: Some(format!("nats://{servers}")), stream: stream.to_owned(), ..self.clone() };
        store.check().map(|()| store)
    }

    /// The servers, one "nats://host:port" each; none for segment files.
    #[must_use]
    pub fn servers(&self) -> Vec<String> {
        let servers = self.url.iter().flat_map(|url| url.strip_prefix("nats://").unwrap_or_default().split(','));
        servers.map(|server| format!("nats://{server}")).collect()
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let fault = |fault: &str| Err(ConfigError::Store { fault: fault.to_owned() });
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        // Never printed: a fault does not repeat the address.
        if self.url.as_ref().is_some_and(|url| url.contains('@')) {
            return fault("url must not contain a user or a password: use [store] credentials");
        }
        if self.servers().iter().any(|server| server.len() <= "nats://".len()) {
            return fault("url must be nats://host:port, with further host:port after commas");
        }
        if self.stream.is_empty() || self.stream.len() > 64 || !self.stream.bytes().all(is_name) {
            return fault("stream must be 1 to 64 characters of [A-Za-z0-9_-]");
        }
        if ![1, 3, 5].contains(&self.replicas) {
            return fault("replicas must be 1, 3 or 5");
        }
        if self.monitor.iter().any(|server| !server.starts_with("http://")) {
            return fault("monitor must be addresses that begin with http://");
        }
        if self.tls.as_ref().is_some_and(|tls| tls.certificate.is_some() != tls.key.is_some()) {
            return fault("tls.certificate and tls.key go together");
        }
        Ok(())
    }
}
