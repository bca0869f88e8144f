use super::parts::{changes, events, in_units, kind, round, section, switches, table, tile, time};
use super::{refusals, trends};
use crate::{
    days,
    failure::{Failure, capital, reason},
    fields::query,
    layout, live,
    pages::jackpots,
    stops::stops,
    text::{count, percent, since, when},
    visit::Visit,
};
use axum::response::Response;
use maud::{Markup, PreEscaped, html};
use motherlode_proto::{
    ledger::v1::{Change, GetLogStatusRequest, ListChangesRequest},
    report::v1::{
        GetIdentityRequest, GetServiceStatusRequest, ListRefusalsRequest, ListReturnsRequest,
        ListSignificantEventsRequest, PartitionStatus, SignificantKind, WalletStatus,
    },
    spin::v1::ListOpenRoundsRequest,
};
use motherlode_runtime::Reason;
use prost_types::Timestamp;
use std::collections::BTreeSet;
use tonic::{Code, Status};
use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus};

pub(crate) async fn page(visit: Visit) -> Result<Response, Failure> {
    let identity = visit.api.report().get_identity(GetIdentityRequest {}).await?.into_inner();
    let health = visit.api.health().check(HealthCheckRequest::default()).await;
    let serving = health.is_ok_and(|health| health.into_inner().status() == ServingStatus::Serving);
    let content = html! {
        @if identity.test_build { p.notice { "Test build: a script selects the outcomes. Do not use it for play." } }
        (going(&visit).await?)
        (switches(&visit).await?)
        (changes(&visit).await?)
        (latest(&visit).await?)
        section {
            h2 { "The service" }
            div.tiles {
                (tile("Service", if serving { "serving" } else { "not serving" }))
                (tile("Version", &identity.version))
                (tile("Dealer", if identity.test_build { "test script" } else { "sealed draws" }))
            }
        }
    };
    Ok(layout::live_page(&visit, "Now", content).await)
}

pub(crate) async fn part(visit: Visit) -> Result<Response, Failure> {
    live::shared(&visit, going(&visit)).await
}

