//! Now: how the service stands, in a look. Made of Check, GetIdentity, GetLogStatus, GetPool, ListSwitches, ListChanges and
//! ListSignificantEvents.

use super::parts::{changes, events, section, switches, table};
use crate::{failure::Failure, layout, pages::jackpots, text::count, visit::Visit};
use axum::response::{IntoResponse, Response};
use http::{HeaderName, HeaderValue};
use maud::{Markup, html};
use motherlode_proto::{
    ledger::v1::GetLogStatusRequest,
    report::v1::{GetIdentityRequest, ListSignificantEventsRequest},
};
use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus};

/// Seconds from one look to the next, where it's asked for.
const EVERY: &str = "5";

/// The page.
pub(crate) async fn page(visit: Visit) -> Result<Response, Failure> {
    let watches = visit.query.get("every") == EVERY;
    let identity = visit.api.report().get_identity(GetIdentityRequest {}).await?.into_inner();
    let health = visit.api.health().check(HealthCheckRequest::default()).await;
    let serving = health.is_ok_and(|health| health.into_inner().status() == ServingStatus::Serving);
    let content = html! {
        div.tiles {
            (tile("Service", if serving { "serving" } else { "not serving" }))
            (tile("Version", &identity.version))
            (tile("Dealer", if identity.test_build { "a test's script" } else { "sealed draws" }))
        }
        @if identity.test_build { p.notice { "A test build: a script chooses among outcomes. Not for play." } }
        p {
            @if watches { "This page is loaded again every 5 seconds. " a href="/" { "Stop" } }
            @else { a href={ "/?every=" (EVERY) } { "Load this page again every 5 seconds" } }
        }
        section { h2 { "Jackpots" } (jackpots::tiles(&visit).await?) }
        (log(&visit).await?)
        (switches(&visit).await?)
        (changes(&visit).await?)
        (latest(&visit).await?)
    };
    let mut answer = layout::page(&visit, "Now", content).into_response();
    if watches {
        answer.headers_mut().insert(HeaderName::from_static("refresh"), HeaderValue::from_static(EVERY));
    }
    Ok(answer)
}

/// A figure with its name.
pub(crate) fn tile(name: &str, figure: &str) -> Markup {
    html! { div.tile { span { (name) } b { (figure) } } }
}

async fn log(visit: &Visit) -> Result<Markup, Failure> {
    if !visit.may("GetLogStatus") {
        return Ok(Markup::default());
    }
    let answer = visit.api.ledger().get_log_status(GetLogStatusRequest {}).await;
    section("The log", answer, |status| {
        let rows = status.partitions.iter().map(|part| {
            vec![
                html! { a href={ "/log?partition=" (part.partition) } { (part.partition) } },
                html! { (count(part.position)) },
                html! { @if part.writable { "durable, takes appends" } @else { strong.bad { "takes no appends" } } },
                html! { code { (part.head_hash) } },
            ]
        });
        table("Partitions", &["Partition", "Position", "State", "Head"], rows.collect())
    })
}

async fn latest(visit: &Visit) -> Result<Markup, Failure> {
    if !visit.may("ListSignificantEvents") {
        return Ok(Markup::default());
    }
    let request = ListSignificantEventsRequest { page_size: 8, ..Default::default() };
    let answer = visit.api.report().list_significant_events(request).await;
    section("Latest significant events", answer, |answer| {
        html! {
            (events(visit, &answer.events))
            p { a href="/reports" { "All events and returns" } }
        }
    })
}
