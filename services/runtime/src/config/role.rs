//! `role` and `[ledger]` in the configuration: which of the services a process has, and where the log is, if not with it.

use super::{error::ConfigError, seamless::is_private};
use crate::connect::Credentials;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeSet, fs, io, path::PathBuf};

/// The role of a process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Everything.
    #[default]
    All,
    /// Has the log: wallet, rounds, reports, and the log for the others.
    Ledger,
    /// Resolves rounds, and finishes those that were left.
    Spin,
    /// Keeps the pools.
    Jackpot,
    /// Serves the console, and nothing else: a client of the other processes, without a log or a replica.
    Console,
}

impl Role {
    /// Whether it has the log; the others have replicas.
    #[must_use]
    pub fn has_log(self) -> bool {
        matches!(self, Self::All | Self::Ledger)
    }

    /// Whether it resolves rounds.
    #[must_use]
    pub fn spins(self) -> bool {
        matches!(self, Self::All | Self::Spin)
    }

    /// Whether it keeps the pools.
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

/// The processes with the log, and what they are shown: a credential of the platform with the node role of this process: `node-spin`, `node-jackpot` or `node-ledger`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct LedgerTargets {
    /// Their addresses, such as "https://ledger-0:50051"; the one that writes a partition is found among them.
    pub targets: Vec<String>,
    /// The partitions that this process writes, of the role `ledger`: all where it names none. Those that it doesn't write
    /// it has from the others.
    pub writes: BTreeSet<u32>,
    /// The partitions that this process holds, of the roles `spin` and `ledger`: all where it names none. Partition 0, and those
    /// that it writes, it always holds. A call for a player of another partition is refused with PARTITION_ELSEWHERE, which
    /// names it.
    pub holds: BTreeSet<u32>,
    /// File with the token.
    pub token_file: Option<PathBuf>,
    /// Root of their certificates (PEM), for https.
    pub ca: Option<PathBuf>,
    /// This process's own certificate (PEM), where it's known by one.
    pub certificate: Option<PathBuf>,
    /// The private key of that certificate (PEM).
    pub key: Option<PathBuf>,
    /// The name that their certificates have, where it isn't the address's.
    pub server_name: Option<String>,
}

impl LedgerTargets {
    /// Reads the credentials for them from their files.
    ///
    /// # Errors
    /// A file cannot be read.
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

    /// Checks what a role needs of it.
    pub(super) fn check(&self, role: Role, partitions: u32) -> Result<(), ConfigError> {
        let fault = |fault: &str| Err(ConfigError::Ledger { fault: fault.to_owned() });
        if !self.writes.is_empty() && role != Role::Ledger {
            return fault("writes is for the role ledger: the others have all of the log, or nothing of it");
        }
        if !self.holds.is_empty() && !matches!(role, Role::Spin | Role::Ledger) {
            return fault("holds is for the roles spin and ledger: the others need all partitions");
        }
        if self.holds.iter().chain(&self.writes).any(|partition| *partition >= partitions) {
            return fault("writes or holds names a partition that there is none of");
        }
        if self.writes.is_empty() && !self.holds.is_empty() && role == Role::Ledger {
            return fault("holds goes with writes: a process that writes all partitions holds them all");
        }
        let elsewhere = !self.writes.is_empty() && (0..partitions).any(|partition| !self.writes.contains(&partition));
        if elsewhere && self.targets.is_empty() {
            return fault("targets must name the processes that write the other partitions");
        }
        if !role.has_log() && self.targets.is_empty() {
            return fault("targets must name the processes with the log: this role has none of its own");
        }
        if self.certificate.is_some() != self.key.is_some() {
            return fault("certificate and key go together");
        }
        if let Some(target) = self.targets.iter().find(|target| self.token_file.is_some() && !is_private(target)) {
            return Err(ConfigError::Ledger {
                fault: format!("the token of token_file would be sent to {target} in the clear: use https"),
            });
        }
        Ok(())
    }
}
