//! Why an append or a read failed, and what is known of the log then.

use std::{fmt::Write as _, io};

use crate::{
    damage::{Damage, DamagedMessage},
    record::{Hash, Position},
};

/// Why an append was not done.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// The log doesn't end where the caller believes. Nothing was written.
    #[error("the log ends at position {end}")]
    Conflict {
        /// Where it does end.
        end: Position,
    },
    /// A record doesn't name the one before it. Nothing was written.
    #[error("the record for position {position} does not chain: expected {}, found {}", hex(Some(expected)), hex(found.as_ref()))]
    Chain {
        /// The place that the record was meant for.
        position: Position,
        /// The hash that it should name.
        expected: Hash,
        /// The hash that it names, if its bytes begin as a record's must.
        found: Option<Hash>,
    },
    /// The records are too many bytes for one append. Nothing was written.
    #[error("an append of {bytes} bytes is over the limit of {limit}")]
    TooLarge {
        /// The block that they would need, bytes.
        bytes: u64,
        /// The largest block, bytes.
        limit: u64,
    },
    /// There is no room. Nothing of the append is in the log; it may be tried again when there is.
    #[error("no room for the append: {0}")]
    Full(io::Error),
    /// The storage fails. Nothing of the append is in the log; it may be tried again.
    #[error("the log cannot be written: {0}")]
    Unavailable(io::Error),
    /// The write or its sync failed: whether the records are durable is unknown, and may show at the next opening. They
    /// count as not appended once [`settle`](crate::Store::settle) or another append has succeeded.
    #[error("whether the append was written is unknown: {0}")]
    Unknown(io::Error),
    /// A write failed, now or earlier: whether the records of *that* append are durable is unknown. Reads go on; appends
    /// are refused, unwritten, until the store has been opened again.
    #[error("the log takes no appends until it is opened again: {reason}")]
    Failed {
        /// The operation that failed, and its error.
        reason: String,
    },
    /// Another writer has taken the log over. Nothing was written, and by this store nothing will be. Reads go on, up
    /// to where this writer came.
    #[error("another writer has taken the log over: {reason}")]
    Fenced {
        /// How it showed.
        reason: String,
    },
}

/// Why a read was not answered.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The record was archived: it is below the first kept position.
    #[error("position {position} is archived: the log keeps records from position {first}")]
    Archived {
        /// The requested position.
        position: Position,
        /// First kept position.
        first: Position,
    },
    /// The storage failed.
    #[error("the log cannot be read: {0}")]
    Io(#[from] io::Error),
    /// The stored bytes are not what was appended.
    #[error(transparent)]
    Damaged(#[from] Damage),
    /// A stored message is not what was appended.
    #[error(transparent)]
    DamagedMessage(#[from] DamagedMessage),
}

/// A hash for a message: 64 hexadecimal digits.
fn hex(hash: Option<&Hash>) -> String {
    hash.map_or("no hash".into(), |hash| {
        hash.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    })
}
