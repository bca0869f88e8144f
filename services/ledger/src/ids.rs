//! Finds an operator's players, requests, sessions and campaigns by id, without the player's id (PL-20).

use crate::{
    append::fingerprint,
    error::FetchError,
    fields::{self, timestamp},
    handle::Handle,
    index::names_of,
    known::all_operators,
    ledgers::Ledgers,
};
use motherlode_proto::{
    convert::{play::hex, record::Logged},
    ledger::v1::{self as wire, found_id::Kind},
    spin::v1::CloseSessionRequest,
};
use motherlode_runtime::{Caller, Refusal};
use motherlode_state::{Event, PlayerState, StreamId};
use std::cmp::Reverse;

const FOUND_MAX: usize = 20;

pub(crate) async fn find(
    ledgers: &Ledgers,
    caller: &Caller,
    request: &wire::FindIdRequest,
) -> Result<wire::FindIdResponse, Refusal> {
    let operator = fields::optional_id("operator_id", &request.operator_id)?;
    let id = fields::id("id", &request.id)?.to_owned();
    let operators = match operator {
        "" if caller.credential().is_none() => all_operators(ledgers).into_iter().collect(),
        "" => vec![caller.operator().to_string()],
        operator if caller.owns(operator) => vec![operator.to_owned()],
        _ => return Ok(wire::FindIdResponse::default()),
    };
    ledgers.whole()?;
    let (all, session) = (ledgers.clone(), session_name(&id));
    let read = move || {
        let mut found = vec![];
        for operator in &operators {
            let stream = StreamId::player(operator, &id);
            found.extend(player(all.for_stream(&stream)?, operator, &stream)?);
            for ledger in all.all() {
                for name in [&id, &session] {
                    found.extend(commits(ledger, operator, name)?);
                }
            }
        }
        found.sort_by_key(|of: &wire::FoundId| {
            (of.kind() != Kind::Player, Reverse(of.time.map(|time| (time.seconds, time.nanos))))
        });
        found.truncate(FOUND_MAX);
        Ok::<_, Refusal>(found)
    };
    Ok(wire::FindIdResponse { found: ledgers.reads().run(caller, read).await?? })
}

fn session_name(id: &str) -> String {
    hex(&fingerprint("session", &CloseSessionRequest { session_id: id.to_owned() }))
}

fn player(ledger: &Handle, operator: &str, stream: &StreamId) -> Result<Option<wire::FoundId>, Refusal> {
    let of = ledger.player(stream)?.filter(|player| player.balances().next().is_some());
    Ok(of.map(|player| wire::FoundId {
        position: player.head.position,
        ..found(Kind::Player, ledger, stream, operator, Some(&player))
    }))
}

fn commits(ledger: &Handle, operator: &str, name: &str) -> Result<Vec<wire::FoundId>, Refusal> {
    let mut all = vec![];
    for position in ledger.with_name(operator, name, FOUND_MAX)?.into_iter().take(FOUND_MAX) {
        let logged = match ledger.fetch(position) {
            Err(FetchError::Missing(_)) => continue,
            logged => logged?,
        };
        let stream = &logged.commit.stream;
        let player = ledger.player(stream)?;
        all.extend(kinds(&logged, operator, name).into_iter().map(|kind| wire::FoundId {
            position,
            time: Some(timestamp(logged.commit.time_ms)),
            ..found(kind, ledger, stream, operator, player.as_ref())
        }));
    }
    // A bet with a pending debit has two commits; only the later one is listed.
    all.dedup_by(|one, other| (one.kind, &one.player_id) == (other.kind, &other.player_id));
    Ok(all)
}

fn kinds(logged: &Logged, operator: &str, name: &str) -> Vec<Kind> {
    let mut is_named = false;
    names_of(&logged.commit, |of, other| is_named |= (of, other) == (operator, name));
    if !is_named {
        return vec![];
    }
    let kind = |event: &Event| match event {
        Event::SessionOpened(opened) => (hex(&opened.session) == name).then_some(Kind::Session),
        Event::OperatorSession { session } => (session == name).then_some(Kind::Session),
        Event::CampaignGranted(campaign) => (campaign.id == name).then_some(Kind::Campaign),
        _ => None,
    };
    let kinds: Vec<_> = logged.commit.events.iter().filter_map(kind).collect();
    if kinds.is_empty() { vec![Kind::Request] } else { kinds }
}

fn found(
    kind: Kind,
    ledger: &Handle,
    stream: &StreamId,
    operator: &str,
    player: Option<&PlayerState>,
) -> wire::FoundId {
    let player_id = match stream {
        StreamId::Player { player, .. } => player.to_string(),
        _ => String::new(),
    };
    let currency = player.and_then(|player| player.balances().next()).map(|(currency, _)| currency);
    wire::FoundId {
        kind: kind.into(),
        operator_id: operator.to_owned(),
        player_id,
        currency_code: currency.map_or_else(String::new, |currency| currency.code().to_owned()),
        partition: ledger.partition(),
        ..wire::FoundId::default()
    }
}
