//! Converts commits to log records in the plain form. Records in other forms can also be read. Their hash stays
//! valid, because it covers the stored bytes.

use super::{
    Malformed,
    plain::{In, Out},
    values::{Value, needed},
};
use crate::log::v1;
use bytes::Bytes;
use motherlode_state::{Commit, Currency, Minor, SmolStr, StreamId};
use prost::Message;
use std::sync::Arc;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logged {
    pub commit: Commit,
    pub balances_after: Vec<(Currency, Minor)>,
    /// Credits due to the player's seamless wallet after the commit (PL-31); empty in older records.
    pub due_after: Vec<(Currency, Minor)>,
    /// Process that proposed the commit; `None` if the writer made the commit itself.
    pub proposer: Option<Arc<Proposer>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposer {
    pub credential: SmolStr,
    /// Roles of the proposing process, separated by spaces; empty if no operators are configured.
    pub roles: SmolStr,
}

#[must_use]
pub fn encode(previous: &[u8; 32], logged: &Logged) -> Bytes {
    let mut bytes = vec![];
    write_commit(previous, &logged.commit, &logged.balances_after, &mut bytes);
    write_end(logged.proposer.as_deref(), &logged.due_after, &mut bytes);
    bytes.into()
}

/// Appends a record without its last fields, which [`write_end`] appends later. `previous` is the hash of the preceding
/// record.
pub fn write_commit(
    previous: &[u8; 32],
    commit: &Commit,
    balances_after: &Vec<(Currency, Minor)>,
    bytes: &mut Vec<u8>,
) {
    let out = &mut Out(bytes);
    previous.put(out, 1);
    commit.position.put(out, 2);
    commit.partition.put(out, 3);
    commit.stream.put(out, 4);
    commit.version.put(out, 5);
    commit.previous.put(out, 6);
    commit.request_id.put(out, 7);
    commit.fingerprint.put(out, 8);
    out.varint(9, commit.time_ms.cast_unsigned());
    commit.events.put(out, 10);
    balances_after.put(out, 11);
}

pub fn write_end(proposer: Option<&Proposer>, due_after: &Vec<(Currency, Minor)>, bytes: &mut Vec<u8>) {
    let out = &mut Out(bytes);
    if let Some(Proposer { credential, roles }) = proposer {
        credential.put(out, 12);
        roles.put(out, 13);
    }
    due_after.put(out, 14);
}

pub fn decode(bytes: &[u8]) -> Result<Logged, Malformed> {
    decode_known(bytes, None)
}

/// Decodes a record. If the record has the same stream name as `known`, the name is not parsed again.
pub fn decode_known(bytes: &[u8], known: Option<(&[u8], &StreamId)>) -> Result<Logged, Malformed> {
    read(bytes, known).or_else(|_| read(&v1::Commit::decode(bytes)?.encode_to_vec(), None))
}

fn read(bytes: &[u8], known: Option<(&[u8], &StreamId)>) -> Result<Logged, Malformed> {
    let mut fields = In::new(bytes);
    fields.bytes(1).ok_or(Malformed::Field("previous_hash"))?;
    let commit = Commit {
        position: take(&mut fields, 2, "position")?,
        partition: take(&mut fields, 3, "partition")?,
        stream: needed(fields.bytes(4).and_then(|name| named(name, known)), "stream")?,
        version: take(&mut fields, 5, "version")?,
        previous: take(&mut fields, 6, "previous_position")?,
        request_id: take(&mut fields, 7, "request_id")?,
        fingerprint: take(&mut fields, 8, "fingerprint")?,
        time_ms: fields.varint(9).ok_or(Malformed::Field("time_unix_ms"))?.cast_signed(),
        events: take(&mut fields, 10, "events")?,
    };
    let balances_after = take(&mut fields, 11, "balances_after")?;
    let (credential, roles): (SmolStr, SmolStr) =
        (take(&mut fields, 12, "proposer")?, take(&mut fields, 13, "proposer_roles")?);
    let due_after = take(&mut fields, 14, "due_after")?;
    fields.ended("(unknown number)")?;
    let proposer = (!credential.is_empty() || !roles.is_empty()).then(|| Proposer { credential, roles }.into());
    Ok(Logged { commit, balances_after, due_after, proposer })
}

fn named(name: &[u8], known: Option<(&[u8], &StreamId)>) -> Option<StreamId> {
    match known {
        Some((of, stream)) if of == name => Some(stream.clone()),
        _ => std::str::from_utf8(name).ok()?.parse().ok(),
    }
}

fn take<T: Value>(fields: &mut In, number: u8, name: &'static str) -> Result<T, Malformed> {
    needed(T::take(fields, number), name)
}

/// Returns the name of the record's stream, or `None` if the record's first fields are not in the plain form.
#[must_use]
pub fn stream_name(bytes: &[u8]) -> Option<&[u8]> {
    let mut fields = In::new(bytes);
    fields.bytes(1)?;
    fields.varint(2)?;
    fields.varint(3)?;
    fields.bytes(4)
}

/// Decodes only the stream of a record, and detects no errors in the record's other fields.
pub fn stream(bytes: &[u8]) -> Result<StreamId, Malformed> {
    let Streamed { stream } = Streamed::decode(bytes)?;
    stream.parse().map_err(|_| Malformed::Field("stream"))
}

pub fn request(bytes: &[u8]) -> Result<(StreamId, String), Malformed> {
    let Requested { stream, request_id } = Requested::decode(bytes)?;
    Ok((stream.parse().map_err(|_| Malformed::Field("stream"))?, request_id))
}

#[derive(Clone, PartialEq, Message)]
struct Streamed {
    #[prost(string, tag = "4")]
    stream: String,
}

#[derive(Clone, PartialEq, Message)]
struct Requested {
    #[prost(string, tag = "4")]
    stream: String,
    #[prost(string, tag = "7")]
    request_id: String,
}
