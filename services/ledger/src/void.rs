//! Voids (PL-04): a round that was played on a malfunction counts as not played.
//!
//! The bet is refunded, a free round given back to its campaign (PL-18); of a settled round the win, of an open one what was credited of
//! it (ME-16), is taken back as far as the balance goes, the rest is the house's loss (PL-09: a balance is never negative). The contribution is taken back by the pool in its turn (BW-19), a jackpot
//! stands. What the round changed in a collection is changed back in the same commit.

use crate::{
    append::{AppendError, Proposal, fingerprint},
    fields::{self, RoundId, round_name, unknown_round},
    handle::Handle,
    ledgers::Ledgers,
    rounds,
};
use motherlode_books::{Event, Minor, PlayerState, SettledRound};
use motherlode_proto::ledger::v1::{VoidRoundRequest, VoidRoundResponse};
use motherlode_rounds::{Unresolvable, collection};
use motherlode_runtime::{Caller, Refusal};
use tonic::Code;

/// Voids a round, open or settled.
///
/// # Errors
/// [`Refusal`] says why; nothing was changed then.
pub(crate) async fn void_round(
    ledgers: &Ledgers,
    caller: &Caller,
    request: &VoidRoundRequest,
) -> Result<VoidRoundResponse, Refusal> {
    let request_id = fields::id("request_id", &request.request_id)?;
    let id = fields::round_id(caller, &request.round_id)?;
    let reason = fields::text("reason", &request.reason, 256)?;
    let by = By { actor: &caller.signature(), reference: fields::reference("actor", &request.actor)? };
    let fingerprint = fingerprint("void_round", request);
    let ledger = ledgers.of(&id.stream)?;
    loop {
        let player = ledger.player(&id.stream)?.filter(|player| id.number <= player.rounds_started);
        let decided = match player {
            Some(player) => decide(ledger, &player, &id, reason, &by).map(|decided| (player.head.version, decided)),
            None => Err(unknown_round(&request.round_id)),
        };
        let (version, Decided { recalled, events }) = match decided {
            Ok(decided) => decided,
            // What was done once is refused now: a repetition gets its answer all the same.
            Err(refusal) => match ledger.find(&id.stream, request_id, fingerprint)? {
                Some(_) => return answer(ledger, &id),
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
            Ok(_) => return answer(ledger, &id),
        }
    }
}

/// A void, decided on a player's state.
struct Decided {
    recalled: Option<Box<SettledRound>>,
    events: Vec<Event>,
}

/// Who voids.
struct By<'a> {
    actor: &'a str,
    reference: &'a str,
}

fn decide(ledger: &Handle, player: &PlayerState, id: &RoundId, reason: &str, by: &By<'_>) -> Result<Decided, Refusal> {
    let name = || round_name(&id.stream, id.number);
    if player.voided_at(id.number).is_some() {
        return Err(Refusal::precondition("ALREADY_VOIDED", "the round is void").with("round_id", name()));
    }
    let open = player.open_round(id.number);
    let recalled = match open {
        Some(_) => None,
        None => Some(rounds::recall(ledger, &id.stream, id.number)?.ok_or_else(|| unknown_round(&name()))?),
    };
    let (started, win, collected) = match (open, &recalled) {
        (_, Some(SettledRound { started, win, collected, .. })) => (started, *win, Some(collected.as_slice())),
        (Some(open), None) => (&open.started, open.credited, None),
        (None, None) => return Err(unknown_round(&name())),
    };
    let undone = collection::undo(player, started, collected).map_err(unresolvable)?;
    let other = player.open_round_of(&started.game, started.currency).filter(|other| other.started.round != id.number);
    if let (Some(_), Some(other)) = (&undone, other) {
        let message = "an open round plays with the collection that the void would change";
        let other = round_name(&id.stream, other.started.round);
        return Err(Refusal::precondition("ROUND_IN_PROGRESS", message).with("round_id", other));
    }
    let balance = player.balance(started.currency).unwrap_or_default();
    let held = Minor(balance.0.saturating_add(started.charged().0));
    let voided = Event::RoundVoided {
        round: id.number,
        reason: reason.to_owned(),
        actor: by.actor.to_owned(),
        refund: started.charged(),
        win_taken_back: win.min(held),
    };
    let revealed = match open.filter(|open| open.draws().next().is_some()) {
        None => None,
        Some(_) if ledger.draws().is_none() => {
            let message = "this process has no draw keys to reveal the round's draws with: see draws.key_file";
            return Err(Refusal::precondition("NO_DRAW_KEYS", message).with("round_id", name()));
        }
        Some(open) => Some(match ledger.draws().revealed(&id.stream, open) {
            Some(dealt) => Event::DrawsRevealed { round: id.number, dealt },
            None => Event::DrawsLost { round: id.number },
        }),
    };
    let acted = Event::ActedBy { actor: by.actor.to_owned(), reference: by.reference.to_owned() };
    let events = [voided].into_iter().chain(revealed).chain(undone).chain([acted]).collect();
    Ok(Decided { recalled: recalled.map(Box::new), events })
}

/// The void's effect. It stays the same for ever, since a round is voided once.
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
    })
}

/// PL-01: a version that was played must stay known; this binary does not have it.
fn unresolvable(error: Unresolvable) -> Refusal {
    Refusal::new(Code::Unimplemented, "MODEL_UNKNOWN", error.to_string())
}
