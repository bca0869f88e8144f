//! `role` and `[ledger]`: the services of a process, and the processes that write the log.

use super::{error::ConfigError, seamless::is_private};
use crate::connect::Credentials;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeSet, fs, io, path::PathBuf};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// All services.
    #[default]
    All,
    /// Log, wallet, rounds and reports.
    Ledger,
    /// Bets and completion of abandoned rounds.
    Spin,
    /// Pools.
    Jackpot,
    /// Only the console, which calls other processes and has no log or replica.
    Console,
}

impl Role {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Ledger => "ledger",
            Self::Spin => "spin",
            Self::Jackpot => "jackpot",
            Self::Console => "console",
        }
    }

    #[must_use]
    pub fn has_log(self) -> bool {
        matches!(self, Self::All | Self::Ledger)
    }

    #[must_use]
    pub fn spins(self) -> bool {
        matches!(self, Self::All | Self::Spin)
    }

    #[must_use]
    pub fn keeps_pools(self) -> bool {
        matches!(self, Self::All | Self::Jackpot)
    }
}

impl std::str::FromStr for Role {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "all" => Ok(Self::All),
            "ledger" => Ok(Self::Ledger),
            "spin" => Ok(Self::Spin),
            "jackpot" => Ok(Self::Jackpot),
            "console" => Ok(Self::Console),
            _ => Err("must be all, ledger, spin, jackpot or console".to_owned()),
        }
    }
}

/// Processes that write the log, and the credential for calling them: a platform credential with the node role `node-spin`,
/// `node-jackpot` or `node-ledger`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct LedgerTargets {
    /// Addresses of the log's writers, such as "https://ledger-0:50051"; this process finds the writer of each
    /// partition.
    pub targets: Vec<String>,
    /// Partitions that a `ledger` process writes; default: all. The process reads the remaining partitions as a replica.
    pub write_partitions: BTreeSet<u32>,
    /// Partitions that a `spin` or `ledger` process loads, in addition to partition 0 and `write_partitions`; default: all.
    /// Calls for partitions not loaded are refused with PARTITION_ELSEWHERE.
    pub read_partitions: BTreeSet<u32>,
    /// Token file.
    pub token_file: Option<PathBuf>,
    /// Root certificate for https, PEM.
    pub ca: Option<PathBuf>,
    /// Client certificate, PEM.
    pub certificate: Option<PathBuf>,
    /// Private key of the client certificate, PEM.
    pub key: Option<PathBuf>,
    /// Name that the servers' certificates must contain; default: the host in the address.
    pub server_name: Option<String>,
}

impl LedgerTargets {
    pub fn credentials(&self) -> Result<Credentials, ConfigError> {
        let read = |path: &PathBuf| {
            let fault = |error: io::Error| ConfigError::Ledger { fault: format!("{}: {error}", path.display()) };
            fs::read(path).map_err(fault)
        };
        let token = self.token_file.as_ref().map(read).transpose()?;
        let identity = match (&self.certificate, &self.key) {
            (Some(certificate), Some(key)) => Some((read(certificate)?, read(key)?)),
            _ => None,
        };
        Ok(Credentials {
            token: token.map(|token| String::from_utf8_lossy(&token).trim().to_owned()),
            ca: self.ca.as_ref().map(read).transpose()?,
            identity,
            server_name: self.server_name.clone(),
        })
    }

    pub(super) fn check(&self, role: Role, partitions: u32) -> Result<(), ConfigError> {
        let fault = |fault: &str| Err(ConfigError::Ledger { fault: fault.to_owned() });
        if !self.write_partitions.is_empty() && role != Role::Ledger {
            return fault("write_partitions is for the role ledger only");
        }
        if !self.read_partitions.is_empty() && !matches!(role, Role::Spin | Role::Ledger) {
            return fault("read_partitions is for the roles spin and ledger: other roles need all partitions");
        }
        if self.read_partitions.iter().chain(&self.write_partitions).any(|partition| *partition >= partitions) {
            return fault("write_partitions or read_partitions names an unknown partition");
        }
        if self.write_partitions.is_empty() && !self.read_partitions.is_empty() && role == Role::Ledger {
            return fault(
                "read_partitions needs write_partitions: without write_partitions, this process writes and loads all partitions",
            );
        }
        let elsewhere = !self.write_partitions.is_empty()
            && (0..partitions).any(|partition| !self.write_partitions.contains(&partition));
        if elsewhere && self.targets.is_empty() {
            return fault("targets must name the processes that write the other partitions");
        }
        if !role.has_log() && self.targets.is_empty() {
            return fault("targets must name the processes that write the log, because this role has no log");
        }
        if self.certificate.is_some() != self.key.is_some() {
            return fault("certificate and key must be set together");
        }
        if let Some(target) = self.targets.iter().find(|target| self.token_file.is_some() && !is_private(target)) {
            return Err(ConfigError::Ledger {
                fault: format!("the token in token_file would be sent to {target} without encryption: use https"),
            });
        }
        Ok(())
    }
}
