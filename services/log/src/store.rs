//! The contract of a log store. MUST and SHOULD are meant as in RFC 2119; [`crate::conformance`] tests them.

use std::{fmt::Write as _, io, sync::Arc};

use bytes::Bytes;

use crate::Hash;

/// A record's place in its partition: 1 for the first, dense, never reused. 0 stands for "before the first".
pub type Position = u64;

/// One record as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its place in the partition.
    pub position: Position,
    /// Its bytes, exactly as they were appended. They may share memory with the records around them, up to a
    /// megabyte or the longer block: copy what is kept for long.
    pub bytes: Bytes,
}

/// The single writer's side of one partition.
///
/// * A store MUST have at most one live writer: a second one MUST be refused when it opens or, at the latest,
///   when it appends.
/// * [`end`](Store::end) and [`head`](Store::head) MUST speak of durable records only, and MUST not go back.
/// * After a crash a store MUST open with everything acknowledged, byte for byte, and MAY hold whole appends
///   that were not acknowledged, in order; never a part of one.
/// * A store that finds itself damaged MUST refuse to open; it MUST NOT drop an acknowledged record.
pub trait Store: Send {
    /// The partition's number, which its [genesis](crate::genesis) hash is made of.
    fn partition(&self) -> u32;

    /// The last durable position; 0 when the log is empty.
    fn end(&self) -> Position;

    /// The hash of the record at [`end`](Store::end), or the genesis hash when the log is empty: what the next
    /// record must name.
    fn head(&self) -> Hash;

    /// Appends `records` at `after + 1` and on, all or none. `Ok` means that they are durable and that readers
    /// see them.
    ///
    /// * `after` MUST be [`end`](Store::end), else nothing happens and the answer is a conflict.
    /// * The first record MUST name [`head`](Store::head), each further one the record before it.
    /// * One call is one block and SHOULD cost one synchronous write: callers batch.
    /// * An empty slice at the right place is accepted and writes nothing.
    ///
    /// # Errors
    /// See [`AppendError`]; the checks come in the order of its variants `Conflict`, `Chain`, `TooLarge`.
    fn append(&mut self, after: Position, records: &[Bytes]) -> Result<(), AppendError>;

    /// Makes what was opened durable and fit to be appended to, and mends what a failed append has left. An append does
    /// so by itself. Nothing that is readable changes.
    ///
    /// # Errors
    /// [`AppendError`]: appends are refused for now; it MAY be tried again.
    fn settle(&mut self) -> Result<(), AppendError> {
        Ok(())
    }

    /// Does what is due between appends: [`settle`](Store::settle), and whatever the next appends would else have to do
    /// themselves. SHOULD cost nothing where nothing is due.
    ///
    /// # Errors
    /// [`AppendError`]: it MAY be tried again. Appends may get through all the same.
    fn tend(&mut self) -> Result<(), AppendError> {
        self.settle()
    }

    /// A handle for reading that lives on its own and works while the writer appends.
    fn reader(&self) -> Arc<dyn Reader>;
}

/// The reading side of one partition. Reading MUST NOT wait for an append that is under way.
pub trait Reader: Send + Sync {
    /// The last durable position; 0 when the log is empty.
    fn end(&self) -> Position;

    /// The records at `from` and on, in order and without a gap: at most `max_records`, and no more than
    /// `max_bytes` of them together, except that one record is answered however long it is. Fewer than asked
    /// for is no sign of the end; an empty answer is.
    ///
    /// * `from` 0 means 1. Past the end the answer MUST be empty.
    /// * A record that isn't durable MUST NOT be answered.
    ///
    /// # Errors
    /// See [`ReadError`]; a store MUST NOT answer bytes that it has reason to doubt.
    fn read(&self, from: Position, max_records: usize, max_bytes: usize) -> Result<Vec<Record>, ReadError>;
}

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
    /// count as not appended once [`settle`](Store::settle) or another append has succeeded.
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
    /// The storage failed.
    #[error("the log cannot be read: {0}")]
    Io(#[from] io::Error),
    /// The stored bytes are not what was appended.
    #[error(transparent)]
    Damaged(#[from] crate::Damage),
    /// A stored message is not what was appended.
    #[error(transparent)]
    DamagedMessage(#[from] crate::DamagedMessage),
}

/// Counts the records and bytes that a read may still return: for implementations of [`Reader`].
#[derive(Debug)]
pub struct Limit {
    records: usize,
    bytes: usize,
    first: bool,
}

impl Limit {
    /// Limits a read to so many records and bytes.
    #[must_use]
    pub fn new(records: usize, bytes: usize) -> Self {
        Self { records, bytes, first: true }
    }

    /// Whether a further record of `bytes` may be answered; the first one may whatever its length, so that
    /// every reader gets on.
    pub fn admits(&mut self, bytes: usize) -> bool {
        let admitted = self.records > 0 && (self.first || bytes <= self.bytes);
        if admitted {
            self.records -= 1;
            self.bytes = self.bytes.saturating_sub(bytes);
            self.first = false;
        }
        admitted
    }
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
