//! Hash chain of the log's records, which identifies the log that a file was made from.

use crate::error::OpenError;
use motherlode_log::{Hash, Position, ReadError, Reader, Record, hash};

/// Returns the hash of an existing record.
pub(crate) fn record_hash(reader: &dyn Reader, position: Position) -> Result<Option<[u8; 32]>, ReadError> {
    if position == 0 {
        return Ok(None);
    }
    Ok(reader.read(position, 1, usize::MAX)?.first().map(|record| hash(&record.bytes)))
}

/// Returns the hash of the last record. Each record must contain the hash of the previous one.
pub(crate) fn verify(head: Hash, records: &[Record]) -> Result<Hash, OpenError> {
    records.iter().try_fold(head, |head, record| {
        let (after, bytes) = (record.position - 1, std::slice::from_ref(&record.bytes));
        motherlode_log::verify_chain(head, after, bytes).map_err(|broken| OpenError::Chain(broken.to_string()))
    })
}
