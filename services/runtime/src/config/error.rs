use std::{io, net::SocketAddr, path::PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("{0}")]
    Syntax(#[from] toml::de::Error),
    #[error("the setting {old} was replaced: use {new}")]
    Replaced { old: &'static str, new: &'static str },
    #[error("{key} is {value}; it must be {range}")]
    Range { key: &'static str, value: u64, range: &'static str },
    #[error("{key} names {}, which cannot be read: {source}", path.display())]
    File { key: &'static str, path: PathBuf, source: io::Error },
    #[error("store: {fault}")]
    Store { fault: String },
    #[error("ledger: {fault}")]
    Ledger { fault: String },
    #[error("draws: key_file {} is in a folder that is copied with the log: move the file elsewhere", .0.display())]
    DrawKeys(PathBuf),
    #[error("jurisdictions: there is no profile {name}: configure it, or specify an existing profile")]
    UnknownProfile { name: String },
    #[error("operator {operator:?}: {fault}")]
    Operator { operator: String, fault: String },
    #[error(
        "console: {listen} is reachable beyond loopback, and without operators there is no log-in: configure operators, or listen on loopback"
    )]
    OpenConsole { listen: SocketAddr },
    #[error(
        "console: check_url is {url:?}; it must be https:// with a host and without a path, or http:// with a loopback host"
    )]
    CheckUrl { url: String },
    #[error("{listen} is reachable beyond loopback {how}; to allow it, set [allow_beyond_loopback] {key} = true")]
    Exposed { listen: SocketAddr, how: &'static str, key: &'static str },
}

/// Changed configuration keys that require a restart.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{} cannot change while the service runs: restart the service", .0.join(", "))]
pub struct NeedsRestart(pub Vec<String>);
