//! Voids of rounds affected by a malfunction (PL-04).
//!
//! One commit refunds the bet or free round (PL-18), takes back the credited wins as far as the balance allows (ME-16,
//! PL-09), and removes the round's changes from the player's collection (progress kept between rounds).

use crate::{
    append::{AppendError, Proposal, fingerprint},
    fields::{self, RoundId, money, round_name, unknown_round},
    handle::Handle,
    ledgers::Ledgers,
    rounds,
};
use motherlode_proto::{
    convert::record::Logged,
    ledger::v1::{AwardCost, VoidRoundRequest, VoidRoundResponse},
};
use motherlode_rounds::{Unresolvable, balance_after, collection};
use motherlode_runtime::{Caller, Reason, Refusal};
use motherlode_state::{Event, Minor, PlayerState, RoundJackpot, SettledRound, StreamId, VoidedJackpot};
use std::sync::Arc;

pub(crate) async fn void_round(
    ledgers: &Ledgers,
    caller: &Caller,
    request: &VoidRoundRequest,
) -> Result<VoidRoundResponse, Refusal> {
    let request_id = fields::id("request_id", &request.request_id)?;
    let id = fields::round_id(caller, &request.round_id)?;
    let reason = fields::reason("reason", &request.reason)?;
    let by = By { actor: &caller.signature(), reference: fields::reference("actor", &request.actor)? };
    let ask = Ask { request_id, fingerprint: fingerprint("void_round", request), reason, by };
    let ledger = ledgers.for_stream(&id.stream)?;
    let way = if caller.actor().is_some() { Way::Proposed } else { Way::AtOnce };
    let voided = make(ledgers, caller, &id, &ask, &way).await?;
    match voided.commit.events.first() {
        Some(Event::VoidProposed { .. }) => {
            let change_id = change_id(voided.commit.partition, voided.commit.position);
            Ok(VoidRoundResponse { position: voided.commit.position, change_id, ..VoidRoundResponse::default() })
        }
        _ => match stated(&voided, id.number) {
            Some(answer) => Ok(answer),
            None => {
                let ledger = ledger.clone();
                ledgers.reads().run(caller, move || answer(&ledger, &id)).await?
            }
        },
    }
}

const PARTITION_STEP: u64 = 1 << 48;

pub(crate) fn change_id(partition: u32, position: u64) -> u64 {
    u64::from(partition) * PARTITION_STEP + position
}

pub(crate) fn place(change_id: u64) -> (u32, u64) {
    (u32::try_from(change_id / PARTITION_STEP).unwrap_or(u32::MAX), change_id % PARTITION_STEP)
}

pub(crate) struct Approval {
    pub(crate) event: Event,
    pub(crate) cost: AwardCost,
    pub(crate) acted: Event,
}

/// If the void is refused, the proposal stays pending.
pub(crate) async fn approve(
    ledgers: &Ledgers,
    caller: &Caller,
    (request_id, fingerprint): (&str, [u8; 16]),
    (stream, round, reason, proposed_by): (&StreamId, u64, &str, &str),
    approval: Approval,
) -> Result<u64, Refusal> {
    let id = RoundId { stream: stream.clone(), number: round };
    let by = By { actor: proposed_by, reference: "" };
    let ask = Ask { request_id, fingerprint, reason, by };
    let way = Way::Approved(approval.into());
    Ok(make(ledgers, caller, &id, &ask, &way).await?.commit.position)
}

struct Ask<'a> {
    request_id: &'a str,
    fingerprint: [u8; 16],
    reason: &'a str,
    by: By<'a>,
}

enum Way {
    Proposed,
    AtOnce,
    Approved(Box<Approval>),
}

async fn make(
    ledgers: &Ledgers,
    caller: &Caller,
    id: &RoundId,
    ask: &Ask<'_>,
    way: &Way,
) -> Result<Arc<Logged>, Refusal> {
    let Ask { request_id, fingerprint, .. } = *ask;
    let ledger = ledgers.for_stream(&id.stream)?;
    loop {
        let player = ledger.player(&id.stream)?.filter(|player| id.number <= player.rounds_started);
        let is_settled =
            |player: &PlayerState| player.open_round(id.number).is_none() && player.voided_at(id.number).is_none();
        let recalled = match &player {
            Some(player) if is_settled(player) => {
                let (ledger, stream, number) = (ledger.clone(), id.stream.clone(), id.number);
                ledgers.reads().run(caller, move || rounds::recall(&ledger, &stream, number)).await??
            }
            _ => None,
        };
        let decided = match player {
            Some(player) => {
                let version = player.head.version;
                decide(ledger, &player, recalled, id, ask, way).map(|decided| (version, decided))
            }
            None => Err(unknown_round(&round_name(&id.stream, id.number))),
        };
        let (version, VoidDecision { recalled, events }) = match decided {
            Ok(decided) => decided,
            Err(refusal) => match ledger.find(&id.stream, request_id, fingerprint)? {
                Some(made) => return Ok(made),
                None => return Err(refusal),
            },
        };
        let proposal = Proposal {
            stream: id.stream.clone(),
            expected_version: Some(version),
            request_id: request_id.into(),
            fingerprint,
            events,
        };
        match ledger.append_recalling(proposal, recalled).await {
            Err(AppendError::Conflict { .. }) => {}
            Err(error) => return Err(error.into()),
            Ok(made) => return Ok(made),
        }
    }
}

struct VoidDecision {
    recalled: Option<Box<SettledRound>>,
    events: Vec<Event>,
}

struct By<'a> {
    actor: &'a str,
    reference: &'a str,
}

