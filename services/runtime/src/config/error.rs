//! Errors of the configuration.

use std::{net::SocketAddr, path::PathBuf};

/// Reasons why a configuration is refused.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// Invalid TOML, an unknown key or a wrong type.
    #[error("{0}")]
    Syntax(#[from] toml::de::Error),
    /// A value is out of range.
    #[error("{key} is {value}; it must be {range}")]
    Range {
        /// Key of the value.
        key: &'static str,
        /// Refused value.
        value: u64,
        /// Allowed range.
        range: &'static str,
    },
    /// `[store]` is inconsistent.
    #[error("store: {fault}")]
    Store {
        /// Description of the fault.
        fault: String,
    },
    /// `[ledger]` is inconsistent.
    #[error("ledger: {fault}")]
    Ledger {
        /// Description of the fault.
        fault: String,
    },
    /// The draw keys would be in a copied folder.
    #[error("draws: key_file {} is in a folder of the log: move it elsewhere", .0.display())]
    DrawKeys(PathBuf),
    /// The profile does not exist.
    #[error("jurisdictions: there is no profile {name}")]
    UnknownProfile {
        /// Name of the profile.
        name: String,
    },
    /// An operator's entry is invalid.
    #[error("operator {operator:?}: {fault}")]
    Operator {
        /// Name of the operator.
        operator: String,
        /// Description of the fault.
        fault: String,
    },
    /// The console would be reachable without log-in.
    #[error(
        "console: {listen} is reachable beyond loopback, and without operators there is no log-in: configure some, or listen on loopback"
    )]
    OpenConsole {
        /// Address of the console.
        listen: SocketAddr,
    },
    /// The service would be reachable beyond loopback without TLS or operators, and no exception allows it.
    #[error("{listen} is reachable beyond loopback {how}; to allow it, set [allow_beyond_loopback] {key} = true")]
    Exposed {
        /// Address of the calls.
        listen: SocketAddr,
        /// Description of the exposure.
        how: &'static str,
        /// Key of the exception.
        key: &'static str,
    },
}
