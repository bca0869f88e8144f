use motherlode_log::{Position, ReadError};
use motherlode_proto::convert::Malformed;
use motherlode_runtime::{Reason, Refusal};
use motherlode_state::Refused;
use motherlode_views::ViewError;
use std::{io, path::PathBuf, time::Duration};
use tonic::Code;

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("the record at position {position} is malformed: {source}")]
    Malformed { position: Position, source: Malformed },
    #[error("the books refuse the commit at position {position}: {source}")]
    Refused { position: Position, source: Refused },
    #[error(
        "the log starts at position {0}: earlier records were archived and removed, and no usable snapshot covers these records; copy \
         `index/` and `proofs/` from another process of this log, or restore the log from its archive with `motherlode \
         restore`"
    )]
    Archived(Position),
    #[error("this is not the expected log: {0}")]
    Chain(String),
    #[error(
        "{source}. This log was found damaged earlier, so it is verified completely before it is served. Repair the log: \
         docs/how-to/backup-and-restore.md, \"Repair a damaged log\""
    )]
    Damaged { source: Box<OpenError> },
    #[error("cannot replicate the log of the ledger process: {0}")]
    Origin(String),
    #[error("found partitions {found:?}: partitions must be numbered from 0 without gaps or duplicates")]
    Partitions { found: Vec<u32> },
    #[error("partition {partition}: {source}")]
    Partition { partition: u32, source: Box<OpenError> },
    #[error(
        "the log ends at position {end}, but the folder {} shows that commits up to {acknowledged} were acknowledged; restore the whole log, or delete this folder to accept the loss",
        by.display()
    )]
    Shortened { end: Position, acknowledged: Position, by: PathBuf },
    #[error("cannot sync the log at startup: {0}")]
    Settle(motherlode_log::AppendError),
    #[error("cannot create the index folder {}: {source}", folder.display())]
    Folder { folder: PathBuf, source: io::Error },
    #[error("cannot read or write the ledger's views: {0}")]
    View(#[from] ViewError),
    #[error("cannot start the {0} thread: {1}")]
    Thread(&'static str, io::Error),
}

impl OpenError {
    pub(crate) fn in_partition(partition: u32) -> impl Fn(Self) -> Self {
        move |source| Self::Partition { partition, source: Box::new(source) }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("cannot read or write the ledger's views: {0}")]
    View(#[from] ViewError),
    #[error("the record at position {position} is malformed: {source}")]
    Malformed { position: Position, source: Malformed },
    #[error("the log has no record at position {0}")]
    Missing(Position),
}

pub(crate) const FIRST_POSITION: &str = "first_position";

pub(crate) fn archived(message: impl Into<String>, first: Position) -> Refusal {
    Refusal::new(Reason::Archived, message).with(FIRST_POSITION, first)
}

impl From<FetchError> for Refusal {
    fn from(error: FetchError) -> Self {
        let message = error.to_string();
        match error {
            FetchError::Read(ReadError::Archived { first, .. }) => archived(message, first),
            FetchError::Read(ReadError::Io(_)) | FetchError::View(_) => {
                tracing::error!(error = message, "failed to read a commit from the log");
                let is_log = matches!(error, FetchError::Read(_));
                let reason = if is_log { Reason::LogUnreadable } else { Reason::IndexUnreadable };
                Refusal::new(reason, message).with_code(Code::Unavailable).retry_after(Duration::from_secs(1))
            }
            FetchError::Read(_) | FetchError::Malformed { .. } | FetchError::Missing(_) => {
                tracing::error!(error = message, "failed to read a commit from the log");
                Refusal::new(Reason::LogUnreadable, message)
            }
        }
    }
}
