use super::{
    parts::{act, proposed, section, table},
    switches::operators,
};
use crate::{
    failure::Failure,
    text::{count, eur, when},
    visit::{Form, Visit},
};
use axum::{extract::Path, response::Redirect};
use maud::{Markup, html};
use motherlode_proto::{
    jackpot::v1::{DeclareIncidentRequest, Incident, ListIncidentsRequest, ListIncidentsResponse},
    spin::v1::ListGamesRequest,
};
use prost_types::Timestamp;

pub(crate) async fn incidents(visit: &Visit, pool_id: &str) -> Result<Markup, Failure> {
    if !visit.may("ListIncidents") {
        return Ok(Markup::default());
    }
    let answer = visit.api.jackpot().list_incidents(ListIncidentsRequest { pool_id: pool_id.to_owned() }).await;
    let form = if visit.may("DeclareIncident") { declaration(visit, pool_id).await? } else { Markup::default() };
    section("Incidents", answer, |listed| html! { (listing(&listed)) (form) })
}

fn listing(listed: &ListIncidentsResponse) -> Markup {
    let incident = |incident: &Incident| {
        let version = if incident.rules_version.is_empty() { "every version" } else { &incident.rules_version };
        vec![
            html! { (incident.incident_id) },
            html! { (incident.operator_id) },
            html! { (incident.game) ", " (version) },
            html! { (when(incident.from_time.as_ref())) " to " (when(incident.until_time.as_ref())) },
            html! { (incident.reason) },
            html! { (incident.actor) },
        ]
    };
    let headings = ["Incident", "Operator", "Game", "Bets", "Reason", "By"];
    let left = listed.not_returned.iter().map(|of| {
        vec![html! { (of.operator_id) }, html! { (count(of.voids)) }, html! { (eur(&of.contributions_eur)) }]
    });
    html! {
        @if listed.incidents.is_empty() { p { "None." } }
        @else { (table("Incidents", &headings, listed.incidents.iter().map(incident).collect())) }
        @if !listed.not_returned.is_empty() {
            (table("Unreturned contributions of voided rounds", &["Operator", "Voids", "EUR"], left.collect()))
        }
    }
}

async fn declaration(visit: &Visit, pool_id: &str) -> Result<Markup, Failure> {
    let input = |name: &str, title: &str, hint: &str| {
        html! {
            label for={ "incident-" (name) } { (title) }
            input id={ "incident-" (name) } name=(name) maxlength="64" placeholder=(hint);
        }
    };
    let games = visit.api.spin().list_games(ListGamesRequest {}).await?.into_inner().games;
    let parts = html! {
        (input("incident", "Incident", "a name"))
        (operators(visit, "incident-operator", false).await?)
        label for="incident-version" { "Rules version" }
        select #incident-version name="version" {
            option value="" { "every version" }
            @for game in games.iter().filter(|game| game.game == pool_id) { option { (game.rules_version) } }
        }
        (input("from", "Start of the period in which the bets were placed (inclusive), UTC", "2026-11-26T10:00:00Z"))
        (input("until", "End of the period in which the bets were placed (exclusive), UTC", "2026-11-26T10:30:00Z"))
    };
    Ok(html! {
        p { "After the declaration, the pool returns the contributions of voided rounds whose bets were placed in this \
             period to the operator's house account. If operators are configured, a second actor must approve the \
             declaration." }
        (act(visit, &format!("/jackpots/{pool_id}/incident"), "Declare an incident", true, &parts)?)
    })
}

pub(crate) async fn declare(Path(pool_id): Path<String>, form: Form) -> Result<Redirect, Failure> {
    let back = format!("/jackpots/{pool_id}");
    let get = |field: &str| form.fields.get(field).to_owned();
    let time = |field: &str| {
        let time = form.fields.get(field).parse::<Timestamp>();
        time.map_err(|_| {
            form.refused(Failure::bad(
                "Enter the start and the end of the period as times such as 2026-11-26T10:00:00Z.",
            ))
        })
    };
    let incident = Incident {
        incident_id: get("incident"),
        operator_id: get("operator"),
        game: pool_id.clone(),
        rules_version: get("version"),
        from_time: Some(time("from")?),
        until_time: Some(time("until")?),
        reason: get("reason"),
        actor: String::new(),
    };
    let request =
        DeclareIncidentRequest { request_id: get("request"), pool_id, incident: Some(incident), actor: get("actor") };
    let answer =
        form.visit.api.pool_changes().declare_incident(request).await.map_err(|status| form.refused(status))?;
    Ok(form.done(&back, proposed("Declared the incident", answer.into_inner().change_id)))
}
