//! Cancellation of a request, including the rollback of its debit (PL-33, PL-42).

use crate::{
    append::{AppendError, Proposal},
    fields,
    handle::Handle,
    ledgers::Ledgers,
};
use motherlode_runtime::{Caller, Refusal};
use motherlode_state::{Event, InternalRequest, PlayerState, Refused, StreamId};

const REQUEST_CANCELLED: &str = "REQUEST_CANCELLED";

pub(crate) async fn cancel_on(
    ledgers: &Ledgers,
    caller: &Caller,
    stream: &StreamId,
    request_id: &str,
    fingerprint: [u8; 16],
) -> Result<(), Refusal> {
    match append_cancellation(ledgers, caller, (stream, request_id), fingerprint).await {
        Ok(()) => match debit_of_series(ledgers.for_stream(stream)?, stream, request_id)? {
            Some(spin) => roll_back(ledgers, caller, stream, &spin).await,
            None => Ok(()),
        },
        Err(AppendError::Refused(Refused::DebitOpen)) => roll_back(ledgers, caller, stream, request_id).await,
        Err(error) => Err(error.into()),
    }
}

pub(crate) async fn append_cancellation(
    ledgers: &Ledgers,
    caller: &Caller,
    (stream, request_id): (&StreamId, &str),
    fingerprint: [u8; 16],
) -> Result<(), AppendError> {
    let acted = caller.actor().map(|_| fields::acted_by(caller, ""));
    let proposal = Proposal {
        stream: stream.clone(),
        expected_version: None,
        request_id: request_id.into(),
        fingerprint,
        events: [Event::RequestCancelled].into_iter().chain(acted).collect(),
    };
    match ledgers.append(proposal).await {
        Ok(_) | Err(AppendError::RequestIdReused { .. } | AppendError::RequestCancelled { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

async fn roll_back(ledgers: &Ledgers, caller: &Caller, stream: &StreamId, request_id: &str) -> Result<(), Refusal> {
    let acted = caller.actor().map(|_| fields::acted_by(caller, ""));
    let asked = Event::RollbackAsked { request_id: request_id.into(), reason: REQUEST_CANCELLED.to_owned() };
    let proposal = Proposal {
        stream: stream.clone(),
        expected_version: None,
        request_id: InternalRequest::AskRollback { request_id }.to_string().into(),
        fingerprint: InternalRequest::FINGERPRINT,
        events: [asked].into_iter().chain(acted).collect(),
    };
    match ledgers.append(proposal).await {
        Ok(_) | Err(AppendError::Refused(Refused::NoSuchDebit)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

pub(crate) fn debit_of_series(ledger: &Handle, stream: &StreamId, series: &str) -> Result<Option<String>, Refusal> {
    let player = ledger.player(stream)?;
    let Some(debit) = player.as_ref().and_then(PlayerState::debit) else { return Ok(None) };
    let asked = InternalRequest::AskDebit { request_id: &debit.request_id }.to_string();
    let asked = ledger.committed(stream, &asked)?;
    let is_part = asked.is_some_and(|asked| asked.commit.series().is_some_and(|whole| whole == series));
    Ok(is_part.then(|| debit.request_id.to_string()))
}

pub(crate) fn is_cancelled_debit(ledger: &Handle, stream: &StreamId, request_id: &str) -> Result<bool, Refusal> {
    let rollback = InternalRequest::AskRollback { request_id }.to_string();
    let Some(position) = ledger.find_position(stream, &rollback)? else { return Ok(false) };
    let asked = ledger.fetch(position)?;
    let mut events = asked.commit.events.iter();
    Ok(events.any(|event| matches!(event, Event::RollbackAsked { reason, .. } if reason == REQUEST_CANCELLED)))
}
