//! Changes of pools and switches, which one actor proposes and another actor approves (PL-27). A change that only stops
//! something needs one actor; any other change needs two actors of the same operator (PL-25).

use crate::{
    append::{AppendError, Proposal, fingerprint},
    fields::{self, timestamp},
    handle::Handle,
    ledgers::Ledgers,
    operator_requests::{of_platform, shared_request_id},
    void,
};
use motherlode_proto::{
    convert::{event::to_log, record::Logged},
    ledger::v1 as wire,
};
use motherlode_runtime::{Caller, Reason, Refusal};
use motherlode_state::{Books, ChangeProposed, Commit, Event, PendingChange, Refused, SmolStr, StreamId, VoidProposal};
use std::{sync::Arc, time::Duration};

const COLLECTING_WAIT: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeOutcome {
    Made(u64),
    Waits(u64),
}

impl ChangeOutcome {
    #[must_use]
    pub fn change_id(self) -> u64 {
        match self {
            Self::Made(_) => 0,
            Self::Waits(change_id) => change_id,
        }
    }
}

pub struct Ask<'a> {
    pub stream: StreamId,
    pub request_id: &'a str,
    pub fingerprint: [u8; 16],
    pub change: Event,
    pub reference: &'a str,
}

pub async fn ask(ledger: &Handle, caller: &Caller, ask: Ask<'_>) -> Result<ChangeOutcome, Refusal> {
    let Ask { stream, request_id, fingerprint, change, reference } = ask;
    let request_id = &scoped(caller, fields::id("request_id", request_id)?);
    let change = change.as_proposed();
    for of in [&StreamId::System, &stream] {
        if let Some(logged) = ledger.find(of, request_id, fingerprint)? {
            let position = logged.commit.position;
            let proposed = matches!(logged.commit.events.first(), Some(Event::ChangeProposed(_)));
            return Ok(if proposed { ChangeOutcome::Waits(position) } else { ChangeOutcome::Made(position) });
        }
    }
    let acted = fields::acted_by(caller, reference);
    let Some(actor) = caller.actor().filter(|_| !change.is_stop()) else {
        let signed = Signed { approval: None, acted: Some(acted) };
        return Ok(ChangeOutcome::Made(make(ledger, &stream, request_id, fingerprint, &signed, &change).await?));
    };
    collected(ledger, &stream, &change).await;
    ledger.books(|books| would_be_taken(books, ledger.partition(), &stream, &change))?;
    let lapses_ms = ledger.now_ms().saturating_add(ledger.change_lapse_ms());
    let proposed = ChangeProposed { stream, change: Box::new(change), actor, lapses_ms };
    let events = vec![Event::ChangeProposed(proposed), acted];
    Ok(ChangeOutcome::Waits(append(ledger, &StreamId::System, request_id, fingerprint, events).await?))
}

fn scoped(caller: &Caller, request_id: &str) -> String {
    shared_request_id(caller.own(), request_id)
}

struct Signed {
    approval: Option<Event>,
    acted: Option<Event>,
}

async fn make(
    ledger: &Handle,
    stream: &StreamId,
    request_id: &str,
    fingerprint: [u8; 16],
    signed: &Signed,
    change: &Event,
) -> Result<u64, AppendError> {
    collected(ledger, stream, change).await;
    loop {
        let due = ledger.books(|books| change.as_due(stream, books))?;
        let events = signed.approval.iter().cloned().chain([due]).chain(signed.acted.clone()).collect();
        match append(ledger, stream, request_id, fingerprint, events).await {
            Err(AppendError::Refused(Refused::WrongFigure { .. } | Refused::WrongTerms { .. })) => {}
            decided => return decided,
        }
    }
}

/// Waits until no partition owes contributions to the pool, because a pool with unpaid contributions cannot be retired
/// (BW-20).
async fn collected(ledger: &Handle, stream: &StreamId, change: &Event) {
    let outstanding = || {
        let taken = ledger.books(|books| would_be_taken(books, ledger.partition(), stream, change));
        matches!(taken, Err(AppendError::Refused(Refused::PoolOutstanding)))
    };
    let mut head = ledger.head();
    let collecting = async { while outstanding() && head.changed().await.is_ok() {} };
    let _ = tokio::time::timeout(COLLECTING_WAIT, collecting).await;
}

async fn append(
    ledger: &Handle,
    stream: &StreamId,
    request_id: &str,
    fingerprint: [u8; 16],
    events: Vec<Event>,
) -> Result<u64, AppendError> {
    let (stream, request_id) = (stream.clone(), request_id.to_owned());
    let proposal = Proposal { stream, expected_version: None, request_id: request_id.into(), fingerprint, events };
    Ok(ledger.append(proposal).await?.commit.position)
}

