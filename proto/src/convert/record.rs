//! A commit of the books as a record of the log.
//!
//! Encoding is deterministic: fields in order of number, no maps, no unknown fields; but nothing rests on that, since a
//! record's hash is taken over the bytes as stored. Records of rounds have a short way of their own.

use super::{Malformed, event, plain, values};

pub use super::plain::Logged;
use crate::log::v1;
use bytes::Bytes;
use motherlode_books::{Commit, Minor, StreamId};
use prost::Message;

/// Encodes a record that follows the one with hash `previous`.
#[must_use]
pub fn encode(previous: &[u8; 32], logged: &Logged) -> Bytes {
    plain::write(previous, logged).into()
}

/// Decodes a record.
///
/// # Errors
/// [`Malformed`] names the first field at fault.
pub fn decode(bytes: &[u8]) -> Result<Logged, Malformed> {
    plain::read(bytes).map_or_else(|| from_message(bytes), Ok)
}

/// The stream of a record, which is all that's decoded of it.
///
/// # Errors
/// [`Malformed`], where it's no message or names no stream. What else is at fault stays unseen.
pub fn stream(bytes: &[u8]) -> Result<StreamId, Malformed> {
    let Streamed { stream } = Streamed::decode(bytes)?;
    stream.parse().map_err(|_| Malformed::Field("stream"))
}

/// `log.v1.Commit`, but for what is passed over.
#[derive(Clone, PartialEq, Message)]
struct Streamed {
    #[prost(string, tag = "4")]
    stream: String,
}

/// Decodes a record by way of its messages: all that are valid, and with the reason for those that are not.
fn from_message(bytes: &[u8]) -> Result<Logged, Malformed> {
    let message = v1::Commit::decode(bytes)?;
    let commit = Commit {
        partition: message.partition,
        position: message.position,
        stream: message.stream.parse().map_err(|_| Malformed::Field("stream"))?,
        version: message.version,
        previous: message.previous_position,
        request_id: message.request_id,
        fingerprint: message.fingerprint.as_slice().try_into().map_err(|_| Malformed::Field("fingerprint"))?,
        time_ms: message.time_unix_ms,
        events: message.events.into_iter().map(event::from_log).collect::<Result<_, _>>()?,
    };
    let balances_after = message
        .balances_after
        .into_iter()
        .map(|balance| Ok((values::currency(&balance.currency)?, Minor(balance.amount))))
        .collect::<Result<_, Malformed>>()?;
    Ok(Logged { commit, balances_after })
}
