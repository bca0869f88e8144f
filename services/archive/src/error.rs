use motherlode_log::{AppendError, Position, ReadError};
use motherlode_tiles::NoteError;

#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    #[error("{place} cannot hold an archive: {reason}")]
    Place { place: String, reason: String },
    #[error("archive {place}: {source}")]
    Store { place: String, source: object_store::Error },
    #[error("archive {place}: the store did not answer the request for {object} within {seconds} s")]
    Slow { place: String, object: String, seconds: u64 },
    #[error(
        "archive {0}: there is no complete archive; if an archive was begun, repeat `motherlode archive` until it succeeds"
    )]
    Incomplete(String),
    #[error("archive {place} has {archived} partitions, but the log has {found}")]
    Partitions { place: String, archived: usize, found: usize },
    #[error("archive {place}: {object} is damaged: {reason}")]
    Damaged { place: String, object: String, reason: String },
    #[error("archive {place}: {object} is missing")]
    Missing { place: String, object: String },
    #[error("archive {place}: a segment of {bytes} bytes exceeds the memory limit of {bytes_max} bytes")]
    Memory { place: String, bytes: u64, bytes_max: u64 },
    #[error("archive {place}: the content of {object} differs from the content that was written")]
    Altered { place: String, object: String },
    #[error("archive {place}: another run has written {object}; repeat the command when that run has ended")]
    Raced { place: String, object: String },
    #[error(
        "archive {place} belongs to another log: the two logs differ at position {position} of partition {partition}"
    )]
    OtherLog { place: String, partition: u32, position: Position },
    #[error("partition {partition} of the log ends at position {end}, but the archive has records up to {archived}")]
    Shorter { partition: u32, end: Position, archived: Position },
    #[error(
        "partition {partition} ends at position {end}, but a checkpoint was signed for {size} records: records are missing"
    )]
    Missed { partition: u32, end: Position, size: Position },
    #[error("partition {partition}: the records up to {size} do not match the signed checkpoint of the log {origin}")]
    Unsigned { partition: u32, size: Position, origin: String },
    #[error("invalid checkpoint of partition {partition}: {source}")]
    Signature { partition: u32, source: NoteError },
    #[error(transparent)]
    Append(#[from] AppendError),
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl ArchiveError {
    #[must_use]
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::Damaged { .. } | Self::OtherLog { .. })
    }
}
