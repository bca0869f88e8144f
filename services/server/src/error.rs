//! Errors of a service.

use crate::log::location::LogError;
use motherlode_books::StreamId;
use motherlode_ledger::{AppendError, OpenError, Standing, StartRefused, UnknownRules, draws::DrawKeysError};
use motherlode_proofs::ProofsError;
use motherlode_runtime::{ConfigError, connect::ConnectError, connections::TlsError};
use motherlode_spin::UnknownName;
use motherlode_wallet::WalletError;
use std::{io, net::SocketAddr, path::PathBuf};

/// Reasons why a service cannot start or continue.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The log cannot be opened.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The replay failed.
    #[error(transparent)]
    Ledger(#[from] OpenError),
    /// The opening was interrupted.
    #[error("the opening was interrupted: {0}")]
    Interrupted(io::Error),
    /// A replica does not match its writer's log.
    #[error("a replica does not match its writer's log: {}", reason(.0))]
    Replica(Standing),
    /// A replica in a process without a log does not match its writer's log.
    #[error("{}", reason(.0))]
    AllReplicas(Standing),
    /// A background task of money or of the log has ended.
    #[error(
        "the background task {task} has ended: {why}; start the process again, and report its log if this happens twice"
    )]
    TaskEnded {
        /// Name of the task.
        task: &'static str,
        /// Cause of its end.
        why: String,
    },
    /// A TLS file is unreadable.
    #[error("[tls] names {}, which cannot be read: {source}", file.display())]
    Tls {
        /// Affected file.
        file: PathBuf,
        /// File error.
        source: io::Error,
    },
    /// The TLS files are not PEM of a certificate and its key.
    #[error("[tls] names certificate {} and key {}: {source}", certificate.display(), key.display())]
    TlsUnusable {
        /// Certificate file.
        certificate: PathBuf,
        /// Key file.
        key: PathBuf,
        /// Fault of the files.
        source: TlsError,
    },
    /// The address of a process for the console is invalid.
    #[error("console: {0}")]
    Console(ConnectError),
    /// The address cannot be bound.
    #[error("cannot listen on {address}: {source}; choose others with --listen and --console")]
    Bind {
        /// Configured address.
        address: SocketAddr,
        /// System error.
        source: io::Error,
    },
    /// The threads for calls cannot start.
    #[error("threads: {0}")]
    Threads(io::Error),
    /// There is no checkpoint key, or the log contradicts a checkpoint.
    #[error(transparent)]
    Proofs(#[from] ProofsError),
    /// The log or the draw keys may be incomplete (PL-40).
    #[error(transparent)]
    Start(#[from] StartRefused),
    /// The page folder is unusable.
    #[error("draws.page_folder: {0}")]
    PageFolder(io::Error),
    /// The draw keys cannot be read or written.
    #[error(transparent)]
    DrawKeys(#[from] DrawKeysError),
    /// A pool cannot be opened.
    #[error("pool {pool}: {source}")]
    Pool {
        /// Affected pool.
        pool: Box<StreamId>,
        /// Failed append.
        source: AppendError,
    },
    /// The partitions cannot exchange their initial state.
    #[error("the partitions are behind: {0}")]
    Behind(AppendError),
    /// The configuration is contradictory or unsafe.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A configured game or jurisdiction is unknown.
    #[error(transparent)]
    UnknownName(#[from] UnknownName),
    /// A configured rules version is unknown or not superseded.
    #[error(transparent)]
    UnknownRules(#[from] UnknownRules),
    /// A currency, coin ladder or coin value is invalid.
    #[error("currencies: {0}")]
    Currencies(#[from] motherlode_slots::LadderRefused),
    /// An operator's wallet settings are invalid.
    #[error(transparent)]
    Wallet(#[from] WalletError),
    /// The reflection service refuses the descriptors.
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
