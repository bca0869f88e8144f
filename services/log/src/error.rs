use std::{fmt::Write as _, io};

use crate::{
    damage::{Damage, DamagedMessage},
    record::{Hash, Position},
};

#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    #[error("the log ends at position {end}")]
    Conflict { end: Position },
    /// A record has a wrong previous hash. Nothing was written.
    #[error("the record for position {position} does not chain: expected {}, found {}", hex(Some(expected)), hex(found.as_ref()))]
    Chain { position: Position, expected: Hash, found: Option<Hash> },
    #[error("an append of {bytes} bytes is over the limit of {limit}")]
    TooLarge { bytes: u64, limit: u64 },
    /// The disk is full, and nothing was appended. Retry once there is room.
    #[error("no room for the append: {0}")]
    Full(io::Error),
    /// Nothing was appended. The caller may retry.
    #[error("the log cannot be written: {0}")]
    Unavailable(io::Error),
    /// The outcome is unknown. The next successful [`settle`](crate::Store::settle) or append removes the records.
    #[error("the outcome of the append is unknown: {0}")]
    Unknown(io::Error),
    /// After a write with an unknown outcome, appends are refused until the store is opened again.
    #[error("the log refuses appends until it is opened again: {reason}")]
    Failed { reason: String },
    /// Another writer has taken over the log. Later appends are refused.
    #[error("another writer has taken the log over: {reason}")]
    Fenced { reason: String },
}

#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("position {position} is archived: the log keeps records from position {first}")]
    Archived { position: Position, first: Position },
    #[error("the log cannot be read: {0}")]
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
