//! Why a configuration was refused.

use std::{net::SocketAddr, path::PathBuf};

/// Why a configuration was refused.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The text is not valid TOML, or has an unknown key or a value of the wrong kind.
    #[error("{0}")]
    Syntax(#[from] toml::de::Error),
    /// A value is out of its range.
    #[error("{key} is {value}; it must be {range}")]
    Range {
        /// The key.
        key: &'static str,
        /// The value given.
        value: u64,
        /// The range allowed.
        range: &'static str,
    },
    /// The log's place is described in a way that makes no sense.
    #[error("store: {fault}")]
    Store {
        /// The fault, for people.
        fault: String,
    },
    /// The processes with the log are described in a way that makes no sense.
    #[error("ledger: {fault}")]
    Ledger {
        /// The fault, for people.
        fault: String,
    },
    /// The draw keys would lie where the log is copied from.
    #[error("draws: key_file {} lies in a folder of the log: keep it apart", .0.display())]
    DrawKeys(PathBuf),
    /// A profile is named that there is none of.
    #[error("jurisdictions: there is no profile {name}")]
    UnknownProfile {
        /// Its name.
        name: String,
    },
    /// An operator is described in a way that makes no sense.
    #[error("operator {operator:?}: {fault}")]
    Operator {
        /// Its name.
        operator: String,
        /// The fault, for people.
        fault: String,
    },
    /// Others could reach the console without having logged in.
    #[error(
        "console: {listen} can be reached by others, and without operators there is no log-in: name some, or listen on loopback"
    )]
    OpenConsole {
        /// The address to listen on.
        listen: SocketAddr,
    },
    /// Others could reach the service in a way that is not allowed by name.
    #[error(
        "{listen} can be reached by others, {how}; to allow it, say so in the configuration: [allow_beyond_loopback] {key} = true"
    )]
    Exposed {
        /// The address to listen on.
        listen: SocketAddr,
        /// The exposure, for people.
        how: &'static str,
        /// The key that allows it.
        key: &'static str,
    },
}
