//! An operator's requests that do not concern a single player (PL-42). The commits of these requests are on shared
//! streams of partition 0, and their cancellations are on the system stream. A bulk campaign's grants and their
//! cancellations are on the streams of its players.

use crate::{
    cancellation::{append_cancellation, cancel_on},
    fields::timestamp,
    ledgers::Ledgers,
    remote::reservation_ids,
};
use futures_util::future::try_join_all;
use motherlode_proto::{
    convert::record::Logged,
    ledger::v1::{self as wire, request_outcome::State},
};
use motherlode_runtime::{Caller, Refusal, config::PLATFORM};
use motherlode_state::{Event, InternalRequest, StreamId};
use std::sync::Arc;

const AT_ONCE: usize = 64;

pub(crate) struct OperatorRequest<'a> {
    pub(crate) operator: &'a str,
    pub(crate) request_id: &'a str,
}

#[must_use]
pub fn shared_request_id(operator: Option<&str>, request_id: &str) -> String {
    match operator.filter(|operator| *operator != PLATFORM) {
        Some(operator) => InternalRequest::OfOperator { operator, request_id }.to_string(),
        None => request_id.to_owned(),
    }
}

pub(crate) fn of_platform(request_id: &str) -> String {
    InternalRequest::OfOperator { operator: PLATFORM, request_id }.to_string()
}

impl OperatorRequest<'_> {
    fn name(&self) -> String {
        shared_request_id(Some(self.operator), self.request_id)
    }

    fn made(&self, ledgers: &Ledgers) -> Result<Option<Arc<Logged>>, Refusal> {
        let (home, name) = (ledgers.home(), self.name());
        let on_system = home.committed(&StreamId::System, &name)?;
        if on_system.as_ref().is_some_and(|logged| !logged.commit.is_cancelled()) {
            return Ok(on_system);
        }
        let pools: Vec<_> = home.books(|books| books.pools().map(|pool| StreamId::pool(&*pool.name)).collect());
        for stream in pools.into_iter().chain([StreamId::Rates]) {
            if let Some(logged) = home.committed(&stream, &name)? {
                return Ok(Some(logged));
            }
        }
        Ok(on_system)
    }

    fn reservation(&self, ledgers: &Ledgers) -> Result<Option<Arc<Logged>>, Refusal> {
        let [many, _] = reservation_ids(self.operator, "", self.request_id);
        Ok(ledgers.home().committed(&StreamId::System, &many)?)
    }

    fn players(&self, reserved: &Logged) -> Vec<(String, StreamId)> {
        let players = reserved.commit.events.iter().find_map(|event| match event {
            Event::LiabilityReserved(reserved) => Some(&reserved.player_ids),
            _ => None,
        });
        let players = players.into_iter().flatten();
        players.map(|player| (player.to_string(), StreamId::player(self.operator, player.as_str()))).collect()
    }
}

pub(crate) async fn get(ledgers: &Ledgers, request: &OperatorRequest<'_>) -> Result<wire::RequestOutcome, Refusal> {
    ledgers.home().settled(&StreamId::System, &request.name()).await?;
    outcome(ledgers, request)
}

pub(crate) async fn cancel(
    ledgers: &Ledgers,
    caller: &Caller,
    request: &OperatorRequest<'_>,
    fingerprint: [u8; 16],
) -> Result<wire::RequestOutcome, Refusal> {
    if request.made(ledgers)?.is_none() && request.reservation(ledgers)?.is_none() {
        append_cancellation(ledgers, caller, (&StreamId::System, &request.name()), fingerprint).await?;
    }
    if let Some(reserved) = request.reservation(ledgers)? {
        for players in request.players(&reserved).chunks(AT_ONCE) {
            let cancelled =
                players.iter().map(|(_, stream)| cancel_on(ledgers, caller, stream, request.request_id, fingerprint));
            try_join_all(cancelled).await?;
        }
    }
    outcome(ledgers, request)
}

fn outcome(ledgers: &Ledgers, request: &OperatorRequest<'_>) -> Result<wire::RequestOutcome, Refusal> {
    let durable = ledgers.home().durable();
    if let Some(reserved) = request.reservation(ledgers)? {
        return granted(ledgers, request, &reserved);
    }
    let made = request.made(ledgers)?;
    let state = match &made {
        None => State::Unseen,
        Some(logged) if logged.commit.is_cancelled() => State::Cancelled,
        Some(_) => State::Applied,
    };
    Ok(wire::RequestOutcome {
        state: state.into(),
        position: made.as_ref().map_or(durable, |logged| logged.commit.position),
        time: made.map(|logged| timestamp(logged.commit.time_ms)),
        ..wire::RequestOutcome::default()
    })
}

fn granted(
    ledgers: &Ledgers,
    request: &OperatorRequest<'_>,
    reserved: &Logged,
) -> Result<wire::RequestOutcome, Refusal> {
    let players = request.players(reserved);
    let (mut granted, mut cancelled) = (vec![], 0);
    for (player, stream) in &players {
        match ledgers.for_stream(stream)?.committed(stream, request.request_id)? {
            Some(logged) if logged.commit.is_cancelled() => cancelled += 1,
            Some(logged) if matches!(logged.commit.events.first(), Some(Event::CampaignGranted(_))) => {
                granted.push(player.clone());
            }
            _ => {}
        }
    }
    let none_ever = cancelled > 0 && cancelled == players.len();
    let state = if none_ever { State::Cancelled } else { State::Applied };
    Ok(wire::RequestOutcome {
        state: state.into(),
        position: reserved.commit.position,
        time: Some(timestamp(reserved.commit.time_ms)),
        player_ids: granted,
        stopped: cancelled > 0 && !none_ever,
        ..wire::RequestOutcome::default()
    })
}
