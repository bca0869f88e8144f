//! Now: how the service stands, in a look. Made of Check, GetIdentity, GetVitals, GetLogStatus, GetPool, ListSwitches, ListChanges and
//! ListSignificantEvents.

use super::parts::{changes, events, section, switches, table};
use crate::{
    failure::Failure,
    layout, live,
    pages::jackpots,
    text::{count, when},
    visit::Visit,
};
use axum::response::Response;
use maud::{Markup, PreEscaped, html};
use motherlode_proto::{
    ledger::v1::GetLogStatusRequest,
    report::v1::{GetIdentityRequest, GetVitalsRequest, ListSignificantEventsRequest, PartitionVitals},
};
use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus};

/// The page.
pub(crate) async fn page(visit: Visit) -> Result<Response, Failure> {
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
        (going(&visit).await?)
        (switches(&visit).await?)
        (changes(&visit).await?)
        (latest(&visit).await?)
    };
    Ok(layout::live_page(&visit, "Now", content))
}

/// The part that goes on by itself.
pub(crate) async fn part(visit: Visit) -> Result<Response, Failure> {
    Ok(live::answer(going(&visit).await?))
}

async fn going(visit: &Visit) -> Result<Markup, Failure> {
    let content = html! {
        (vitals(visit).await?)
        section { h2 { "Jackpots" } (jackpots::tiles(visit).await?) }
        (log(visit).await?)
    };
    Ok(live::part(visit, Some("/live/now"), jackpots::REFRESH_S, content))
}

/// A figure with its name.
pub(crate) fn tile(name: &str, figure: &str) -> Markup {
    html! { div.tile { span { (name) } b { (figure) } } }
}

/// Rounds and calls of the last minute, and how far behind the log its followers are.
async fn vitals(visit: &Visit) -> Result<Markup, Failure> {
    if !visit.may("GetVitals") {
        return Ok(Markup::default());
    }
    let answer = visit.api.report().get_vitals(GetVitalsRequest {}).await;
    section("The last minute", answer, |told| {
        let rounds: Vec<_> = told.seconds.iter().map(|second| second.rounds).collect();
        let calls: Vec<_> = told.seconds.iter().map(|second| second.calls).collect();
        let row = |of: &PartitionVitals| {
            let writer = match (of.written_here, of.writable) {
                (true, true) => "this process, takes appends",
                (true, false) => "this process, takes none",
                (false, _) => "another process",
            };
            vec![
                html! { (of.partition) },
                html! { (writer) },
                html! { (count(of.waiting)) },
                html! { (count(of.index_behind)) },
                html! { (count(of.reports_behind)) },
                html! { (count(of.unverified)) },
            ]
        };
        let head =
            ["Partition", "Written by", "Proposals waiting", "Index behind", "Reports behind", "Yet to be verified"];
        html! {
            div.tiles {
                (course("Rounds a second", &rounds))
                (course("Calls a second", &calls))
                (tile("Half of the calls within", &time(told.latency_p50_us)))
                (tile("99 of 100 calls within", &time(told.latency_p99_us)))
                (tile("Rounds that wait for players", &count(told.open_rounds)))
            }
            (table("Partitions and their followers, in records", &head, told.partitions.iter().map(row).collect()))
            (readers(&told.partitions))
        }
    })
}

/// The processes that follow partitions which this one writes.
fn readers(partitions: &[PartitionVitals]) -> Markup {
    let rows: Vec<_> = partitions
        .iter()
        .flat_map(|of| of.readers.iter().map(|reader| (of.partition, reader)))
        .map(|(partition, of)| {
            vec![html! { (of.name) }, html! { (partition) }, when(of.since_time.as_ref()), html! { (count(of.behind)) }]
        })
        .collect();
    html! {
        @if !rows.is_empty() {
            h3 { "Other processes that follow the log" }
            (table("Other processes that follow the log", &["Process", "Partition", "Since", "Records behind"], rows))
        }
    }
}

/// A figure of the last second, with its course over the last minute.
fn course(name: &str, seconds: &[u64]) -> Markup {
    let most = seconds.iter().copied().max().unwrap_or_default().max(1);
    let bar = |(at, count): (usize, &u64)| {
        let height = count * 20 / most;
        format!("<rect class=\"bar\" x=\"{}\" y=\"{}\" width=\"1.6\" height=\"{height}\"/>", at * 2, 20 - height)
    };
    let bars: String = seconds.iter().enumerate().map(bar).collect();
    html! {
        div.tile {
            span { (name) }
            b { (count(seconds.last().copied().unwrap_or_default())) }
            svg.spark viewBox="0 0 120 20" aria-hidden="true" { (PreEscaped(bars)) }
        }
    }
}

/// A time in microseconds as people read it.
fn time(us: u64) -> String {
    match us {
        0 => "–".to_owned(),
        1..1_000 => format!("{us} µs"),
        1_000..1_000_000 => format!("{}.{} ms", us / 1_000, us % 1_000 / 100),
        _ => format!("{}.{} s", us / 1_000_000, us % 1_000_000 / 100_000),
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use motherlode_proto::report::v1::LogReader;

    #[test]
    fn pl_30_who_follows_the_log_is_shown_with_its_lag() {
        let reader = LogReader { name: "spin-1".into(), behind: 1_200, since_time: None };
        let of = PartitionVitals { partition: 3, readers: vec![reader], ..PartitionVitals::default() };
        let told = readers(&[PartitionVitals::default(), of]).into_string();
        assert!(told.contains("<th scope=\"row\">spin-1</th><td>3</td>") && told.contains("<td>1,200</td>"), "{told}");
        assert_eq!(readers(&[PartitionVitals::default()]).into_string(), "");
    }
}
