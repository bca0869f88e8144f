//! Requests whose answer was lost: what became of them, and that they are never applied (PL-33).
//!
//! A request is cancelled by a commit in its own name, which the writer orders among all others: so exactly one of the two is in
//! the log, however they race, and the table of requests finds it for ever.

use crate::{
    append::{AppendError, Proposal, fingerprint},
    fields::{self, AccountId, account_of, money, timestamp, unknown_account},
    handle::Handle,
    ledgers::Ledgers,
    rounds,
};
use motherlode_books::{Event, InternalRequest, Minor, PlayerState, Refused, StreamId};
use motherlode_proto::{
    convert::record::Logged,
    ledger::v1::{self as wire, request_outcome::State, transaction::Kind},
};
use motherlode_rounds::balance_after;
use motherlode_runtime::{Caller, Reason, Refusal};

/// Answers what became of a request. What is on its way to the disk is waited for.
pub(crate) async fn get(
    ledgers: &Ledgers,
    caller: &Caller,
    request: &wire::GetRequestRequest,
) -> Result<wire::GetRequestResponse, Refusal> {
    let (account, request_id) = named(ledgers, caller, request.account.as_ref(), &request.request_id)?;
    ledgers.of(&account.stream)?.settled(&account.stream, request_id).await?;
    let outcome = outcome(ledgers, caller, account.stream, request_id).await?;
    Ok(wire::GetRequestResponse { outcome: Some(outcome) })
}

/// Reason of a rollback begun by CancelRequest.
const REQUEST_CANCELLED: &str = "REQUEST_CANCELLED";

/// Cancels a request, unless it's applied already, and answers which of the two it is. Begins the rollback of a debit in progress.
pub(crate) async fn cancel(
    ledgers: &Ledgers,
    caller: &Caller,
    request: &wire::CancelRequestRequest,
) -> Result<wire::CancelRequestResponse, Refusal> {
    let (account, request_id) = named(ledgers, caller, request.account.as_ref(), &request.request_id)?;
    let acted = caller.actor().map(|_| fields::acted_by(caller, ""));
    let proposal = Proposal {
        stream: account.stream.clone(),
        expected_version: None,
        request_id: request_id.into(),
        fingerprint: fingerprint("cancel_request", request),
        events: [Event::RequestCancelled].into_iter().chain(acted.clone()).collect(),
    };
    match ledgers.append(proposal).await {
        // Another than this call made the commit: what it is, is the answer.
        Ok(_) | Err(AppendError::RequestIdReused { .. } | AppendError::RequestCancelled { .. }) => {}
        Err(AppendError::Refused(Refused::DebitOpen)) => {
            roll_back(ledgers, &account.stream, request_id, acted).await?;
        }
        Err(error) => return Err(error.into()),
    }
    let outcome = outcome(ledgers, caller, account.stream, request_id).await?;
    Ok(wire::CancelRequestResponse { outcome: Some(outcome) })
}

