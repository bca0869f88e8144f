//! The contract of a log store. MUST, SHOULD and MAY have the meaning of RFC 2119; `conformance` in `tests/kit` tests
//! the contract.

use std::sync::Arc;

use bytes::Bytes;

use crate::{
    authority::Authority,
    chain::Chained,
    error::{AppendError, ReadError},
    record::{Hash, Position, Record},
    start::LogStart,
};

/// Writer of one partition.
///
/// * A store MUST refuse a second live writer, when that writer opens the store or first appends.
/// * [`end`](Store::end) and [`head`](Store::head) MUST cover durable records only, and MUST NOT go back.
/// * After a crash a store MUST have all acknowledged appends unchanged. It MAY have later appends, in order and
///   complete.
/// * A damaged store MUST refuse to open. It MUST NOT drop an acknowledged record.
pub trait Store: Send {
    fn partition(&self) -> u32;

    /// Start of the log. A log that does not start at position 1 MUST have a segment.
    fn start(&self) -> LogStart;

    /// Last durable position; 0 for an empty log.
    fn end(&self) -> Position;

    /// Hash of the record at [`end`](Store::end), or the genesis hash.
    fn head(&self) -> Hash;

    /// Appends all records or none, from position `after + 1`. On `Ok` they are durable and visible to readers.
    ///
    /// * `after` MUST be [`end`](Store::end), else the error is [`AppendError::Conflict`]. Then `Chain` and `TooLarge`
    ///   are checked.
    /// * The first record MUST continue the chain at [`head`](Store::head). [`Chained`] has verified the other records.
    /// * One call writes one block and SHOULD cost one synchronous write.
    /// * An empty append writes nothing.
    fn append_chained(&mut self, after: Position, chained: &Chained) -> Result<(), AppendError>;

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

    /// Makes the opened log durable and undoes a failed append; an append does this too. The caller MAY retry.
    fn settle(&mut self) -> Result<(), AppendError> {
        Ok(())
    }

    /// Calls [`settle`](Store::settle) and prepares later appends. It SHOULD cost nothing if there is no work. After an
    /// error the caller MAY retry, and appends may still succeed.
    fn tend(&mut self) -> Result<(), AppendError> {
        self.settle()
    }

    /// Last position that was not verified at opening, or 0. The opener SHOULD verify the records up to it.
    fn unread(&self) -> Position {
        0
    }

    /// Confirmations that this process is the only writer; `None` if a lock ensures it.
    fn authority(&self) -> Option<Arc<Authority>> {
        None
    }

    fn reader(&self) -> Arc<dyn Reader>;
}

/// Reader of one partition. A read MUST NOT wait for an append.
pub trait Reader: Send + Sync {
    fn first(&self) -> Position;

    fn end(&self) -> Position;

    /// Returns contiguous records from `from`: at most `max_records` and `max_bytes`, but at least one record. The
    /// answer is empty only at the end.
    ///
    /// * `from` 0 means 1. After the end the answer MUST be empty.
    /// * Below [`first`](Reader::first) the answer MUST be [`ReadError::Archived`].
    /// * Records that are not durable or in doubt MUST NOT be returned.
    fn read(&self, from: Position, max_records: usize, max_bytes: usize) -> Result<Vec<Record>, ReadError>;

    fn check_rest(&self, _upto: Position) -> Result<(), ReadError> {
        Ok(())
    }
}

#[derive(Debug)]
pub struct Limit {
    records: usize,
    bytes: usize,
    first: bool,
}

impl Limit {
    #[must_use]
    pub fn new(records: usize, bytes: usize) -> Self {
        Self { records, bytes, first: true }
    }

    /// Returns whether a record of this size fits the limits; the first record always does.
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