async fn going(visit: &Visit) -> Result<Markup, Failure> {
    let content = html! {
        (alerts(visit).await?)
        (open(visit).await?)
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

const ALARMING: [(SignificantKind, &str); 6] = [
    (SignificantKind::IntegrityFailed, "MotherlodeIntegrityFailed"),
    (SignificantKind::ClockSkewed, "MotherlodeClockSkewed"),
    (SignificantKind::DrawKeyLost, "MotherlodeDrawKeyLost"),
    (SignificantKind::SealsEnded, "MotherlodeSealsEnded"),
    (SignificantKind::WalletOverdue, "MotherlodeWalletOverdue"),
    (SignificantKind::WalletCallHeld, "MotherlodeWalletCallHeld"),
];
const NAMED_MAX: u8 = 5;
const HOUR_S: i64 = 3_600;

/// Lag behind the writer, in records, from which a follower is shown as an alert.
const BEHIND: u64 = 1_000;

struct Alert {
    severity: Severity,
    since: Option<Timestamp>,
    told: Markup,
    entry: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Severity {
    Page,
    Ticket,
    Notice,
}

impl Alert {
    fn new(severity: Severity, entry: &'static str, told: Markup) -> Self {
        Self { severity, since: None, told, entry }
    }

    fn since(self, since: Option<Timestamp>) -> Self {
        Self { since, ..self }
    }
}

async fn alerts(visit: &Visit) -> Result<Markup, Failure> {
    let stopped = |told| Alert::new(Severity::Ticket, "MotherlodeSwitchedOff", told);
    let mut told: Vec<Alert> = stops(visit).await.into_iter().map(stopped).collect();
    if visit.may("GetLogStatus") {
        let status = had(visit.api.ledger().get_log_status(GetLogStatusRequest {}).await, &mut told)?;
        let stopped = status.partitions.iter().filter(|part| !part.writable);
        told.extend(stopped.map(|part| {
            let text = html! { "Partition " (part.partition) " accepts no appends." };
            Alert::new(Severity::Page, "MotherlodeTakesNoAppends", text)
        }));
    }
    if visit.may("GetServiceStatus") {
        let status = had(visit.api.report().get_service_status(GetServiceStatusRequest {}).await, &mut told)?;
        told.extend(status.partitions.iter().flat_map(behind));
        told.extend(status.wallets.iter().filter(|of| of.circuit_open).map(away));
        told.extend(status.disk.iter().filter(|of| of.days_left.is_some_and(|days| days < trends::DAYS_LEFT_MIN)).map(
            |of| {
                let (full, growth) = trends::space(of);
                let text = html! { "The disk that contains the data folder is filling: " (full) ", " (growth) "." };
                Alert::new(Severity::Ticket, "MotherlodeDiskFills", text)
            },
        ));
    }
    if visit.may("ListChanges") {
        let changes = had(visit.api.ledger().list_changes(ListChangesRequest {}).await, &mut told)?.changes;
        told.extend(waiting(&changes));
    }
    let now_ms = visit.app.sessions.now_ms();
    if !visit.may("ListReturns") || !visit.may("ListSignificantEvents") {
        return Ok(if told.is_empty() { Markup::default() } else { alarms(told, now_ms) });
    }
    let request = ListReturnsRequest { out_of_band_only: true, ..Default::default() };
    let out = had(visit.api.report().list_returns(request).await, &mut told)?.returns;
    told.extend(out.iter().take(NAMED_MAX.into()).map(|of| {
        let stake = of.stake.clone().unwrap_or_default();
        let text = html! {
            a href={ "/games/" (of.game) "/" (of.rules_version) "/returns" } { (of.game) " " (of.rules_version) }
            " at " (stake.lines) " x " (stake.coins_per_line) " of " (stake.coin_value)
            (format!(" has returned {} in {} rounds. This return is outside the tolerance band around {}.", percent(&of.rtp), count(of.rounds), percent(&of.theoretical_rtp)))
        };
        Alert::new(Severity::Page, "MotherlodeIntegrityFailed", text)
    }));
    let more = out.len().saturating_sub(NAMED_MAX.into());
    if more > 0 {
        let text = html! { (format!("The returns of {} more stakes are outside their tolerance bands.", count(more))) };
        told.push(Alert::new(Severity::Page, "MotherlodeIntegrityFailed", text));
    }
    awards(visit, &mut told).await?;
    alarming(visit, &mut told).await?;
    Ok(alarms(told, now_ms))
}

fn behind(part: &PartitionStatus) -> Vec<Alert> {
    let partition = part.partition;
    let readers = part.readers.iter().filter(|of| of.behind >= BEHIND).map(|of| {
        let text = format!("{} is {} records behind in partition {partition}.", capital(&of.name), count(of.behind));
        let text = html! { (text) };
        Alert::new(Severity::Ticket, "MotherlodeReplicaBehind", text)
    });
    let views = [
        (part.index_behind, "index", "MotherlodeIndexBehind"),
        (part.reports_behind, "reports", "MotherlodeReportsBehind"),
    ];
    let views = views.into_iter().filter(|(behind, ..)| *behind >= 100 * BEHIND).map(|(behind, name, entry)| {
        let text = html! { "The " (name) " of partition " (partition) " are " (count(behind)) " records behind." };
        Alert::new(Severity::Ticket, entry, text)
    });
    readers.chain(views).collect()
}

fn away(of: &WalletStatus) -> Alert {
    let next = match of.next_call_ms {
        0 => "when a request next needs the wallet".to_owned(),
        ms => format!("in {} s", ms.div_ceil(1_000)),
    };
    let told = format!(
        "The wallet of {} does not answer: its circuit is open, and bets are refused. Last error: {}. Players with a \
         pending debit or credit: {}; players with an overdue debit or credit: {}. Next try: {next}.",
        of.operator_id,
        of.last_error,
        count(of.players_pending),
        count(of.players_overdue)
    );
    Alert::new(Severity::Page, "MotherlodeWalletAway", html! { (told) }).since(of.failing_since_time)
}

fn waiting(changes: &[Change]) -> Option<Alert> {
    let first = changes.first()?;
    let number = match changes.len() {
        1 => "1 change waits for a second actor".to_owned(),
        several => format!("{several} changes wait for a second actor"),
    };
    let told = html! { a href="#changes-waiting-for-a-second-actor" { (number) } "." };
    Some(Alert::new(Severity::Notice, "", told).since(first.propose_time))
}

async fn awards(visit: &Visit, told: &mut Vec<Alert>) -> Result<(), Failure> {
    let kinds = vec![SignificantKind::AwardSetAside.into()];
    let request = ListSignificantEventsRequest { kinds, page_size: 50, ..Default::default() };
    let events = had(visit.api.report().list_significant_events(request).await, told)?.events;
    let mut seen = BTreeSet::new();
    // Events are listed latest first, so the first listed event of a round shows whether its award is still set aside.
    let wait = events.into_iter().filter(|event| seen.insert(event.subject.clone()) && event.after == "set aside");
    told.extend(wait.take(NAMED_MAX.into()).map(|event| {
        let text = html! {
            "An award is set aside, not paid: " (round(visit, &event.subject, Some((event.partition, event.position)))) ", " (event.before) ": " (event.reason)
            ". The award would exceed the maximum balance, and is paid as soon as enough is withdrawn (role wallet). If \
             the round is voided (role support) and the platform approves, the award is cancelled."
        };
        Alert::new(Severity::Ticket, "MotherlodeAwardsWait", text).since(event.time)
    }));
    Ok(())
}

async fn alarming(visit: &Visit, told: &mut Vec<Alert>) -> Result<(), Failure> {
    let kinds = ALARMING.map(|(kind, _)| i32::from(kind)).to_vec();
    let request = ListSignificantEventsRequest { kinds, page_size: NAMED_MAX.into(), ..Default::default() };
    let events = had(visit.api.report().list_significant_events(request).await, told)?.events;
    let since = visit.app.sessions.now_ms() / 1_000 - days::SECONDS;
    let late = events.into_iter().filter(|event| event.time.is_some_and(|time| time.seconds >= since));
    told.extend(late.map(|event| {
        let entry = ALARMING.iter().find(|(kind, _)| *kind == event.kind()).map_or("", |(_, entry)| entry);
        let text = html! {
            (capital(&kind(event.kind()))) ", " (event.subject)
            @if !event.after.is_empty() { ": " (in_units(&event.after)) }
            @if !event.reason.is_empty() { " (" (event.reason) ")" }
            "."
        };
        Alert::new(Severity::Page, entry, text).since(event.time)
    }));
    Ok(())
}

fn had<T: Default>(answer: Result<tonic::Response<T>, Status>, told: &mut Vec<Alert>) -> Result<T, Failure> {
    match answer {
        Ok(answer) => Ok(answer.into_inner()),
        Err(status) if status.code() == Code::Unauthenticated => Err(status.into()),
        Err(status) => {
            told.push(Alert::new(Severity::Ticket, "MotherlodeFailsCalls", html! { (capital(status.message())) "." }));
            Ok(T::default())
        }
    }
}

fn alarms(mut told: Vec<Alert>, now_ms: i64) -> Markup {
    told.sort_by_key(|alert| alert.severity);
    let shown = |alert: &Alert| {
        html! {
            strong class=[(alert.severity == Severity::Page).then_some("bad")] { (format!("{:?}", alert.severity)) } ": " (alert.told)
            @if alert.since.is_some() { " Since " (since(alert.since.as_ref(), now_ms)) "." }
            @if !alert.entry.is_empty() { " " a href={ "/runbook#" (alert.entry) } { "Runbook" } }
        }
    };
    html! {
        section {
            h2 { "Alerts" }
            @if told.is_empty() { p { "None." } }
            @else { div role="status" { ul.notice.alerts { @for alert in &told { li { (shown(alert)) } } } } }
        }
    }
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
                (true, true) => "this process (accepts appends)",
                (true, false) => "this process (refuses appends)",
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
                (course("Rounds per second", &rounds))
                (course("Calls per second", &calls))
                (tile("p50 latency", &time(told.latency_p50_us)))
                (tile("p99 latency", &time(told.latency_p99_us)))
                div.tile {
                    span { "Open rounds" }
                    b { @match own(visit) { Some(path) => a href=(path) { (count(told.open_rounds)) }, None => (count(told.open_rounds)) } }
                }
            }
            h3 { "The last hour and day" }
            (trends::shown(&told, &|graph| list(visit, graph)))
            h3 { "Partitions" }
            (table("Partitions: records behind the log", &head, told.partitions.iter().map(row).collect()))
            (readers(&told.partitions))
            (wallets(&told.wallets, visit.app.sessions.now_ms()))
        }
    })
}

