use crate::log::location::LogError;
use motherlode_archive::ArchiveError;
use motherlode_ledger::{AppendError, OpenError, Standing, StartRefused, UnknownRules, draws::DrawKeysError};
use motherlode_proofs::ProofsError;
use motherlode_runtime::{ConfigError, connect::ConnectError, connections::TlsError, telemetry::TelemetryError};
use motherlode_spin::UnknownName;
use motherlode_state::StreamId;
use motherlode_wallet::WalletError;
use std::{io, net::SocketAddr, path::PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error(transparent)]
    Log(#[from] LogError),
    #[error(transparent)]
    Ledger(#[from] OpenError),
    #[error("the start was interrupted while the log was opened: {0}")]
    Interrupted(io::Error),
    #[error("a replica does not match its writer's log: {}", reason(.0))]
    Replica(Standing),
    /// A replica (copy of another process's partition) failed in a process that writes no partition.
    #[error("{}", reason(.0))]
    AllReplicas(Standing),
    #[error(
        "the background task {task} has ended: {why}; restart the process, and report its log lines if the task ends again"
    )]
    TaskEnded { task: &'static str, why: String },
    #[error("[tls] names {}, which cannot be read: {source}", file.display())]
    Tls { file: PathBuf, source: io::Error },
    #[error("[tls] names certificate {} and key {}, which cannot be used: {source}", certificate.display(), key.display())]
    TlsUnusable { certificate: PathBuf, key: PathBuf, source: TlsError },
    #[error("console: {0}")]
    Console(ConnectError),
    #[error("cannot listen on {address}: {source}; choose another address with --listen or --console")]
    Bind { address: SocketAddr, source: io::Error },
    #[error("cannot start threads: {0}")]
    Threads(io::Error),
    #[error(transparent)]
    Proofs(#[from] ProofsError),
    /// Log records or draw keys are missing, or could not be checked (PL-40).
    #[error(transparent)]
    Start(#[from] StartRefused),
    #[error("draws.page_folder: {0}")]
    PageFolder(io::Error),
    #[error(transparent)]
    DrawKeys(#[from] DrawKeysError),
    #[error("cannot open pool {pool}: {source}")]
    Pool { pool: Box<StreamId>, source: AppendError },
    #[error("cannot copy partition 0's pools, exchange rates and stop switches to another partition: {0}")]
    Behind(AppendError),
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    UnknownName(#[from] UnknownName),
    #[error(transparent)]
    UnknownRules(#[from] UnknownRules),
    #[error("currencies: {0}")]
    Currencies(#[from] motherlode_slots::LadderRefused),
    #[error(transparent)]
    Wallet(#[from] WalletError),
    #[error(transparent)]
    Telemetry(#[from] TelemetryError),
    #[error("{key}: {source}")]
    Target { key: &'static str, source: ConnectError },
    #[error("archive.place: {0}")]
    Archive(#[from] ArchiveError),
    #[error("reflection: {0}")]
    Reflection(#[from] tonic_reflection::server::Error),
}

impl ServeError {
    pub(crate) fn interrupted(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Interrupted(io::Error::other(error))
    }
}

fn reason(standing: &Standing) -> &str {
    match standing {
        Standing::Failed(why)
        | Standing::Damaged(why)
        | Standing::Fenced(why)
        | Standing::Stalled(why)
        | Standing::Unconfirmed(why) => why,
        Standing::Takes => "",
    }
}
