//! Switches over gRPC (PL-25): new rounds of a part of the service, off and on. An operator's admin has those of its own
//! players, the platform's all.

use crate::{
    append::fingerprint,
    changes::{self, Ask, Asked},
    fields::{self, timestamp},
    handle::Handle,
    ledgers::Ledgers,
};
use motherlode_books::{Event, StreamId, Switch, SwitchedOff};
use motherlode_proto::ledger::v1::{self as wire, set_switch_request::State};
use motherlode_runtime::{Caller, Reason, Refusal, config::PLATFORM};

pub(crate) async fn set(
    ledgers: &Ledgers,
    caller: &Caller,
    request: &wire::SetSwitchRequest,
) -> Result<wire::SetSwitchResponse, Refusal> {
    let request_id = fields::id("request_id", &request.request_id)?;
    let switch = parse(request.switch.as_ref())?;
    if caller.own().is_some_and(|own| own != switch.operator) {
        let message = "an operator switches the games of its own players";
        return Err(Refusal::new(Reason::RoleMissing, message).with("operator", PLATFORM));
    }
    let on = match request.state() {
        State::Unspecified => return Err(Refusal::field("state", "must be on or off")),
        State::Off => false,
        State::On => true,
    };
    // A misspelt game would leave the right one on.
    if !on && !is_known(&switch) {
        return Err(Refusal::new(Reason::GameUnknown, "no such game or version of its rules")
            .with("game", &switch.game)
            .with("rules_version", &switch.rules_version));
    }
    let reason = fields::text("reason", &request.reason, 256)?.to_owned();
    let reference = fields::reference("actor", &request.actor)?;
    let fingerprint = fingerprint("set_switch", request);
    let change = Event::SwitchSet { switch, on, reason, actor: caller.signature() };
    let ask = Ask { stream: StreamId::System, request_id, fingerprint, change, reference };
    Ok(match changes::ask(ledgers.home(), caller, ask).await? {
        Asked::Made(position) => {
            let pending_partitions = ledgers.spread(&StreamId::System, position).await?;
            wire::SetSwitchResponse { position, change_id: 0, pending_partitions }
        }
        Asked::Waits(change_id) => wire::SetSwitchResponse { position: 0, change_id, pending_partitions: vec![] },
    })
}

/// The switches that concern the caller's players; all of them for the platform (PL-27).
pub(crate) fn list(ledger: &Handle, caller: &Caller) -> wire::ListSwitchesResponse {
    let concerns = |switch: &Switch| switch.operator.is_empty() || caller.sees(&switch.operator);
    let switched_off =
        ledger.books(|books| books.switched_off().filter(|(switch, _)| concerns(switch)).map(switched_off).collect());
    wire::ListSwitchesResponse { switched_off }
}

/// Whether this binary has the game, where one is named.
fn is_known(switch: &Switch) -> bool {
    match (switch.game.as_str(), switch.rules_version.as_str()) {
        ("", _) => true,
        (game, "") => motherlode_slots::latest(game).is_some(),
        (game, version) => motherlode_slots::game(game, version).is_some(),
    }
}

fn parse(switch: Option<&wire::Switch>) -> Result<Switch, Refusal> {
    let switch = switch.ok_or_else(|| Refusal::field("switch", "is required; empty, it is the whole service"))?;
    let name = |field: &str, value: &str| fields::optional_id(field, value).map(str::to_owned);
    if switch.game.is_empty() && !switch.rules_version.is_empty() {
        return Err(Refusal::field("switch.rules_version", "needs the game whose version it is"));
    }
    Ok(Switch {
        operator: name("switch.operator_id", &switch.operator_id)?.into(),
        game: name("switch.game", &switch.game)?.into(),
        rules_version: name("switch.rules_version", &switch.rules_version)?.into(),
    })
}

fn switched_off((switch, off): (&Switch, &SwitchedOff)) -> wire::SwitchedOff {
    let Switch { operator, game, rules_version } = switch.clone();
    wire::SwitchedOff {
        switch: Some(wire::Switch {
            operator_id: operator.into(),
            game: game.into(),
            rules_version: rules_version.into(),
        }),
        reason: off.reason.clone(),
        actor: off.actor.clone(),
        position: off.position,
        time: Some(timestamp(off.time_ms)),
    }
}
