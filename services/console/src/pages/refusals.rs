use super::{
    parts::{facts, wide_table},
    reports::{self, safe},
};
use crate::{
    failure::Failure,
    fields::query,
    layout,
    text::{count, when},
    visit::Visit,
};
use axum::{extract::Path, response::Response};
use maud::{Markup, html};
use motherlode_proto::report::v1::{ListRefusalsRequest, RefusedCall};
use motherlode_runtime::Reason;
use motherlode_tables::{Column, Kind, Value, column};
use std::collections::BTreeSet;

const PATH: &str = "/refusals";
const ROWS: usize = 200;
const FILTERS: [&str; 2] = ["operator", "reason"];

async fn read(visit: &Visit) -> Result<Vec<RefusedCall>, Failure> {
    let get = |name: &str| visit.query.get(name).to_owned();
    let request = ListRefusalsRequest { operator_id: get("operator"), reason: get("reason") };
    let mut calls = visit.api.report().list_refusals(request).await?.into_inner().calls;
    calls.truncate(ROWS);
    Ok(calls)
}

pub(super) fn path(reason: &str) -> String {
    query(PATH, &[("reason", reason)])
}

pub(crate) async fn page(visit: Visit) -> Result<Response, Failure> {
    let calls = read(&visit).await?;
    let filters = FILTERS.map(|name| (name, visit.query.get(name)));
    let content = html! {
        p.note { "The latest calls that this process refused, at most 200 per operator. A restart of the process clears the list." }
        (form(&visit))
        @if calls.is_empty() { p { "No refused call." } }
        @else {
            (shown(&visit, &calls))
            ul.links {
                li { a href=(query("/refusals.csv", &filters)) { "Download refusals as CSV" } }
                li { a href=(query("/refusals.parquet", &filters)) { "Download refusals as Parquet" } }
            }
            (reasons(&calls))
        }
    };
    Ok(layout::page(&visit, "Refused calls", content).await)
}

fn form(visit: &Visit) -> Markup {
    let reason = visit.query.get("reason");
    let mut names: Vec<_> = Reason::all().map(Reason::name).collect();
    names.sort_unstable();
    html! {
        form.row method="get" action=(PATH) {
            @if visit.sees_all() {
                p { label for="operator" { "Operator" } input #operator name="operator" value=(visit.query.get("operator")) maxlength="64" placeholder="all"; }
            }
            p { label for="reason" { "Reason" }
                select #reason name="reason" {
                    option value="" { "all" }
                    @for name in names { option value=(name) selected[name == reason] { (name) } }
                } }
            p { button type="submit" { "Show" } }
        }
    }
}

fn shown(visit: &Visit, calls: &[RefusedCall]) -> Markup {
    let row = |of: &RefusedCall| {
        let player = format!("{}/{}", of.operator_id, of.player_id);
        let is_own = visit.owns(&of.operator_id) && !of.operator_id.is_empty() && !of.player_id.is_empty();
        let request = query("/find", &[("q", &format!("{player} {}", of.request_id))]);
        vec![
            when(of.time.as_ref()),
            html! { a href={ "#" (of.reason) } { (of.reason) } },
            html! { (of.method.rsplit('/').next().unwrap_or_default()) },
            html! { (of.operator_id) },
            html! { @if is_own { a href={ "/player/" (player) } { (of.player_id) } } @else { (of.player_id) } },
            html! { @if is_own && !of.request_id.is_empty() { a href=(request) { (of.request_id) } } @else { (of.request_id) } },
            html! { (of.message) },
        ]
    };
    wide_table("Refused calls", &HEAD, calls.iter().map(row).collect())
}

const HEAD: [&str; 7] = ["Time", "Reason", "Call", "Operator", "Player", "Request", "Message"];

fn reasons(calls: &[RefusedCall]) -> Markup {
    let names: BTreeSet<_> = calls.iter().map(|of| of.reason.as_str()).collect();
    let number = |name: &str| calls.iter().filter(|of| of.reason == name).count();
    html! {
        section {
            h2 { "Meaning of these reasons" }
            @for name in names {
                section id=(name) {
                    h3 { (name) }
                    (facts(&[
                        ("Listed calls", html! { a href=(path(name)) { (count(number(name))) } }),
                        ("Meaning", html! { (Reason::from_name(name).map_or_else(|| "The gRPC server refused the call before the service handled it.".to_owned(), meaning)) }),
                        ("Retry helps", html! { (Reason::from_name(name).map_or_else(|| "no".to_owned(), |reason| reason.retry().to_string())) }),
                    ]))
                }
            }
        }
    }
}

fn meaning(reason: Reason) -> String {
    reason.doc().replace('`', "")
}

pub(crate) async fn file(Path(form): Path<String>, visit: Visit) -> Result<Response, Failure> {
    let calls = read(&visit).await?;
    reports::table(&form, "refusals", COLUMNS, "motherlode.report.v1.RefusedCall", &calls, |of, rows| {
        rows.row(&[
            Value::Time(of.time.map(|time| time.seconds * 1_000 + i64::from(time.nanos) / 1_000_000)),
            Value::Text(&of.reason),
            Value::Text(&of.method),
            Value::Text(&of.operator_id),
            Value::Text(&safe(&form, &of.player_id)),
            Value::Text(&safe(&form, &of.request_id)),
            Value::Text(&safe(&form, &of.message)),
        ])
    })
}

const COLUMNS: &[Column] = &[
    column("time", Kind::Time),
    column("reason", Kind::Text),
    column("method", Kind::Text),
    column("operator_id", Kind::Text),
    column("player_id", Kind::Text),
    column("request_id", Kind::Text),
    column("message", Kind::Text),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pl_12_each_listed_reason_is_explained_once() {
        let call = |reason: &str| RefusedCall { reason: reason.to_owned(), ..RefusedCall::default() };
        let told = reasons(&[call("LOSS_LIMIT"), call("LOSS_LIMIT"), call("_OTHER")]).into_string();
        assert_eq!(told.matches("<section id=").count(), 2, "{told}");
        assert!(told.contains("<section id=\"LOSS_LIMIT\"><h3>LOSS_LIMIT</h3>"), "{told}");
        assert!(told.contains(&meaning(Reason::LossLimit)) && told.contains("The gRPC server refused"), "{told}");
        for reason in Reason::all() {
            assert!(!meaning(reason).contains("]("), "{reason}");
        }
    }
}
