use super::parts::{changes, events, kind, section, switches, table};
use crate::{
    days,
    failure::{Failure, capital, reason},
    layout, live,
    pages::jackpots,
    stops::stops,
    text::{count, percent, when},
    visit::Visit,
};
use axum::response::Response;
use maud::{Markup, PreEscaped, html};
use motherlode_proto::{
    ledger::v1::GetLogStatusRequest,
    report::v1::{
        GetIdentityRequest, GetServiceStatusRequest, ListReturnsRequest, ListSignificantEventsRequest, PartitionStatus,
        SignificantKind,
    },
};
use tonic::{Code, Status};
use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus};

pub(crate) async fn page(visit: Visit) -> Result<Response, Failure> {
    let identity = visit.api.report().get_identity(GetIdentityRequest {}).await?.into_inner();
    let health = visit.api.health().check(HealthCheckRequest::default()).await;
    let serving = health.is_ok_and(|health| health.into_inner().status() == ServingStatus::Serving);
    let content = html! {
        div.tiles {
            (tile("Service", if serving { "serving" } else { "not serving" }))
            (tile("Version", &identity.version))
            (tile("Dealer", if identity.test_build { "test script" } else { "sealed draws" }))
        }
        @if identity.test_build { p.notice { "Test build: a script selects the outcomes. Do not use it for play." } }
        (going(&visit).await?)
        (switches(&visit).await?)
        (changes(&visit).await?)
        (latest(&visit).await?)
    };
    Ok(layout::live_page(&visit, "Now", content).await)
}

pub(crate) async fn part(visit: Visit) -> Result<Response, Failure> {
    live::shared(&visit, going(&visit)).await
}

async fn going(visit: &Visit) -> Result<Markup, Failure> {
    let content = html! {
        (alerts(visit).await?)
        (vitals(visit).await?)
        section { h2 { "Jackpots" } (figures(visit).await?) }
        (log(visit).await?)
    };
    Ok(live::part(visit, Some("/live/now"), jackpots::REFRESH_S, content))
}

async fn figures(visit: &Visit) -> Result<Markup, Failure> {
    match jackpots::tiles(visit).await {
        Err(Failure::Refused(status)) if status.code() != Code::Unauthenticated => {
            Ok(html! { p.note { (capital(status.message())) ". " code { (reason(&status)) } } })
        }
        told => told,
    }
}

const ALARMING: [SignificantKind; 7] = [
    SignificantKind::IntegrityFailed,
    SignificantKind::AwardSetAside,
    SignificantKind::ClockSkewed,
    SignificantKind::DrawKeyLost,
    SignificantKind::SealsEnded,
    SignificantKind::WalletOverdue,
    SignificantKind::WalletCallHeld,
];
const NAMED_MAX: u8 = 5;

/// Returns alerts about stopped parts, partitions that accept no appends, returns outside their 95 % intervals, and alarming
/// events of the last day.
async fn alerts(visit: &Visit) -> Result<Markup, Failure> {
    let mut told: Vec<Markup> = stops(visit).await;
    if visit.may("GetLogStatus") {
        let status = had(visit.api.ledger().get_log_status(GetLogStatusRequest {}).await, &mut told)?;
        let stopped = status.partitions.iter().filter(|part| !part.writable);
        told.extend(stopped.map(|part| html! { "Partition " (part.partition) " takes no appends." }));
    }
    if !visit.may("ListReturns") || !visit.may("ListSignificantEvents") {
        return Ok(if told.is_empty() { Markup::default() } else { alarms(&told) });
    }
    let request = ListReturnsRequest { out_of_band_only: true, ..Default::default() };
    let out = had(visit.api.report().list_returns(request).await, &mut told)?.returns;
    told.extend(out.iter().take(NAMED_MAX.into()).map(|of| {
        let stake = of.stake.clone().unwrap_or_default();
        html! {
            a href={ "/games/" (of.game) "/" (of.rules_version) "/returns" } { (of.game) " " (of.rules_version) }
            " at " (stake.lines) " x " (stake.coins_per_line) " of " (stake.coin_value) " has returned " (percent(&of.rtp)) " in " (count(of.rounds))
            " rounds: out of its band around " (percent(&of.theoretical_rtp)) "."
        }
    }));
    let more = out.len().saturating_sub(NAMED_MAX.into());
    if more > 0 {
        told.push(html! { (count(more)) " more stakes are out of their bands." });
    }
    let kinds = ALARMING.map(i32::from).to_vec();
    let request = ListSignificantEventsRequest { kinds, page_size: NAMED_MAX.into(), ..Default::default() };
    let events = had(visit.api.report().list_significant_events(request).await, &mut told)?.events;
    let since = visit.app.sessions.now_ms() / 1_000 - days::SECONDS;
    let late = events.iter().filter(|event| event.time.is_some_and(|time| time.seconds >= since));
    told.extend(late.map(|event| {
        html! { (capital(&kind(event.kind()))) ", " (event.subject) ", " (when(event.time.as_ref())) @if !event.reason.is_empty() { ": " (event.reason) } "." }
    }));
    Ok(alarms(&told))
}

