//! Why a ledger can't be opened, or a commit not be read back.

use crate::index::IndexError;
use motherlode_books::Refused;
use motherlode_log::{Position, ReadError};
use motherlode_proto::convert::Malformed;
use motherlode_runtime::{Reason, Refusal};
use motherlode_views::ViewError;
use std::{path::PathBuf, time::Duration};
use tonic::Code;

/// Why a ledger could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A record is no commit.
    #[error("position {position}: {source}")]
    Malformed {
        /// Where.
        position: Position,
        /// The fault.
        source: Malformed,
    },
    /// The books refuse a commit.
    #[error("position {position}: the books refuse it: {source}")]
    Refused {
        /// Where.
        position: Position,
        /// Why.
        source: Refused,
    },
    /// The log's first records are archived, and the state is folded from position 1.
    #[error(
        "the log starts at position {0}: the records before it are archived, and the state cannot be folded without them; start with a \
         folder with the whole log"
    )]
    Archived(Position),
    /// The records are no chain from the first one on.
    #[error("what was read is not the log: {0}")]
    Chain(String),
    /// Damage that was found behind the service before is still there, or the log cannot be read.
    #[error(
        "{source}. Damage of this log was found before, so all of it is verified before it is served. Repair the log: \
         docs/how-to/backup-and-restore.md, \"Repair a damaged log\""
    )]
    Damaged {
        /// The damage and its place.
        source: Box<OpenError>,
    },
    /// The processes that have the log cannot be asked.
    #[error("the ledger: {0}")]
    Origin(String),
    /// Partitions are missing, or there twice.
    #[error("partitions {found:?} are here: each of 0, 1, 2 and so on must be, once")]
    Partitions {
        /// Those that are there.
        found: Vec<u32>,
    },
    /// A partition's ledger among several things that are opened.
    #[error("partition {partition}: {source}")]
    Partition {
        /// Which.
        partition: u32,
        /// Why it could not be opened.
        source: Box<OpenError>,
    },
    /// The log is shorter than its index or snapshot knows it to have been: acknowledged commits are missing.
    #[error(
        "the log ends at position {end}, but commits up to {held} were acknowledged, as {} says; delete that to accept the loss",
        by.display()
    )]
    Shortened {
        /// Where the log ends.
        end: Position,
        /// The last position that the index, the snapshot or a run of requests holds.
        held: Position,
        /// The index's folder, the snapshot's file, or the folder of the runs.
        by: PathBuf,
    },
    /// The records that were found can't be made durable.
    #[error("the log cannot be written: {0}")]
    Settle(motherlode_log::AppendError),
    /// The index cannot be used even when it's made anew.
    #[error("the index in {}: {source}", folder.display())]
    Index {
        /// Its folder.
        folder: PathBuf,
        /// The index's error.
        source: IndexError,
    },
    /// A player's state cannot be read from the files beside the index.
    #[error("a player's state cannot be read: {0}")]
    Player(#[from] ViewError),
    /// A thread could not be started.
    #[error("no thread for the {0}: {1}")]
    Thread(&'static str, std::io::Error),
}

impl OpenError {
    /// The same, said of a partition.
    pub(crate) fn of(partition: u32) -> impl Fn(Self) -> Self {
        move |source| Self::Partition { partition, source: Box::new(source) }
    }
}

/// Why a commit could not be read back.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The index cannot be read.
    #[error("index: {0}")]
    Index(#[from] IndexError),
    /// A player that is not in memory cannot be read.
    #[error("a player's state cannot be read: {0}")]
    Player(#[from] ViewError),
    /// A record is no commit.
    #[error("position {position}: {source}")]
    Malformed {
        /// Where.
        position: Position,
        /// The fault.
        source: Malformed,
    },
    /// Something names a position that the log does not have.
    #[error("the log has no position {0}")]
    Missing(Position),
    /// The index is behind the log, and what was asked for is too far back to be found without it.
    #[error("the index is behind the log: commits so far back cannot be found for now")]
    Behind,
}

/// Metadata of ARCHIVED: the first kept position.
pub(crate) const FIRST_POSITION: &str = "first_position";

/// The refusal of a request for an archived record.
pub(crate) fn archived(message: impl Into<String>, first: Position) -> Refusal {
    Refusal::new(Reason::Archived, message).with(FIRST_POSITION, first)
}

impl From<FetchError> for Refusal {
    fn from(error: FetchError) -> Self {
        let message = error.to_string();
        match error {
            FetchError::Read(ReadError::Archived { first, .. }) => archived(message, first),
            FetchError::Behind => Refusal::new(Reason::IndexBehind, message),
            // No descriptor, no memory, a disk or a link that fails for now: what is stored may be sound.
            FetchError::Read(ReadError::Io(_)) | FetchError::Index(_) | FetchError::Player(_) => {
                tracing::error!(error = message, "a commit could not be read back");
                let is_log = matches!(error, FetchError::Read(_));
                let reason = if is_log { Reason::LogUnreadable } else { Reason::IndexUnreadable };
                Refusal::new(reason, message).with_code(Code::Unavailable).retry_after(Duration::from_secs(1))
            }
            FetchError::Read(_) | FetchError::Malformed { .. } | FetchError::Missing(_) => {
                tracing::error!(error = message, "a commit could not be read back");
                Refusal::new(Reason::LogUnreadable, message)
            }
        }
    }
}
