use super::parts::{act, facts, proposed, table};
use crate::{
    failure::Failure,
    fields::Fields,
    layout,
    stops::part,
    text::count,
    visit::{Form, Visit},
};
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use motherlode_proto::{
    ledger::v1::{
        AffectedPlayers, ListSwitchesRequest, SetSwitchRequest, SetSwitchResponse, Switch, set_switch_request::State,
    },
    report::v1::GetIdentityResponse,
};
use std::collections::BTreeSet;

/// Value of a form field that stands for all names, because the empty value means that no name is selected.
const ALL: &str = "*";

pub(super) async fn choice(visit: &Visit, identity: &GetIdentityResponse) -> Result<Markup, Failure> {
    if !visit.may("SetSwitch") {
        return Ok(Markup::default());
    }
    let models = &identity.models;
    let names: BTreeSet<_> = models.iter().map(|of| of.game.as_str()).collect();
    Ok(html! {
        section {
            h2 { "Switch off" }
            p { "As soon as games are switched off, the service refuses new rounds of these games. Open rounds continue, and their wins are paid. If operators are configured, a second actor must approve switching the games on again. The next page lists the affected games and players." }
            form.row method="get" action="/switches" {
                p { (operators(visit, "off-operator", true).await?) }
                p { label for="off-game" { "Games" }
                    select #off-game name="game" required {
                        option value="" { "choose" }
                        option value=(ALL) { "all games" }
                        @for name in names {
                            option value=(name) { (name) ", every version" }
                            @for of in models.iter().filter(|of| of.game == name) {
                                @let version = &of.rules_version;
                                option value={ (name) " " (version) } { (name) " " (version) }
                            }
                        }
                    } }
                p { button type="submit" { "Continue" } }
            }
        }
    })
}

pub(super) async fn operators(visit: &Visit, id: &str, all: bool) -> Result<Markup, Failure> {
    let known = visit.api.ledger().list_switches(ListSwitchesRequest {}).await?.into_inner().operator_ids;
    let all = all && visit.sees_all();
    Ok(html! {
        label for=(id) { "Operator" }
        select id=(id) name="operator" required {
            option value="" { "choose" }
            @if all { option value=(ALL) { "all operators" } }
            @for operator in &known { option value=(operator) { (operator) } }
        }
    })
}

fn chosen(fields: &Fields) -> Result<Switch, Failure> {
    let get = |name: &str| match fields.get(name) {
        "" => Err(Failure::bad("Choose an operator and the games.")),
        ALL => Ok(""),
        chosen => Ok(chosen),
    };
    let (operator, game) = (get("operator")?, get("game")?);
    let (game, version) = game.split_once(' ').unwrap_or((game, ""));
    Ok(Switch { operator_id: operator.to_owned(), game: game.to_owned(), rules_version: version.to_owned() })
}

pub(crate) async fn confirm(visit: Visit) -> Result<Response, Failure> {
    let switch = chosen(&visit.query)?;
    let request = SetSwitchRequest {
        request_id: "preview".into(),
        switch: Some(switch.clone()),
        state: State::Off.into(),
        reason: "preview".into(),
        preview: true,
        ..SetSwitchRequest::default()
    };
    let effect = visit.api.ledger().set_switch(request).await?.into_inner();
    let fields = html! {
        input type="hidden" name="operator" value=(switch.operator_id);
        input type="hidden" name="game" value=(switch.game);
        input type="hidden" name="version" value=(switch.rules_version);
        input type="hidden" name="state" value="off";
        input type="hidden" name="confirmed" value=(part(&switch));
    };
    let content = html! {
        p.notice { "The switch stops new rounds of " strong { (part(&switch)) } "." }
        (affected(&effect))
        section {
            h2 { "Confirm" }
            (act(&visit, "/switches", "Switch off", true, &fields)?)
            p { a href="/trust" { "Leave it on" } }
        }
    };
    Ok(layout::page(&visit, &format!("Switch off {}", part(&switch)), content).await)
}

fn affected(effect: &SetSwitchResponse) -> Markup {
    let SetSwitchResponse { games, players, .. } = effect;
    let sum = |of: fn(&AffectedPlayers) -> u64| count(players.iter().map(of).sum::<u64>());
    let game = |of: &Switch| vec![html! { (of.game) }, html! { (of.rules_version) }];
    let of = |of: &AffectedPlayers| {
        vec![html! { (of.operator_id) }, html! { (count(of.active_players)) }, html! { (count(of.open_rounds)) }]
    };
    html! {
        section {
            h2 { "Affected" }
            (facts(&[
                ("Game versions", html! { (count(games.len())) }),
                ("Operators", html! { (count(players.len())) }),
                ("Recently active players", html! { (sum(|of| of.active_players)) }),
                ("Open rounds (they continue)", html! { (sum(|of| of.open_rounds)) }),
            ]))
            (table("Games", &["Game", "Version"], games.iter().map(game).collect()))
            @if players.is_empty() { p { "No operator has players." } }
            @else { (table("Players", &["Operator", "Recently active players", "Open rounds"], players.iter().map(of).collect())) }
        }
    }
}

pub(crate) async fn switch(form: Form) -> Result<Response, Failure> {
    let get = |field: &str| form.fields.get(field).to_owned();
    let switch = Switch { operator_id: get("operator"), game: get("game"), rules_version: get("version") };
    let state = match form.fields.get("state") {
        "off" if form.fields.get("confirmed") == part(&switch) => State::Off,
        "off" => {
            return Err(Failure::bad(
                "Before you switch games off, confirm the list of affected games and players. On the Trust page, choose \
                 the operator and the games to switch off.",
            ));
        }
        "on" => State::On,
        _ => return Err(Failure::bad("The state of a switch must be on or off.")),
    };
    let named = part(&switch);
    let request = SetSwitchRequest {
        request_id: get("request"),
        switch: Some(switch),
        state: state.into(),
        reason: get("reason"),
        actor: get("actor"),
        preview: false,
    };
    let answer = form.visit.api.ledger().set_switch(request).await.map_err(|status| form.refused(status))?;
    let way = if state == State::On { "on" } else { "off" };
    let notice = proposed(&format!("Switched {way}: {named}"), answer.into_inner().change_id);
    Ok(form.done("/trust", notice).into_response())
}