fn had<T: Default>(answer: Result<tonic::Response<T>, Status>, told: &mut Vec<Markup>) -> Result<T, Failure> {
    match answer {
        Ok(answer) => Ok(answer.into_inner()),
        Err(status) if status.code() == Code::Unauthenticated => Err(status.into()),
        Err(status) => {
            told.push(html! { (capital(status.message())) "." });
            Ok(T::default())
        }
    }
}

fn alarms(told: &[Markup]) -> Markup {
    html! {
        section {
            h2 { "Alerts" }
            @if told.is_empty() { p { "None." } }
            @else { ul.notice role="status" { @for alarm in told { li { (alarm) } } } }
        }
    }
}

pub(crate) fn tile(name: &str, figure: &str) -> Markup {
    html! { div.tile { span { (name) } b { (figure) } } }
}

async fn vitals(visit: &Visit) -> Result<Markup, Failure> {
    if !visit.may("GetServiceStatus") {
        return Ok(Markup::default());
    }
    let answer = visit.api.report().get_service_status(GetServiceStatusRequest {}).await;
    section("The last minute", answer, |told| {
        let rounds: Vec<_> = told.seconds.iter().map(|second| second.rounds).collect();
        let calls: Vec<_> = told.seconds.iter().map(|second| second.calls).collect();
        let row = |of: &PartitionStatus| {
            let writer = match (of.written_here, of.writable) {
                (true, true) => "this process, accepts appends",
                (true, false) => "this process, accepts no appends",
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
            ["Partition", "Written by", "Proposals waiting", "Index behind", "Reports behind", "Not verified yet"];
        html! {
            div.tiles {
                (course("Rounds a second", &rounds))
                (course("Calls a second", &calls))
                (tile("p50 latency", &time(told.latency_p50_us)))
                (tile("p99 latency", &time(told.latency_p99_us)))
                div.tile {
                    span { "Open rounds" }
                    b { @match own(visit) { Some(path) => a href=(path) { (count(told.open_rounds)) }, None => (count(told.open_rounds)) } }
                }
            }
            (table("Partitions and their followers, in records", &head, told.partitions.iter().map(row).collect()))
            (readers(&told.partitions))
        }
    })
}

fn own(visit: &Visit) -> Option<String> {
    let operator = &visit.who().operator;
    (!visit.sees_all() && visit.may("ListOpenRounds")).then(|| format!("/open/{operator}"))
}

fn readers(partitions: &[PartitionStatus]) -> Markup {
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
    fn pl_23_what_is_not_as_it_should_be_is_an_alert() {
        assert!(alarms(&[]).into_string().contains("<p>None.</p>"));
        let told = alarms(&[html! { "Partition 2 takes no appends." }]).into_string();
        assert!(told.contains("<li>Partition 2 takes no appends.</li>") && !told.contains("None."), "{told}");
    }

    #[test]
    fn pl_30_who_follows_the_log_is_shown_with_its_lag() {
        let reader = LogReader { name: "spin-1".into(), behind: 1_200, since_time: None };
        let of = PartitionStatus { partition: 3, readers: vec![reader], ..PartitionStatus::default() };
        let told = readers(&[PartitionStatus::default(), of]).into_string();
        assert!(told.contains("<th scope=\"row\">spin-1</th><td class=\"n\">3</td>"), "{told}");
        assert!(told.contains("<td class=\"n\">1,200</td>"), "{told}");
        assert_eq!(readers(&[PartitionStatus::default()]).into_string(), "");
    }
}
