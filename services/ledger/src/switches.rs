//! An operator's admin sets switches for the operator's own players; the platform's admin sets them for all players.

use crate::{
    append::fingerprint,
    changes::{self, Ask, ChangeOutcome},
    fields::{self, timestamp},
    handle::Handle,
    known::{all_operators, check_game, check_operator},
    ledgers::Ledgers,
};
use motherlode_proto::ledger::v1::{self as wire, set_switch_request::State};
use motherlode_runtime::{Caller, Reason, Refusal, config::PLATFORM};
use motherlode_state::{Event, StreamId, Switch, SwitchedOff};

const OPERATORS_MAX: usize = 1_000;

pub(crate) async fn set(
    ledgers: &Ledgers,
    caller: &Caller,
    request: &wire::SetSwitchRequest,
) -> Result<wire::SetSwitchResponse, Refusal> {
    let request_id = fields::id("request_id", &request.request_id)?;
    let switch = parse(request.switch.as_ref())?;
    if caller.own().is_some_and(|own| own != switch.operator) {
        let message = "an operator may set only the switches that affect its own players";
        return Err(Refusal::new(Reason::RoleMissing, message).with("operator", PLATFORM));
    }
    let on = match request.state() {
        State::Unspecified => return Err(Refusal::field("state", "must be on or off")),
        State::Off => false,
        State::On => true,
    };
    if !on && !switch.game.is_empty() {
        check_game(&switch.game, &switch.rules_version)?;
    }
    if !on && !switch.operator.is_empty() {
        check_operator(ledgers, &switch.operator)?;
    }
    let reason = fields::reason("reason", &request.reason)?.to_owned();
    let reference = fields::reference("actor", &request.actor)?;
    if request.preview {
        return Ok(preview(ledgers, caller, &switch));
    }
    let fingerprint = fingerprint("set_switch", request);
    let change = Event::SwitchSet { switch, on, reason, actor: caller.signature() };
    let ask = Ask { stream: StreamId::System, request_id, fingerprint, change, reference };
    Ok(match changes::ask(ledgers.home(), caller, ask).await? {
        ChangeOutcome::Made(position) => {
            let pending_partitions = ledgers.spread(&StreamId::System, position).await?;
            wire::SetSwitchResponse { position, pending_partitions, ..Default::default() }
        }
        ChangeOutcome::Waits(change_id) => wire::SetSwitchResponse { change_id, ..Default::default() },
    })
}

pub(crate) fn list(ledgers: &Ledgers, caller: &Caller) -> wire::ListSwitchesResponse {
    let ledger = ledgers.home();
    let concerns = |switch: &Switch| switch.operator.is_empty() || caller.sees(&switch.operator);
    let switched_off =
        ledger.books(|books| books.switched_off().filter(|(switch, _)| concerns(switch)).map(switched_off).collect());
    let operator_ids = all_operators(ledgers).into_iter().filter(|operator| caller.sees(operator));
    wire::ListSwitchesResponse { switched_off, operator_ids: operator_ids.take(OPERATORS_MAX).collect() }
}

fn preview(ledgers: &Ledgers, caller: &Caller, switch: &Switch) -> wire::SetSwitchResponse {
    let named = |name: &str, of: &str| of.is_empty() || of == name;
    let games = motherlode_slots::games().iter().map(|game| (game.name(), game.rules_version()));
    let games = games.filter(|(game, version)| named(game, &switch.game) && named(version, &switch.rules_version));
    let operators = all_operators(ledgers)
        .into_iter()
        .filter(|of| named(of, &switch.operator) && caller.sees(of))
        .take(OPERATORS_MAX);
    let players = operators.map(|operator_id| {
        let of = |ledger: &Handle| ledger.books(|books| books.activity(&operator_id));
        let sum = ledgers.all().map(of).fold((0, 0), |(players, rounds), (more, open)| (players + more, rounds + open));
        wire::AffectedPlayers { active_players: sum.0 as u64, open_rounds: sum.1 as u64, operator_id }
    });
    wire::SetSwitchResponse {
        games: games
            .map(|(game, version)| wire::Switch {
                operator_id: switch.operator.to_string(),
                game: game.to_owned(),
                rules_version: version.to_owned(),
            })
            .collect(),
        players: players.collect(),
        ..Default::default()
    }
}

fn parse(switch: Option<&wire::Switch>) -> Result<Switch, Refusal> {
    let switch =
        switch.ok_or_else(|| Refusal::field("switch", "is required; an empty switch applies to the whole service"))?;
    let name = |field: &str, value: &str| fields::optional_id(field, value).map(str::to_owned);
    if switch.game.is_empty() && !switch.rules_version.is_empty() {
        return Err(Refusal::field("switch.rules_version", "is valid only together with switch.game"));
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
