//! Record of an operator's copy of the log (PL-30).

use super::Malformed;
use crate::log::v1;
use bytes::Bytes;
use motherlode_books::is_id;
use prost::Message;

/// Copied record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copied {
    /// Operator of the copy.
    pub operator: String,
    /// Partition of the log.
    pub partition: u32,
    /// Position in the partition.
    pub position: u64,
    /// Stored bytes of the commit.
    pub record: Bytes,
}

/// Encodes a record that follows the copy's record with hash `previous`.
#[must_use]
pub fn encode(previous: &[u8; 32], copied: &Copied) -> Bytes {
    let Copied { operator, partition, position, record } = copied.clone();
    let record = record.to_vec();
    let message = v1::CopiedRecord { previous_hash: previous.to_vec(), operator, partition, position, record };
    message.encode_to_vec().into()
}

/// Decodes a record of a copy.
///
/// # Errors
/// [`Malformed`] names the first field at fault.
pub fn decode(bytes: &[u8]) -> Result<Copied, Malformed> {
    let v1::CopiedRecord { operator, partition, position, record, .. } = v1::CopiedRecord::decode(bytes)?;
    if !is_id(&operator) {
        return Err(Malformed::Field("operator"));
    }
    Ok(Copied { operator, partition, position, record: record.into() })
}