async fn open(visit: &Visit) -> Result<Markup, Failure> {
    let Some(path) = own(visit) else { return Ok(Markup::default()) };
    let operator_id = visit.who().operator.clone();
    let request = ListOpenRoundsRequest { operator_id, page_size: 100, ..Default::default() };
    let answer = match visit.api.spin().list_open_rounds(request).await {
        Ok(answer) => answer.into_inner(),
        Err(status) if status.code() == Code::Unauthenticated => return Err(status.into()),
        Err(_) => return Ok(Markup::default()),
    };
    let more = if answer.next_page_token.is_empty() { "" } else { " or more" };
    let refused = refused(visit).await?;
    Ok(html! {
        div.tiles {
            div.tile { span { "Open rounds" } b { a href=(path) { (count(answer.rounds.len())) (more) } } }
            @if let Some(refused) = refused { div.tile { span { "Refused calls of the last hour" } b { a href=(refusals::path("")) { (count(refused)) } } } }
        }
    })
}

async fn refused(visit: &Visit) -> Result<Option<usize>, Failure> {
    if !visit.may("ListRefusals") {
        return Ok(None);
    }
    let since = visit.app.sessions.now_ms() / 1_000 - HOUR_S;
    match visit.api.report().list_refusals(ListRefusalsRequest::default()).await {
        Ok(answer) => {
            let times = answer.into_inner().calls.into_iter().filter_map(|of| of.time);
            Ok(Some(times.filter(|time| time.seconds >= since).count()))
        }
        Err(status) if status.code() == Code::Unauthenticated => Err(status.into()),
        Err(_) => Ok(None),
    }
}

