use crate::error::OpenError;
use motherlode_log::{Hash, Position, ReadError, Reader, Record, hash};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChainHead {
    pub position: Position,
    pub hash: Hash,
}

impl ChainHead {
    pub(crate) const NOTHING: Self = Self { position: 0, hash: [0; 32] };
}

pub(crate) fn record_hash(reader: &dyn Reader, position: Position) -> Result<Option<[u8; 32]>, ReadError> {
    if position == 0 {
        return Ok(None);
    }
    Ok(reader.read(position, 1, usize::MAX)?.first().map(|record| hash(&record.bytes)))
}

pub(crate) fn verify(head: Hash, records: &[Record]) -> Result<Hash, OpenError> {
    records.iter().try_fold(head, |head, record| {
        let (after, bytes) = (record.position - 1, std::slice::from_ref(&record.bytes));
        motherlode_log::verify_chain(head, after, bytes).map_err(|broken| OpenError::Chain(broken.to_string()))
    })
}
