//! Outcomes and cancellations of requests. A cancellation is a commit under the request's own id, so the writer accepts
//! either the cancellation or the request. A cancellation of a series also cancels the spins of the series.

use crate::{
    append::{AppendError, fingerprint},
    cancellation::{append_cancellation, cancel_on, debit_of_series, is_cancelled_debit},
    fields::{self, AccountId, account_of, money, round_name, timestamp, unknown_account},
    handle::Handle,
    known::check_operator,
    ledgers::Ledgers,
    operator_requests::{self, OperatorRequest, of_platform},
    remote::reservation_ids,
    rounds,
};
use motherlode_log::Position;
use motherlode_proto::{
    convert::record::Logged,
    ledger::v1::{self as wire, request_outcome::State, transaction::Kind},
    round::v1::Account,
};
use motherlode_rounds::balance_after;
use motherlode_runtime::{Caller, Reason, Refusal, access::Roles, config::PLATFORM};
use motherlode_state::{Autospin, Event, InternalRequest, Minor, PlayerState, StreamId};
use std::sync::Arc;

enum Named<'a> {
    OfPlayer(AccountId, String),
    OfOperator(OperatorRequest<'a>),
}

pub(crate) async fn get(
    ledgers: &Ledgers,
    caller: &Caller,
    request: &wire::GetRequestRequest,
) -> Result<wire::GetRequestResponse, Refusal> {
    let roles = Roles::WALLET.or(Roles::PLAY).or(Roles::SUPPORT).or(Roles::AUDIT);
    let of = (request.account.as_ref(), request.operator_id.as_str());
    let outcome = match named(ledgers, caller, of, &request.request_id, roles)? {
        Named::OfPlayer(account, request_id) => {
            ledgers.for_stream(&account.stream)?.settled(&account.stream, &request_id).await?;
            outcome(ledgers, caller, account.stream, &request_id).await?
        }
        Named::OfOperator(request) => operator_requests::get(ledgers, &request).await?,
    };
    Ok(wire::GetRequestResponse { outcome: Some(outcome) })
}

pub(crate) async fn cancel(
    ledgers: &Ledgers,
    caller: &Caller,
    request: &wire::CancelRequestRequest,
) -> Result<wire::CancelRequestResponse, Refusal> {
    let content = fingerprint("cancel_request", request);
    let of = (request.account.as_ref(), request.operator_id.as_str());
    let outcome = match named(ledgers, caller, of, &request.request_id, Roles::WALLET.or(Roles::PLAY))? {
        Named::OfPlayer(account, request_id) => {
            cancel_reservation(ledgers, caller, (&account.stream, &request_id), content).await?;
            if session(ledgers.for_stream(&account.stream)?, &account.stream, &request_id)?.is_none() {
                cancel_on(ledgers, caller, &account.stream, &request_id, content).await?;
            }
            outcome(ledgers, caller, account.stream, &request_id).await?
        }
        Named::OfOperator(request) => operator_requests::cancel(ledgers, caller, &request, content).await?,
    };
    Ok(wire::CancelRequestResponse { outcome: Some(outcome) })
}

fn check_roles(caller: &Caller, roles: Roles) -> Result<(), Refusal> {
    match caller.credential() {
        Some((_, own)) if !own.meets(roles) => {
            let message = format!("the credential needs one of the roles {roles} for this request");
            Err(Refusal::new(Reason::RoleMissing, message).with("roles", roles))
        }
        _ => Ok(()),
    }
}

/// Cancels the request that reserves the cost of a campaign's grant. Must be called before the grant is cancelled, so
/// that no concurrent call reserves the cost of a cancelled grant.
async fn cancel_reservation(
    ledgers: &Ledgers,
    caller: &Caller,
    (stream, request_id): (&StreamId, &str),
    fingerprint: [u8; 16],
) -> Result<(), Refusal> {
    match stream {
        StreamId::Player { operator, player }
            if ledgers.operators().campaign_cap(operator).is_some()
                && ledgers.for_stream(stream)?.find_position(stream, request_id)?.is_none() =>
        {
            let [_, reservation] = reservation_ids(operator, player, request_id);
            Ok(append_cancellation(ledgers, caller, (&StreamId::System, &reservation), fingerprint).await?)
        }
        _ => Ok(()),
    }
}

fn rounds_of_series(ledger: &Handle, stream: &StreamId, series: &str) -> Result<Vec<(u64, Arc<Logged>)>, Refusal> {
    let mut rounds = vec![];
    for spin in 1..=Autospin::SPINS_MAX {
        let Some(logged) = ledger.committed(stream, &Autospin::spin_request_id(series, spin))? else { break };
        let started = logged.commit.events.iter().find_map(|event| match event {
            Event::RoundStarted(started) => Some(started.round),
            _ => None,
        });
        match (started, logged.commit.series()) {
            (Some(round), Some(whole)) if whole == series => rounds.push((round, logged)),
            _ => break,
        }
    }
    Ok(rounds)
}