fn own(visit: &Visit) -> Option<String> {
    let operator = &visit.who().operator;
    (!visit.sees_all() && visit.may("ListOpenRounds")).then(|| format!("/open/{operator}"))
}

fn wallets(all: &[WalletStatus], now_ms: i64) -> Markup {
    let row = |of: &WalletStatus| {
        vec![
            html! { (of.operator_id) },
            html! { @if of.circuit_open { strong.bad { "open" } } @else { "closed" } },
            since(of.failing_since_time.as_ref(), now_ms),
            html! { (of.last_error) },
            html! { (count(of.bets_waiting)) },
            html! { (count(of.players_pending)) },
            html! { (count(of.players_overdue)) },
        ]
    };
    let head = ["Wallet of", "Circuit", "Failing since", "Last error", "Bets waiting", "Players pending", "Overdue"];
    html! {
        @if !all.is_empty() {
            h3 { "Wallets of operators" }
            (table("Wallets of operators", &head, all.iter().map(row).collect()))
        }
    }
}

fn list(visit: &Visit, graph: &str) -> Option<String> {
    match graph.strip_prefix(trends::INCREMENTS) {
        Some(pool) => Some(format!("/jackpots/{pool}")),
        None if ["Rounds", "Stakes", "Wins"].contains(&graph) && visit.may("ListRevenue") => {
            let (from, to) = days::interval(visit.app.sessions.now_ms(), 1, 0);
            Some(query("/reports/revenue", &[("from", &from), ("to", &to)]))
        }
        None if graph == "Refused calls" => Some(refusals::path("")),
        None => Reason::from_name(graph).map(|reason| refusals::path(reason.name())),
    }
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
                html! { @if part.writable { "durable, accepts appends" } @else { strong.bad { "accepts no appends" } } },
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
    fn pl_23_what_is_not_as_it_should_be_is_an_alert_the_gravest_first_with_its_entry_of_the_runbook() {
        assert!(alarms(vec![], 0).into_string().contains("<p>None.</p>"));
        let stopped = Alert::new(Severity::Page, "MotherlodeTakesNoAppends", html! { "Partition 2 takes no appends." });
        let off = Alert::new(Severity::Ticket, "MotherlodeSwitchedOff", html! { "neptune is off." });
        let told = alarms(vec![off, stopped], 0).into_string();
        assert!(told.find("Partition 2") < told.find("neptune is off") && !told.contains("None."), "{told}");
        assert!(told.contains("<a href=\"/runbook#MotherlodeTakesNoAppends\">Runbook</a>"), "{told}");
        let reader = |behind| LogReader { name: "standby b".into(), behind, since_time: None };
        let of = PartitionStatus { readers: vec![reader(2_300), reader(7)], ..PartitionStatus::default() };
        let away_of = WalletStatus {
            operator_id: "bravo".into(),
            last_error: "no answer".into(),
            players_pending: 41,
            next_call_ms: 5_460,
            ..Default::default()
        };
        let told = alarms(vec![away(&away_of)], 0).into_string();
        assert!(
            told.contains("wallet of bravo") && told.contains("no answer. Players with a pending debit or credit: 41;"),
            "{told}"
        );
        assert!(told.contains("Next try: in 6 s."), "{told}");
        let told = alarms(behind(&of), 0).into_string();
        assert!(told.contains("Standby b is 2,300 records behind") && told.matches("<li>").count() == 1, "{told}");
    }

    #[test]
    fn every_alert_has_an_entry_in_the_runbook() {
        let named = include_str!("now.rs")
            .split('"')
            .filter(|text| text.starts_with("Motherlode"))
            .filter(|text| text.len() > 10);
        for entry in named {
            assert!(super::super::runbook::TEXT.contains(&format!("## {entry}\n")), "{entry}");
        }
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
