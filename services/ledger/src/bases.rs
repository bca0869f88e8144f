//! A base is a confirmed digest of a partition's state at a position of its log (PL-37). The platform's admin records
//! the digest. After an audit of a copy of the log has computed the same digest, a caller with another credential
//! confirms it.

use crate::{
    append::{AppendError, Proposal, fingerprint},
    error::FetchError,
    fields,
    handle::Handle,
    ledgers::Ledgers,
    operator_requests::of_platform,
};
use motherlode_proto::ledger::v1 as wire;
use motherlode_runtime::{Caller, Reason, Refusal};
use motherlode_state::{BaseConfirmed, BaseTaken, Event, Refused, StateDigest, StreamId};

pub(crate) async fn take(
    ledgers: &Ledgers,
    caller: &Caller,
    request: &wire::TakeBaseRequest,
) -> Result<wire::TakeBaseResponse, Refusal> {
    let ledger = ledger(ledgers, request.partition)?;
    let (position, form) = (request.position, request.form);
    let (record, digest) = (hash("record_hash", &request.record_hash)?, hash("digest", &request.digest)?);
    if form != StateDigest::FORM {
        return Err(Refusal::field(
            "form",
            "must be the digest's format number, as `motherlode base` of this program version prints it",
        ));
    }
    let commit = BaseCommit { caller, id: &request.request_id, actor: &request.actor };
    let fingerprint = fingerprint("take_base", request);
    let position = commit.append(ledger, fingerprint, || {
        if !(1..=ledger.durable()).contains(&position) {
            return Err(AppendError::from(Refused::BadBase { position }));
        }
        let stored = ledger.records(position, 1, usize::MAX).map_err(FetchError::Read).map_err(AppendError::from)?;
        if stored.first().map(|stored| motherlode_log::hash(&stored.bytes)) != Some(record) {
            return Err(AppendError::from(Refused::BadBase { position }));
        }
        let base = BaseTaken { position, record_hash: record, form, digest, actor: caller.signature() };
        Ok(Event::BaseTaken(Box::new(base)))
    });
    Ok(wire::TakeBaseResponse { position: position.await? })
}

pub(crate) async fn confirm(
    ledgers: &Ledgers,
    caller: &Caller,
    request: &wire::ConfirmBaseRequest,
) -> Result<wire::ConfirmBaseResponse, Refusal> {
    let ledger = ledger(ledgers, request.partition)?;
    let (position, digest) = (request.position, hash("digest", &request.digest)?);
    let commit = BaseCommit { caller, id: &request.request_id, actor: &request.actor };
    let fingerprint = fingerprint("confirm_base", request);
    let position = commit.append(ledger, fingerprint, || {
        let confirmed = BaseConfirmed { position, digest, actor: caller.signature() };
        Ok(Event::BaseConfirmed(Box::new(confirmed)))
    });
    Ok(wire::ConfirmBaseResponse { position: position.await? })
}

struct BaseCommit<'a> {
    caller: &'a Caller,
    id: &'a str,
    actor: &'a str,
}

impl BaseCommit<'_> {
    async fn append(
        &self,
        ledger: &Handle,
        fingerprint: [u8; 16],
        event: impl FnOnce() -> Result<Event, AppendError>,
    ) -> Result<u64, Refusal> {
        let request_id = of_platform(fields::id("request_id", self.id)?);
        let reference = fields::reference("actor", self.actor)?;
        if let Some(made) = ledger.find(&StreamId::System, &request_id, fingerprint)? {
            return Ok(made.commit.position);
        }
        let events = vec![event()?, fields::acted_by(self.caller, reference)];
        let (stream, request_id) = (StreamId::System, request_id.into());
        let proposal = Proposal { stream, expected_version: None, request_id, fingerprint, events };
        Ok(ledger.append(proposal).await?.commit.position)
    }
}

fn ledger(ledgers: &Ledgers, partition: u32) -> Result<&Handle, Refusal> {
    let found = ledgers.all().find(|ledger| ledger.partition() == partition);
    let unknown = || Refusal::new(Reason::PartitionUnknown, "there is no such partition in this process");
    found.ok_or_else(|| unknown().with("partition", partition))
}

fn hash(field: &str, bytes: &[u8]) -> Result<[u8; 32], Refusal> {
    bytes.try_into().map_err(|_| Refusal::field(field, "must have 32 bytes"))
}
