//! The contract of a log store. MUST, SHOULD and MAY have the meaning of RFC 2119; `conformance` in `tests/kit` tests
//! the contract.

use std::sync::Arc;

use bytes::Bytes;

use crate::{
    authority::Authority,
    chain::{Chained, hash},
    error::{AppendError, ReadError},
    record::{Hash, Position, Record},
    start::LogStart,
};

/// Writer of one partition.
///
/// * A store MUST refuse a second live writer, no later than at that writer's first append.
/// * [`end`](Store::end) and [`head`](Store::head) MUST cover only durable records, and MUST NOT decrease.
/// * After a crash, a store MUST still contain all acknowledged appends unchanged. It MAY also contain later appends, if
///   these are complete and in order.
/// * If the log is damaged, opening MUST fail. A store MUST NOT drop an acknowledged record.
pub trait Store: Send {
    fn partition(&self) -> u32;

    /// Start of the log. A log that starts after position 1 MUST NOT be empty.
    fn start(&self) -> LogStart;

    /// Last durable position; 0 for an empty log.
    fn end(&self) -> Position;

    /// Hash of the record at [`end`](Store::end), or the genesis hash.
    fn head(&self) -> Hash;

    /// Appends all records or none, from position `after + 1`. After `Ok` the records are durable and visible to readers.
    ///
    /// * `after` MUST be [`end`](Store::end), otherwise the append fails with [`AppendError::Conflict`]. The store checks
    ///   this before the conditions of `Chain` and `TooLarge`.
    /// * The first record MUST continue the chain at [`head`](Store::head). [`Chained`] has verified the other records.
    /// * A call writes one block and SHOULD cost only one synchronous write.
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

    /// Makes the opened log durable and undoes a failed append; each append also does this. The caller MAY retry.
    fn settle(&mut self) -> Result<(), AppendError> {
        Ok(())
    }

    /// Calls [`settle`](Store::settle) and prepares later appends. After an error the caller MAY retry, and appends may
    /// still succeed.
    fn tend(&mut self) -> Result<(), AppendError> {
        self.settle()
    }

    /// Last position that opening did not verify; 0 if opening verified all records. The caller SHOULD verify the records
    /// up to this position.
    fn unread(&self) -> Position {
        0
    }

    /// Time of the store's last confirmation that this process is the only writer; `None` if a lock excludes other
    /// writers.
    fn authority(&self) -> Option<Arc<Authority>> {
        None
    }

    fn reader(&self) -> Arc<dyn Reader>;
}

/// Reader of one partition. A read MUST NOT wait for an append.
pub trait Reader: Send + Sync {
    fn first(&self) -> Position;

    fn end(&self) -> Position;

    /// Returns contiguous records from `from`, limited by `max_records` and `max_bytes`. Unless `from` is after the
    /// end, at least one record is returned.
    ///
    /// * If `from` is 0, the read starts at position 1. If `from` is after the end, the answer MUST be empty.
    /// * If `from` is below [`first`](Reader::first), the answer MUST be [`ReadError::Archived`].
    /// * Records MUST NOT be returned before they are certainly durable.
    fn read(&self, from: Position, max_records: usize, max_bytes: usize) -> Result<Vec<Record>, ReadError>;

    /// Hash of the log's first record, which identifies the log even after a prune; `None` if the log is empty.
    fn identity(&self) -> Result<Option<Hash>, ReadError> {
        Ok(self.read(1, 1, 0)?.first().map(|record| hash(&record.bytes)))
    }

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

    /// Returns whether a record of this size fits the limits; the first record always fits.
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
