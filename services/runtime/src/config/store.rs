use super::error::ConfigError;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, path::PathBuf};

/// A log on NATS JetStream, one stream per partition.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Store {
    /// Addresses of the servers, "nats://host:port,host:port"; `None` for a log in segment files.
    pub url: Option<String>,
    /// Prefix of stream names: with the prefix MOTHERLODE, the first stream is MOTHERLODE_0.
    pub stream: String,
    /// Replicas of each stream; applied to new and existing streams.
    pub replicas: u8,
    /// NATS credentials file (JWT and seed).
    pub credentials: Option<PathBuf>,
    /// Stream key file with one key of 64 hexadecimal digits per line; the first key signs. All processes and tools
    /// must use the same keys. Default: `keys/stream` in the data folder.
    pub key_file: Option<PathBuf>,
    /// Default of `key_file`, set by [`Config::log_store`](super::Config::log_store); the file is created with a new log.
    #[serde(skip)]
    pub own_key_file: Option<PathBuf>,
    /// For a log that is older than the stream key: maps each stream to the number of its last message without a MAC.
    pub unsigned_up_to: BTreeMap<String, u64>,
    /// Whether a missing stream is created.
    pub create: bool,
    /// TLS settings for the servers; if not set, connections are plaintext.
    pub tls: Option<StoreTls>,
    /// Monitoring addresses of all servers, "http://host:8222", which report the servers' sync settings.
    pub monitor: Vec<String>,
    /// Milliseconds before an append with unknown outcome fails; must exceed the duration of a leader election.
    pub append_ms_max: u64,
    /// Exceptions for unsafe settings.
    pub allow_unsafe: AllowUnsafe,
}

/// TLS files in PEM.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct StoreTls {
    /// Root certificates for the servers; default: the system's root certificates.
    pub ca: Option<PathBuf>,
    /// Client certificate.
    pub certificate: Option<PathBuf>,
    /// Private key.
    pub key: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct AllowUnsafe {
    /// Whether to allow fewer than 3 replicas; a lost disk can then lose the log.
    pub replicas: bool,
    /// Whether to allow servers without `sync_always`, or without a monitoring address for this check. A power cut can
    /// then lose acknowledged rounds.
    pub sync_interval: bool,
    /// Whether to allow NATS servers older than 2.15.1, which can lose messages.
    pub version: bool,
    /// Whether to allow streams in memory; a restart of the servers then loses the log.
    pub storage: bool,
    /// Whether to allow servers with a `max_payload` below 8 MiB, which refuse large group commits.
    pub max_payload: bool,
    /// Whether to run without a stream key, for tests; any NATS user with write access can then write the log.
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
    /// Parses an address `nats://host:port,host:port/NAME`; NAME replaces the stream prefix.
    pub fn at(&self, url: &str) -> Result<Self, ConfigError> {
        let rest = url.strip_prefix("nats://").unwrap_or_default();
        let (servers, stream) = rest.split_once('/').unwrap_or((rest, &self.stream));
        let store = Self { url: Some(format!("nats://{servers}")), stream: stream.to_owned(), ..self.clone() };
        store.check().map(|()| store)
    }

    #[must_use]
    pub fn servers(&self) -> Vec<String> {
        let servers = self.url.iter().flat_map(|url| url.strip_prefix("nats://").unwrap_or_default().split(','));
        servers.map(|server| format!("nats://{server}")).collect()
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let fault = |fault: &str| Err(ConfigError::Store { fault: fault.to_owned() });
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        // The address may contain a secret, so the error omits it.
        if self.url.as_ref().is_some_and(|url| url.contains('@')) {
            return fault("url must not contain a user or a password: use [store] credentials");
        }
        if self.servers().iter().any(|server| server.len() <= "nats://".len()) {
            return fault("url must be nats://host:port,... with one host:port per server");
        }
        if self.stream.is_empty() || self.stream.len() > 64 || !self.stream.bytes().all(is_name) {
            return fault("stream must be 1 to 64 characters of [A-Za-z0-9_-]");
        }
        if ![1, 3, 5].contains(&self.replicas) {
            return fault("replicas must be 1, 3 or 5");
        }
        if self.monitor.iter().any(|server| !server.starts_with("http://")) {
            return fault("monitor must list addresses that begin with http://");
        }
        if self.tls.as_ref().is_some_and(|tls| tls.certificate.is_some() != tls.key.is_some()) {
            return fault("tls.certificate and tls.key must be set together");
        }
        Ok(())
    }
}
