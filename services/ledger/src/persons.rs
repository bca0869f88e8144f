//! Player ids for persons, and the erasure of the link between a person and an id (PL-37).

mod store;

pub use store::Persons;

use crate::{
    error::FetchError,
    fields::{self, timestamp},
    ledgers::Ledgers,
};
use motherlode_log::ReadError;
use motherlode_proto::ledger::v1 as wire;
use motherlode_runtime::{Caller, Reason, Refusal, config::PLATFORM, field_bounds::REFERENCE_MAX};
use motherlode_state::{PlayerState, StreamId, date::DAY_MS};
use store::Person;

pub(crate) async fn issue(
    ledgers: &Ledgers,
    persons: Option<&Persons>,
    caller: &Caller,
    request: &wire::IssuePlayerIdRequest,
) -> Result<wire::IssuePlayerIdResponse, Refusal> {
    let operator = fields::id("operator_id", &request.operator_id)?.to_owned();
    let reference = fields::text("reference", &request.reference, REFERENCE_MAX)?.to_owned();
    let persons = supported(persons)?.clone();
    if !caller.owns(&operator) || operator == PLATFORM {
        return Err(Refusal::new(Reason::OperatorUnknown, "the operator is unknown, or is not the caller's operator"));
    }
    let issued = ledgers.reads().run(caller, move || persons.issue(&operator, &reference));
    Ok(wire::IssuePlayerIdResponse { player_id: issued.await?? })
}

pub(crate) async fn erase(
    ledgers: &Ledgers,
    persons: Option<&Persons>,
    caller: &Caller,
    request: &wire::ErasePersonRequest,
) -> Result<wire::ErasePersonResponse, Refusal> {
    let operator = fields::id("operator_id", &request.operator_id)?.to_owned();
    let person = match (request.reference.as_str(), request.player_id.as_str()) {
        ("", "") => return Err(Refusal::field("reference", "either reference or player_id is required")),
        (reference, "") => Person::Reference(fields::text("reference", reference, REFERENCE_MAX)?.to_owned()),
        ("", player) => Person::PlayerId(fields::id("player_id", player)?.to_owned()),
        _ => return Err(Refusal::field("player_id", "must be empty if reference is set")),
    };
    let (persons, ledgers) = (supported(persons)?.clone(), ledgers.clone());
    if !caller.owns(&operator) {
        return Ok(wire::ErasePersonResponse { erased: false });
    }
    let reads = ledgers.reads().clone();
    let erase = move || {
        persons.erase(&operator, &person, |player| may_erase(&ledgers, &operator, &StreamId::player(&operator, player)))
    };
    Ok(wire::ErasePersonResponse { erased: reads.run(caller, erase).await?? })
}

fn supported(persons: Option<&Persons>) -> Result<&Persons, Refusal> {
    let message = "persons are stored in files of one process, so the log must be local and have one writer";
    persons.ok_or_else(|| Refusal::new(Reason::PersonsUnsupported, message))
}

fn may_erase(ledgers: &Ledgers, operator: &str, stream: &StreamId) -> Result<(), Refusal> {
    let ledger = ledgers.for_stream(stream)?;
    let Some(player) = ledger.player(stream)? else { return Ok(()) };
    let has_award = ledgers.home().books(|books| {
        let mut hits = books.pools().flat_map(|pool| books.pending_hits(&pool.name));
        hits.any(|hit| hit.stream == *stream) || books.unpaid_awards().any(|(.., award)| award.stream == *stream)
    });
    if let Some(open) = open(&player, has_award, ledger.now_ms()) {
        let message = format!("the person cannot be erased yet, because the person's player account has {open}");
        return Err(Refusal::new(Reason::PersonInPlay, message).with("open", open));
    }
    let days = ledgers.operators().person_keep_days(operator);
    if days == 0 {
        return Ok(());
    }
    let last = match ledger.fetch(player.head.position) {
        // An archived record is older than the log's first remaining record, whose time is used instead.
        Err(FetchError::Read(ReadError::Archived { first, .. })) => ledger.fetch(first)?,
        last => last?,
    };
    let until_ms = last.commit.time_ms.saturating_add(i64::from(days) * DAY_MS);
    match ledger.now_ms() < until_ms {
        true => {
            let message = "the person cannot be erased yet, because person_keep_days have not passed since the player's \
                           last record";
            Err(Refusal::new(Reason::PersonKept, message).with("until", timestamp(until_ms)))
        }
        false => Ok(()),
    }
}

fn open(player: &PlayerState, has_award: bool, now_ms: i64) -> Option<&'static str> {
    let has_money = || player.balances().any(|(currency, balance)| currency.is_real() && balance.0 != 0);
    let found = [
        ("an open round", player.open_rounds().next().is_some()),
        ("a balance", has_money()),
        ("a pending wallet call", player.wallet().is_some_and(|wallet| wallet.is_busy())),
        ("a pending void", player.void_proposals().any(|proposal| proposal.waits(now_ms))),
        ("an unpaid award", has_award),
    ];
    found.into_iter().find(|(_, is_open)| *is_open).map(|(open, _)| open)
}
