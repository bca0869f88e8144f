use std::{fmt::Write as _, io};

use crate::{
    damage::{Damage, DamagedMessage},
    record::{Hash, Position},
};

#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    #[error("the append does not start at the log's end, position {end}")]
    Conflict { end: Position },
    /// Nothing was written.
    #[error("the record for position {position} does not continue the hash chain: expected {}, found {}", hex(Some(expected)), hex(found.as_ref()))]
    Chain { position: Position, expected: Hash, found: Option<Hash> },
    #[error("the append has {bytes} bytes, more than the limit of {limit}")]
    TooLarge { bytes: u64, limit: u64 },
    /// Nothing was appended. The caller may retry when the disk has space again.
    #[error("no disk space for the append: {0}")]
    Full(io::Error),
    /// Nothing was appended. The caller may retry.
    #[error("cannot write the log: {0}")]
    Unavailable(io::Error),
    /// The records of this append may be in the log. The next append or [`settle`](crate::Store::settle) first removes
    /// them.
    #[error("the outcome of the append is unknown: {0}")]
    Unknown(io::Error),
    /// Appends are refused until the store is opened again, because an earlier write failed and left the file in an unknown
    /// state.
    #[error("the log refuses appends until the process restarts: {reason}")]
    Failed { reason: String },
    #[error("another writer has taken over the log: {reason}")]
    Fenced { reason: String },
}

#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("position {position} is archived: this log starts at position {first}")]
    Archived { position: Position, first: Position },
    #[error("cannot read the log: {0}")]
    Io(#[from] io::Error),
    #[error(transparent)]
    Damaged(#[from] Damage),
    #[error(transparent)]
    DamagedMessage(#[from] DamagedMessage),
}

fn hex(hash: Option<&Hash>) -> String {
    hash.map_or("no hash".into(), |hash| {
        hash.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    })
}
