use super::parts::{position, table};
use crate::{
    failure::Failure,
    fields::query,
    text::{when, words},
    visit::Visit,
};
use maud::{Markup, html};
use motherlode_proto::ledger::v1::{FindIdRequest, FoundId, found_id::Kind};
use tonic::Code;

/// Returns an empty list if the credential may not search, so that the user gets the same page as for an unknown id.
pub(super) async fn find(visit: &Visit, operator: &str, id: &str) -> Result<Vec<FoundId>, Failure> {
    if !visit.may("FindId") {
        return Ok(vec![]);
    }
    let request = FindIdRequest { operator_id: operator.to_owned(), id: id.to_owned() };
    match visit.api.ledger().find_id(request).await {
        Ok(answer) => Ok(answer.into_inner().found),
        Err(status) if status.code() == Code::InvalidArgument => Ok(vec![]),
        Err(status) => Err(status.into()),
    }
}

pub(super) fn path(of: &FoundId, id: &str) -> String {
    let FoundId { operator_id, player_id, currency_code, .. } = of;
    let player = query(&format!("/player/{operator_id}/{player_id}"), &[("currency", currency_code)]);
    match of.kind() {
        Kind::Session => player + "#today-limits-and-sessions",
        Kind::Campaign => {
            query(&format!("/player/{operator_id}/{player_id}"), &[("currency", currency_code), ("campaign", id)])
                + "#free-rounds"
        }
        Kind::Request if player_id.is_empty() => query("/find", &[("q", id), ("of", operator_id)]),
        Kind::Request => {
            query("/find", &[("q", &format!("{operator_id}/{player_id} {id}")), ("currency", currency_code)])
        }
        Kind::Player | Kind::Unspecified => format!("/player/{operator_id}/{player_id}"),
    }
}

pub(super) fn links(visit: &Visit, id: &str, found: &[FoundId]) -> Markup {
    let row = |of: &FoundId| {
        let kind = words(of.kind().as_str_name(), "KIND_");
        vec![
            html! { a href=(path(of, id)) { (kind) " " (id) } },
            html! { (of.operator_id) @if !of.player_id.is_empty() { "/" (of.player_id) } },
            when(of.time.as_ref()),
            position(visit, of.partition, of.position),
        ]
    };
    html! {
        section { h2 { "Found" } (table("Found", &["Id", "Player", "Time", "Position"], found.iter().map(row).collect())) }
    }
}