fn would_be_taken(books: &Books, partition: u32, stream: &StreamId, change: &Event) -> Result<(), AppendError> {
    let (head, end) = (books.head(stream), books.end(partition));
    let commit = Commit {
        partition,
        position: end.position + 1,
        stream: stream.clone(),
        version: head.version + 1,
        previous: head.position,
        request_id: SmolStr::default(),
        fingerprint: [0; 16],
        time_ms: end.time_ms,
        events: vec![change.as_due(stream, books)?],
    };
    books.admit(&commit)?;
    books.postings(&commit, None)?;
    Ok(())
}

const VOIDS_MAX: usize = 256;

pub(crate) fn list(ledgers: &Ledgers, caller: &Caller) -> Result<wire::ListChangesResponse, Refusal> {
    let ledger = ledgers.home();
    let now_ms = ledger.now_ms();
    let mut changes: Vec<_> = ledger.books(|books| {
        let waiting = books.pending_changes().filter(|(_, change)| now_ms < change.proposed.lapses_ms);
        let waiting = waiting.filter(|(_, change)| concerns(caller, &change.proposed));
        waiting.map(to_wire).collect()
    });
    for ledger in ledgers.all() {
        let now_ms = ledger.now_ms();
        let proposed: Vec<_> = ledger.books(|books| {
            let operators = books.operators().filter(|operator| caller.sees(operator));
            let all = operators.flat_map(|operator| {
                let voids = books.proposed_voids(operator, now_ms);
                voids.map(move |(player, round)| (StreamId::player(operator, player), round))
            });
            all.take(VOIDS_MAX).collect()
        });
        for (stream, round) in proposed {
            let player = ledger.player(&stream)?;
            let proposal = player.as_ref().and_then(|player| player.waiting_void(round, now_ms));
            changes.extend(proposal.map(|proposal| void_to_wire(ledger.partition(), &stream, proposal)));
        }
    }
    Ok(wire::ListChangesResponse { changes })
}

fn void_to_wire(partition: u32, stream: &StreamId, proposal: &VoidProposal) -> wire::Change {
    let VoidProposal { round, position, time_ms, actor, reason, .. } = proposal.clone();
    wire::Change {
        change_id: void::change_id(partition, position),
        stream: stream.to_string(),
        event: Some(to_log(&Event::VoidProposed { round, reason, actor: actor.clone() })),
        actor,
        propose_time: Some(timestamp(time_ms)),
        lapse_time: Some(timestamp(proposal.lapses_ms())),
    }
}

fn to_wire((change_id, pending): (u64, &PendingChange)) -> wire::Change {
    let ChangeProposed { stream, change, actor, lapses_ms } = &pending.proposed;
    wire::Change {
        change_id,
        stream: stream.to_string(),
        event: Some(to_log(change)),
        actor: actor.clone(),
        propose_time: Some(timestamp(pending.time_ms)),
        lapse_time: Some(timestamp(*lapses_ms)),
    }
}

pub(crate) async fn approve(
    ledgers: &Ledgers,
    caller: &Caller,
    request: &wire::ApproveChangeRequest,
) -> Result<wire::ApproveChangeResponse, Refusal> {
    let ledger = ledgers.home();
    if let Some(proposed) = proposed_void(ledgers, caller, request.change_id)? {
        return approve_void(ledgers, caller, request, &proposed).await;
    }
    let request_id = &scoped(caller, fields::id("request_id", &request.request_id)?);
    let ChangeProposed { stream, change, actor: proposed_by, .. } = proposal(ledger, caller, request.change_id)?;
    let reference = fields::reference("actor", &request.actor)?;
    let fingerprint = fingerprint("approve_change", request);
    let position = match ledger.find(&stream, request_id, fingerprint)? {
        Some(made) => made.commit.position,
        None => {
            let (change_id, actor) = (request.change_id, actor(caller)?);
            let approval = Event::ChangeApproved { change: change_id, proposed_by, actor };
            let signed = Signed { approval: Some(approval), acted: referred(caller, reference) };
            make(ledger, &stream, request_id, fingerprint, &signed, &change).await?
        }
    };
    let pending_partitions = ledgers.spread(&stream, position).await?;
    Ok(wire::ApproveChangeResponse { position, pending_partitions })
}

fn proposed_void(ledgers: &Ledgers, caller: &Caller, change_id: u64) -> Result<Option<Arc<Logged>>, Refusal> {
    let (partition, position) = void::place(change_id);
    let Some(ledger) = ledgers.all().find(|ledger| ledger.partition() == partition) else { return Ok(None) };
    if !(1..=ledger.durable()).contains(&position) {
        return Ok(None);
    }
    let logged = ledger.fetch(position)?;
    let is_seen = matches!(&logged.commit.stream, StreamId::Player { operator, .. } if caller.sees(operator));
    let is_void = matches!(logged.commit.events.first(), Some(Event::VoidProposed { .. }));
    Ok(Some(logged).filter(|_| is_seen && is_void))
}

