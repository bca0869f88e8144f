//! Why a service could not start, or does not go on.

use crate::log::location::LogError;
use motherlode_books::StreamId;
use motherlode_ledger::{AppendError, OpenError, Standing, StartRefused, UnknownRules, draws::DrawKeysError};
use motherlode_proofs::ProofsError;
use motherlode_runtime::{ConfigError, connect::ConnectError, connections::TlsError};
use motherlode_spin::UnknownName;
use motherlode_wallet::WalletError;
use std::{io, net::SocketAddr, path::PathBuf};

/// Why a service could not start, or does not go on.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The log does not open: it is damaged, in use, cannot be read, or its servers' settings are unsafe.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The log does not replay.
    #[error(transparent)]
    Ledger(#[from] OpenError),
    /// The opening was given up.
    #[error("the opening was interrupted: {0}")]
    Interrupted(io::Error),
    /// A replica of a partition that another process writes is not of that log.
    #[error("what is written elsewhere is no continuation of what was held of it: {}", reason(.0))]
    Replica(Standing),
    /// The replica of a process without a log of its own is not of the writers' log.
    #[error("{}", reason(.0))]
    AllReplicas(Standing),
    /// A background task of money or of the log has ended; the process ends with it, and begins from the log when it is started again.
    #[error(
        "the background task {task} has ended: {why}; start the process again, and report its log if this happens twice"
    )]
    TaskEnded {
        /// Its name.
        task: &'static str,
        /// Its end.
        why: String,
    },
    /// A file of the TLS configuration cannot be read.
    #[error("[tls] names {}, which cannot be read: {source}", file.display())]
    Tls {
        /// The file.
        file: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The TLS configuration's files are not PEM of one certificate and its key.
    #[error("[tls] names certificate {} and key {}: {source}", certificate.display(), key.display())]
    TlsUnusable {
        /// The file of the certificate.
        certificate: PathBuf,
        /// The file of its key.
        key: PathBuf,
        /// The fault.
        source: TlsError,
    },
    /// A process that the console is to call is named in a way that makes no sense.
    #[error("console: {0}")]
    Console(ConnectError),
    /// The address cannot be bound.
    #[error("cannot listen on {address}: {source}; --listen and --console name other addresses")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// The threads that answer calls do not start.
    #[error("threads: {0}")]
    Threads(io::Error),
    /// There is no key for checkpoints, or the log is not the one that was signed.
    #[error(transparent)]
    Proofs(#[from] ProofsError),
    /// The writer can't be sure of its log or its draw keys (PL-40).
    #[error(transparent)]
    Start(#[from] StartRefused),
    /// The folder of the pages can't be used.
    #[error("draws.page_folder: {0}")]
    PageFolder(io::Error),
    /// The draw keys can't be read or written.
    #[error(transparent)]
    DrawKeys(#[from] DrawKeysError),
    /// A pool could not be opened.
    #[error("pool {pool}: {source}")]
    Pool {
        /// The pool.
        pool: Box<StreamId>,
        /// Why.
        source: AppendError,
    },
    /// The partitions could not be told of each other.
    #[error("the partitions are behind: {0}")]
    Behind(AppendError),
    /// The configuration contradicts itself, or lets others reach the service in a way that it does not allow.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The configuration names a game or a jurisdiction that there is not.
    #[error(transparent)]
    UnknownName(#[from] UnknownName),
    /// The configuration enables a rules version that does not exist, or that is not superseded.
    #[error(transparent)]
    UnknownRules(#[from] UnknownRules),
    /// A currency or a coin ladder of the configuration makes no sense, or a coin value returns what it may not.
    #[error("currencies: {0}")]
    Currencies(#[from] motherlode_slots::LadderRefused),
    /// An operator's own wallet cannot be used as it's configured.
    #[error(transparent)]
    Wallet(#[from] WalletError),
    /// The reflection service refuses the descriptors.
    #[error("reflection: {0}")]
    Reflection(#[from] tonic_reflection::server::Error),
}

impl ServeError {
    /// Of a task or a thread that ended early.
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