/// Begins the rollback of a request's open debit (PL-42).
async fn roll_back(
    ledgers: &Ledgers,
    stream: &StreamId,
    request_id: &str,
    acted: Option<Event>,
) -> Result<(), Refusal> {
    let asked = Event::RollbackAsked { request_id: request_id.into(), reason: REQUEST_CANCELLED.to_owned() };
    let proposal = Proposal {
        stream: stream.clone(),
        expected_version: None,
        request_id: InternalRequest::AskRollback { request_id }.to_string().into(),
        fingerprint: InternalRequest::FINGERPRINT,
        events: [asked].into_iter().chain(acted).collect(),
    };
    match ledgers.append(proposal).await {
        // The debit ended first: the log has how.
        Ok(_) | Err(AppendError::Refused(Refused::NoSuchDebit)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Whether the rollback of a request's debit was begun by a CancelRequest.
fn is_cancelled_debit(ledger: &Handle, stream: &StreamId, request_id: &str) -> Result<bool, Refusal> {
    let rollback = InternalRequest::AskRollback { request_id }.to_string();
    let Some(position) = ledger.find_position(stream, &rollback)? else { return Ok(false) };
    let asked = ledger.fetch(position)?;
    let mut events = asked.commit.events.iter();
    Ok(events.any(|event| matches!(event, Event::RollbackAsked { reason, .. } if reason == REQUEST_CANCELLED)))
}

fn named<'a>(
    ledgers: &Ledgers,
    caller: &Caller,
    account: Option<&motherlode_proto::round::v1::Account>,
    request_id: &'a str,
) -> Result<(AccountId, &'a str), Refusal> {
    let account = fields::account(caller, account)?;
    let request_id = fields::id("request_id", request_id)?;
    let player = ledgers.of(&account.stream)?.player(&account.stream)?;
    player.and_then(|player| player.balance(account.currency)).ok_or_else(unknown_account)?;
    Ok((account, request_id))
}

/// The outcome as the log has it.
async fn outcome(
    ledgers: &Ledgers,
    caller: &Caller,
    stream: StreamId,
    request_id: &str,
) -> Result<wire::RequestOutcome, Refusal> {
    let ledger = ledgers.of(&stream)?.clone();
    let unseen = wire::RequestOutcome {
        state: State::Unseen.into(),
        position: ledger.durable(),
        ..wire::RequestOutcome::default()
    };
    let Some(position) = ledger.find_position(&stream, request_id)? else {
        let player = ledger.player(&stream)?;
        let debit = player.as_ref().and_then(PlayerState::debit).filter(|debit| debit.request_id == request_id);
        let state = if debit.is_some() { State::Pending } else { State::Unseen };
        return Ok(wire::RequestOutcome { state: state.into(), ..unseen });
    };
    let logged = ledger.fetch(position)?;
    let (state, reason) = match logged.commit.events.first() {
        Some(Event::RequestCancelled) => (State::Cancelled, ""),
        Some(Event::DebitRefused { reason }) => (State::Refused, reason.as_str()),
        Some(Event::DebitRolledBack) => {
            let is_cancelled = is_cancelled_debit(&ledger, &stream, request_id)?;
            (if is_cancelled { State::Cancelled } else { State::Refused }, Reason::DebitRolledBack.name())
        }
        _ => (State::Applied, ""),
    };
    let reason = reason.to_owned();
    let (number, step) = made(&logged.commit.events);
    let round = match number {
        Some(number) => ledgers.reads().run(caller, move || rounds::read(&ledger, &stream, number)).await??,
        None => None,
    };
    Ok(wire::RequestOutcome {
        state: state.into(),
        position,
        time: Some(timestamp(logged.commit.time_ms)),
        round,
        step,
        transaction: transaction(&logged),
        reason,
    })
}

/// The round and the step of it that events made.
fn made(events: &[Event]) -> (Option<u64>, u32) {
    let step = events.iter().find_map(|event| match event {
        Event::StepResolved(step) => Some((Some(step.round), step.step)),
        _ => None,
    });
    let voided = || {
        events.iter().find_map(|event| match event {
            Event::RoundVoided { round, .. } => Some((Some(*round), 0)),
            _ => None,
        })
    };
    step.or_else(voided).unwrap_or_default()
}

/// The transaction that a commit of the wallet booked; `None` for a commit of another kind.
pub(crate) fn transaction(logged: &Logged) -> Option<wire::Transaction> {
    let commit = &logged.commit;
    let (kind, currency, amount) = match commit.events.first()? {
        Event::AccountOpened { currency } => (Kind::Opened, *currency, Minor(0)),
        Event::Deposited { currency, amount } => (Kind::Deposit, *currency, *amount),
        Event::Withdrawn { currency, amount } => (Kind::Withdrawal, *currency, *amount),
        _ => return None,
    };
    Some(wire::Transaction {
        request_id: commit.request_id.to_string(),
        kind: kind.into(),
        account: Some(account_of(&commit.stream, currency)),
        amount: Some(money(amount, currency)),
        balance: Some(money(balance_after(logged, currency), currency)),
        position: commit.position,
        time: Some(timestamp(commit.time_ms)),
        actor: commit.acted_by().map_or_else(String::new, |(actor, _)| actor.to_owned()),
    })
}