async fn approve_void(
    ledgers: &Ledgers,
    caller: &Caller,
    request: &wire::ApproveChangeRequest,
    proposed: &Logged,
) -> Result<wire::ApproveChangeResponse, Refusal> {
    let request_id = of_platform(fields::id("request_id", &request.request_id)?);
    let reference = fields::reference("actor", &request.actor)?;
    let Some(Event::VoidProposed { round, reason, actor: proposed_by }) = proposed.commit.events.first() else {
        return Err(unknown_change(request.change_id));
    };
    let stream = &proposed.commit.stream;
    if caller.own().is_some() {
        return Err(AppendError::from(Refused::OtherActors { change: request.change_id }).into());
    }
    let cost = wire::AwardCost::try_from(request.award_cost);
    let cost = cost.map_err(|_| Refusal::field("award_cost", "must be a value of AwardCost"))?;
    let change = proposed.commit.position;
    let event = Event::ChangeApproved { change, proposed_by: proposed_by.clone(), actor: actor(caller)? };
    let asked = (request_id.as_str(), fingerprint("approve_change", request));
    let approval = void::Approval { event, cost, acted: fields::acted_by(caller, reference) };
    let position = void::approve(ledgers, caller, asked, (stream, *round, reason, proposed_by), approval).await?;
    Ok(wire::ApproveChangeResponse { position, pending_partitions: vec![] })
}

pub(crate) async fn reject(
    ledgers: &Ledgers,
    caller: &Caller,
    request: &wire::RejectChangeRequest,
) -> Result<wire::RejectChangeResponse, Refusal> {
    let ledger = ledgers.home();
    let reason = fields::reason("reason", &request.reason)?.to_owned();
    let acted = referred(caller, fields::reference("actor", &request.actor)?);
    let fingerprint = fingerprint("reject_change", request);
    if let Some(proposed) = proposed_void(ledgers, caller, request.change_id)? {
        let name = fields::id("request_id", &request.request_id)?;
        let request_id = if caller.own().is_some() { name.to_owned() } else { of_platform(name) };
        let (stream, change) = (&proposed.commit.stream, proposed.commit.position);
        let ledger = ledgers.for_stream(stream)?;
        let position = match ledger.find(stream, &request_id, fingerprint)? {
            Some(rejected) => rejected.commit.position,
            None => {
                let event = Event::ChangeRejected { change, actor: actor(caller)?, reason };
                let events = [event].into_iter().chain(acted).collect();
                append(ledger, stream, &request_id, fingerprint, events).await?
            }
        };
        return Ok(wire::RejectChangeResponse { position });
    }
    let request_id = &scoped(caller, fields::id("request_id", &request.request_id)?);
    proposal(ledger, caller, request.change_id)?;
    let position = match ledger.find(&StreamId::System, request_id, fingerprint)? {
        Some(rejected) => rejected.commit.position,
        None => {
            let event = Event::ChangeRejected { change: request.change_id, actor: actor(caller)?, reason };
            let events = [event].into_iter().chain(acted).collect();
            append(ledger, &StreamId::System, request_id, fingerprint, events).await?
        }
    };
    Ok(wire::RejectChangeResponse { position })
}

fn referred(caller: &Caller, reference: &str) -> Option<Event> {
    (!reference.is_empty()).then(|| fields::acted_by(caller, reference))
}

fn actor(caller: &Caller) -> Result<String, Refusal> {
    caller.actor().ok_or_else(|| {
        Refusal::new(Reason::NoActors, "no operators are configured, so there is no second actor to approve a change")
    })
}

fn concerns(caller: &Caller, proposed: &ChangeProposed) -> bool {
    match (caller.own(), proposed.operator()) {
        (None, _) => true,
        (Some(own), of) => of == Some(own),
    }
}

fn proposal(ledger: &Handle, caller: &Caller, change_id: u64) -> Result<ChangeProposed, Refusal> {
    let unknown = || unknown_change(change_id);
    if !(1..=ledger.durable()).contains(&change_id) {
        return Err(unknown());
    }
    match ledger.fetch(change_id)?.commit.events.first() {
        Some(Event::ChangeProposed(proposed)) if concerns(caller, proposed) => Ok(proposed.clone()),
        _ => Err(unknown()),
    }
}

fn unknown_change(change_id: u64) -> Refusal {
    Refusal::new(Reason::ChangeUnknown, "there is no pending change with this id").with("change_id", change_id)
}
