//! Encoding of the records in an operator's copy of the log (PL-30).

use super::Malformed;
use crate::log::v1;
use bytes::Bytes;
use motherlode_state::is_id;
use prost::Message;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copied {
    pub operator: String,
    pub partition: u32,
    pub position: u64,
    pub record: Bytes,
}

#[must_use]
pub fn encode(previous: &[u8; 32], copied: &Copied) -> Bytes {
    let Copied { operator, partition, position, record } = copied.clone();
    let record = record.to_vec();
    let message =
        v1::CopiedRecord { previous_hash: previous.to_vec(), operator_id: operator, partition, position, record };
    message.encode_to_vec().into()
}

pub fn decode(bytes: &[u8]) -> Result<Copied, Malformed> {
    let v1::CopiedRecord { operator_id: operator, partition, position, record, .. } = v1::CopiedRecord::decode(bytes)?;
    if !is_id(&operator) {
        return Err(Malformed::Field("operator"));
    }
    Ok(Copied { operator, partition, position, record: record.into() })
}