fn named<'a>(
    ledgers: &Ledgers,
    caller: &Caller,
    (account, operator): (Option<&Account>, &'a str),
    request_id: &'a str,
    roles: Roles,
) -> Result<Named<'a>, Refusal> {
    if account.is_none() && !operator.is_empty() {
        let operator = fields::id("operator_id", operator)?;
        let request_id = fields::id("request_id", request_id)?;
        if !caller.owns(operator) {
            return Err(unknown_account());
        }
        check_roles(caller, Roles::WALLET.or(Roles::ADMIN))?;
        if operator != PLATFORM {
            check_operator(ledgers, operator)?;
        }
        return Ok(Named::OfOperator(OperatorRequest { operator, request_id }));
    }
    let account = fields::seen_account(caller, account)?;
    if !operator.is_empty() {
        return Err(Refusal::field("operator_id", "must be empty, because the account names the operator"));
    }
    let request_id = fields::id("request_id", request_id)?;
    // The platform's only requests on the stream of an operator's player are decisions on proposed voids.
    let (request_id, roles) = match &account.stream {
        StreamId::Player { operator, .. } if !caller.owns(operator) => (of_platform(request_id), Roles::ADMIN),
        _ => (request_id.to_owned(), roles),
    };
    check_roles(caller, roles)?;
    let player = ledgers.for_stream(&account.stream)?.player(&account.stream)?;
    player.and_then(|player| player.balance(account.currency)).ok_or_else(unknown_account)?;
    Ok(Named::OfPlayer(account, request_id))
}

async fn outcome(
    ledgers: &Ledgers,
    caller: &Caller,
    stream: StreamId,
    request_id: &str,
) -> Result<wire::RequestOutcome, Refusal> {
    let ledger = ledgers.for_stream(&stream)?.clone();
    let durable = ledger.durable();
    // The open debit is read first: if it completes before the commits are read, they contain its result.
    let is_open = has_open_debit(&ledger, &stream, request_id)?;
    let logged = ledger.committed(&stream, request_id)?;
    if let Some(made) = logged.as_ref().filter(|logged| !logged.commit.is_cancelled()) {
        return single(ledgers, caller, (ledger, stream, request_id), made).await;
    }
    if let Some(opened) = session(&ledger, &stream, request_id)? {
        return single(ledgers, caller, (ledger, stream, request_id), &opened).await;
    }
    series(ledgers, caller, (ledger, stream, request_id), (durable, is_open, logged)).await
}

fn has_open_debit(ledger: &Handle, stream: &StreamId, request_id: &str) -> Result<bool, Refusal> {
    let player = ledger.player(stream)?;
    let debit = player.as_ref().and_then(PlayerState::debit);
    Ok(debit.is_some_and(|debit| debit.request_id == request_id)
        || debit_of_series(ledger, stream, request_id)?.is_some())
}

fn session(ledger: &Handle, stream: &StreamId, request_id: &str) -> Result<Option<Arc<Logged>>, AppendError> {
    ledger.committed(stream, &InternalRequest::OpenSession { request_id }.to_string())
}

async fn series(
    ledgers: &Ledgers,
    caller: &Caller,
    (ledger, stream, request_id): (Handle, StreamId, &str),
    (durable, is_open, cancelled): (Position, bool, Option<Arc<Logged>>),
) -> Result<wire::RequestOutcome, Refusal> {
    let (of, player, id) = (ledger.clone(), stream.clone(), request_id.to_owned());
    let rounds = ledgers.reads().run(caller, move || rounds_of_series(&of, &player, &id)).await??;
    let state = match (rounds.is_empty(), is_open, &cancelled) {
        (false, ..) => State::Applied,
        (true, true, _) => State::Pending,
        (true, false, Some(_)) => State::Cancelled,
        (true, false, None) => State::Unseen,
    };
    let last = cancelled.as_ref().or_else(|| rounds.last().map(|(_, logged)| logged));
    Ok(wire::RequestOutcome {
        state: state.into(),
        position: last.map_or(durable, |logged| logged.commit.position),
        time: last.map(|logged| timestamp(logged.commit.time_ms)),
        stopped: cancelled.is_some() && !rounds.is_empty(),
        round_ids: rounds.iter().map(|(round, _)| round_name(&stream, *round)).collect(),
        ..wire::RequestOutcome::default()
    })
}

async fn single(
    ledgers: &Ledgers,
    caller: &Caller,
    (ledger, stream, request_id): (Handle, StreamId, &str),
    logged: &Logged,
) -> Result<wire::RequestOutcome, Refusal> {
    let (state, reason) = match logged.commit.events.first() {
        Some(Event::DebitRefused { reason, .. }) => (State::Refused, reason.as_str()),
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
        position: logged.commit.position,
        time: Some(timestamp(logged.commit.time_ms)),
        round,
        step,
        transaction: transaction(logged),
        reason,
        ..wire::RequestOutcome::default()
    })
}

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