fn decide(
    ledger: &Handle,
    player: &PlayerState,
    recalled: Option<SettledRound>,
    id: &RoundId,
    ask: &Ask<'_>,
    way: &Way,
) -> Result<VoidDecision, Refusal> {
    let Ask { reason, ref by, .. } = *ask;
    let name = || round_name(&id.stream, id.number);
    if player.voided_at(id.number).is_some() {
        return Err(Refusal::new(Reason::AlreadyVoided, "the round is already void").with("round_id", name()));
    }
    let open = player.open_round(id.number);
    let (started, win, collected, jackpots) = match (open, &recalled) {
        (_, Some(settled)) => {
            let SettledRound { started, win, collected, jackpots, .. } = settled;
            (started, *win, Some(collected.as_slice()), jackpots)
        }
        (Some(open), None) => (&open.started, open.credited, None, &open.jackpots),
        (None, None) => return Err(unknown_round(&name())),
    };
    if !jackpots.is_empty() && matches!(way, Way::Proposed) {
        let proposed = Event::VoidProposed { round: id.number, reason: reason.to_owned(), actor: by.actor.to_owned() };
        return Ok(VoidDecision { recalled: None, events: vec![proposed, acted(by)] });
    }
    let undone = collection::undo(player, started, collected).map_err(unresolvable)?;
    let other = player.open_round_of(&started.game, started.currency).filter(|other| other.started.round != id.number);
    if let (Some(_), Some(other)) = (&undone, other) {
        let message =
            "the void changes the player's collection, which another, open round uses: finish that round first";
        let other = round_name(&id.stream, other.started.round);
        return Err(Refusal::new(Reason::RoundInProgress, message).with("round_id", other));
    }
    let balance = player.balance(started.currency).unwrap_or_default();
    let held = Minor(balance.0.saturating_add(started.charged().0));
    let win_taken_back = win.min(held);
    let left = Minor(win.0.saturating_sub(win_taken_back.0));
    let is_reversed = player.wallet().is_some() && started.currency.is_real() && left > Minor::ZERO;
    let reversal = is_reversed.then_some(Event::ReversalDue { round: id.number, amount: left });
    let voided = Event::RoundVoided {
        round: id.number,
        reason: reason.to_owned(),
        actor: by.actor.to_owned(),
        refund: started.charged(),
        win_taken_back,
        jackpot: effect(jackpots, way)?,
        settled: recalled.clone().map(Box::new),
    };
    let revealed = match open.filter(|open| open.draws().next().is_some()) {
        None => None,
        Some(_) if ledger.draws().is_none() => {
            let message = "this process has no draw keys to reveal the round's draws: set draws.key_file";
            return Err(Refusal::new(Reason::NoDrawKeys, message).with("round_id", name()));
        }
        Some(open) => Some(match ledger.draws().revealed(&id.stream, open, &ledger.generations()) {
            Some(dealt) => Event::DrawsRevealed { round: id.number, dealt },
            None => Event::DrawsLost { round: id.number },
        }),
    };
    let (approval, acted) = match way {
        Way::Approved(approval) => (Some(approval.event.clone()), approval.acted.clone()),
        _ => (None, acted(by)),
    };
    let events =
        approval.into_iter().chain([voided]).chain(revealed).chain(undone).chain(reversal).chain([acted]).collect();
    Ok(VoidDecision { recalled: recalled.map(Box::new), events })
}

fn acted(by: &By<'_>) -> Event {
    Event::ActedBy { actor: by.actor.to_owned(), reference: by.reference.to_owned() }
}

fn effect(jackpots: &[RoundJackpot], way: &Way) -> Result<VoidedJackpot, Refusal> {
    if jackpots.iter().all(|jackpot| jackpot.paid.is_none()) {
        return Ok(VoidedJackpot::Kept);
    }
    match way {
        Way::Approved(approval) if approval.cost == AwardCost::Operator => Ok(VoidedJackpot::Charged),
        Way::Approved(approval) if approval.cost == AwardCost::Unspecified => {
            let message = "must name who bears the cost of the award, which was already paid and stays with the player";
            Err(Refusal::field("award_cost", message))
        }
        _ => Ok(VoidedJackpot::Lost),
    }
}

fn stated(voided: &Logged, number: u64) -> Option<VoidRoundResponse> {
    voided.commit.events.iter().find_map(|event| match event {
        Event::RoundVoided { round, refund, win_taken_back, settled: Some(settled), .. } if *round == number => {
            let currency = settled.started.currency;
            let money = |amount| Some(money(amount, currency));
            Some(VoidRoundResponse {
                refund: money(*refund),
                balance: money(balance_after(voided, currency)),
                position: voided.commit.position,
                win_taken_back: money(*win_taken_back),
                win_left: money(Minor(settled.win.0.saturating_sub(win_taken_back.0))),
                change_id: 0,
            })
        }
        _ => None,
    })
}

fn answer(ledger: &Handle, id: &RoundId) -> Result<VoidRoundResponse, Refusal> {
    let round = rounds::read(ledger, &id.stream, id.number)?;
    let voided = round.and_then(|round| Some((round.void?, round.balance_after)));
    let (void, balance) = voided.ok_or_else(|| unknown_round(&round_name(&id.stream, id.number)))?;
    Ok(VoidRoundResponse {
        refund: void.refund,
        balance,
        position: void.position,
        win_taken_back: void.win_taken_back,
        win_left: void.win_left,
        change_id: 0,
    })
}

fn unresolvable(error: Unresolvable) -> Refusal {
    Refusal::new(Reason::ModelUnknown, error.to_string())
}
