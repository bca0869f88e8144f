//! The contract of a log store. MUST and SHOULD are meant as in RFC 2119; `conformance` in `tests/kit` tests them.

use std::sync::Arc;

use bytes::Bytes;

use crate::{
    authority::Authority,
    chain::Chained,
    error::{AppendError, ReadError},
    record::{Hash, Position, Record},
    start::LogStart,
};

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

    /// Where the log starts. A store that does not start with the genesis hash MUST have at least one segment.
    fn start(&self) -> LogStart;

    /// The last durable position; 0 when the log is empty.
    fn end(&self) -> Position;

    /// The hash of the record at [`end`](Store::end), or the genesis hash when the log is empty: what the next
    /// record must name.
    fn head(&self) -> Hash;

    /// Appends records at `after + 1` and on, all or none. `Ok` means that they are durable and that readers
    /// see them.
    ///
    /// * `after` MUST be [`end`](Store::end), else nothing happens and the answer is a conflict.
    /// * They MUST come after [`head`](Store::head); that each names the one before it, [`Chained`] has seen to.
    /// * One call is one block and SHOULD cost one synchronous write: callers batch.
    /// * No records at the right place are accepted and write nothing.
    ///
    /// # Errors
    /// See [`AppendError`]; the checks come in the order of its variants `Conflict`, `Chain`, `TooLarge`.
    fn append_chained(&mut self, after: Position, chained: &Chained) -> Result<(), AppendError>;

    /// Appends records whose chain nobody has verified yet: the first MUST name [`head`](Store::head), each further one the
    /// record before it.
    ///
    /// # Errors
    /// As [`append_chained`](Store::append_chained).
    fn append(&mut self, after: Position, records: &[Bytes]) -> Result<(), AppendError> {
        let end = self.end();
        if after != end {
            return Err(AppendError::Conflict { end });
        }
        let mut chained = Chained::after(self.head());
        for (record, after) in records.iter().zip(after..) {
            chained.push(after, record.clone())?;
        }
        self.append_chained(after, &chained)
    }

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

    /// The last position that the opening has not read: it was told of these records by marks of its own, and whoever opened it
    /// SHOULD verify them, as the auditor does. 0 where all was read.
    fn unread(&self) -> Position {
        0
    }

    /// How lately this writer was confirmed to be the only one; `None` where no other can write, as in files that are locked.
    fn authority(&self) -> Option<Arc<Authority>> {
        None
    }

    /// A handle for reading that lives on its own and works while the writer appends.
    fn reader(&self) -> Arc<dyn Reader>;
}

/// The reading side of one partition. Reading MUST NOT wait for an append that is under way.
pub trait Reader: Send + Sync {
    /// First kept position: 1 for a whole log.
    fn first(&self) -> Position;

    /// The last durable position; 0 when the log is empty.
    fn end(&self) -> Position;

    /// The records at `from` and on, in order and without a gap: at most `max_records`, and no more than
    /// `max_bytes` of them together, except that one record is answered however long it is. Fewer than asked
    /// for is no sign of the end; an empty answer is.
    ///
    /// * `from` 0 means 1. Past the end the answer MUST be empty.
    /// * Below [`first`](Reader::first) the answer MUST be [`ReadError::Archived`]: an empty one would mean "never written".
    /// * A record that isn't durable MUST NOT be answered.
    ///
    /// # Errors
    /// See [`ReadError`]; a store MUST NOT answer bytes that it has reason to doubt.
    fn read(&self, from: Position, max_records: usize, max_bytes: usize) -> Result<Vec<Record>, ReadError>;

    /// Verifies the bytes outside the records up to a position, which no read covers. A store with such bytes MUST report those that an
    /// opening that reads everything refuses. Cost: these bytes are read.
    ///
    /// # Errors
    /// See [`ReadError`].
    fn check_rest(&self, _upto: Position) -> Result<(), ReadError> {
        Ok(())
    }
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
