use super::parts::{facts, table};
use crate::{failure::Failure, fields::query, json, layout, live, text::count, visit::Visit};
use axum::{extract::Path, response::Response};
use maud::{Markup, html};
use motherlode_picture::figures;
use motherlode_proto::{
    convert::play::hex,
    ledger::v1::{FollowLogRequest, GetLogStatusRequest, LogRecord, PartitionStatus},
    log::v1::{Commit, Event},
};
use prost::Message;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::time::Duration;

const RECORDS: usize = 25;
const TAIL_S: u32 = 2;
/// Maximum fields per event in a line, each with at most [`WORD_MAX`] characters. The record's own page shows all fields.
const WORDS_MAX: usize = 5;
const WORD_MAX: usize = 32;
const READ_MAX: Duration = Duration::from_secs(5);

pub(crate) async fn page(visit: Visit) -> Result<Response, Failure> {
    let (choose, records) = shown(&visit).await?;
    let content = html! { (choose) (records) };
    Ok(layout::live_page(&visit, "Log", content).await)
}

pub(crate) async fn part(visit: Visit) -> Result<Response, Failure> {
    live::shared(&visit, async { Ok(shown(&visit).await?.1) }).await
}

async fn shown(visit: &Visit) -> Result<(Markup, Markup), Failure> {
    let status = visit.api.ledger().get_log_status(GetLogStatusRequest {}).await?.into_inner();
    let partition = visit.query.number::<u32>("partition").unwrap_or(0);
    let Some(part) = status.partitions.iter().find(|part| part.partition == partition) else {
        return Err(Failure::unknown("This process has not loaded the partition."));
    };
    let end = visit.query.number::<u64>("to").unwrap_or(part.position).min(part.position);
    let after = end.saturating_sub(RECORDS as u64);
    let mut records = read(visit, partition, after, end).await?;
    records.reverse();
    let path = |to: u64| query("/log", &[("partition", &partition.to_string()), ("to", &to.to_string())]);
    let content = html! {
        @if records.is_empty() { p { "No record that you may see between positions " (count(after)) " and " (count(end)) "." } }
        @else { (table("Records, the latest first", &["Position", "Time", "Stream", "Events"], records.iter().map(|record| line(visit, record)).collect())) }
        ul.links {
            @if after > 0 { li { a href=(path(after)) rel="next" { "Earlier" } } }
            @if end < part.position { li { a href=(path(end.saturating_add(RECORDS as u64))) rel="prev" { "Later" } } }
        }
    };
    let tail = query("/live/log", &[("partition", &partition.to_string())]);
    let tail = Some(tail.as_str()).filter(|_| visit.query.get("to").is_empty());
    Ok((choose(&status.partitions, partition, end), live::part(visit, tail, TAIL_S, content)))
}

fn choose(partitions: &[PartitionStatus], partition: u32, end: u64) -> Markup {
    html! {
        form.row method="get" action="/log" {
            p { label for="partition" { "Partition" }
                select #partition name="partition" {
                    @for part in partitions {
                        option value=(part.partition) selected[part.partition == partition] { (part.partition) ", up to " (part.position) }
                    }
                } }
            p { label for="to" { "Up to position" } input #to name="to" inputmode="numeric" value=(end) size="14"; }
            p { button type="submit" { "Show" } }
        }
    }
}

pub(crate) async fn record(Path((partition, position)): Path<(u32, u64)>, visit: Visit) -> Result<Response, Failure> {
    let unknown = || Failure::unknown("There is no such record, or you may not see it.");
    let before = position.checked_sub(1).ok_or_else(unknown)?;
    let status = visit.api.ledger().get_log_status(GetLogStatusRequest {}).await?.into_inner();
    let part = status.partitions.iter().find(|part| part.partition == partition);
    if part.is_none_or(|part| part.position < position) {
        return Err(unknown());
    }
    let found = read(&visit, partition, before, position).await?;
    let record = found.iter().find(|record| record.position == position).ok_or_else(unknown)?;
    let commit = Commit::decode(record.record.as_slice()).unwrap_or_default();
    let told = json::whole("motherlode.log.v1.Commit", &record.record).unwrap_or_default();
    let events: Vec<_> = told["events"].as_array().into_iter().flatten().collect();
    let content = html! {
        (facts(&[
            ("Partition", html! { (partition) }),
            ("Stream", html! { (stream(&visit, &commit.stream)) ", version " (commit.version) }),
            ("Time", html! { (at(commit.time_unix_ms)) }),
            ("Request id", html! { code { (commit.request_id) } }),
            ("Proposed by", proposer(&commit)),
            ("Fingerprint", html! { code { (hex(&commit.fingerprint)) } }),
            ("SHA-256", html! { code { (hex(&Sha256::digest(&record.record))) } }),
            ("Previous record", html! { code { (hex(&commit.previous_hash)) } }),
            ("Bytes", html! { (count(record.record.len())) }),
        ]))
        @for (event, told) in commit.events.iter().zip(events) {
            section { h2 { (kind(event)) } pre.code { (json::pretty(told)) } }
        }
        ul.links {
            @if commit.previous_position > 0 {
                li { a href={ "/log/" (partition) "/" (commit.previous_position) } { "Previous in its stream" } }
            }
            @if before > 0 { li { a href={ "/log/" (partition) "/" (before) } rel="prev" { "Before" } } }
            li { a href={ "/log/" (partition) "/" (position.saturating_add(1)) } rel="next" { "After" } }
        }
    };
    Ok(layout::page(&visit, &format!("Position {position}"), content).await)
}

fn proposer(commit: &Commit) -> Markup {
    match (commit.proposer.as_str(), commit.proposer_roles.as_str()) {
        ("", _) => html! { "the writer's own process" },
        (credential, "") => html! { code { (credential) } ", without roles" },
        (credential, roles) => html! { code { (credential) } ", roles: " (roles) },
    }
}

async fn read(visit: &Visit, partition: u32, after: u64, end: u64) -> Result<Vec<LogRecord>, Failure> {
    let mut records = vec![];
    if after >= end {
        return Ok(records);
    }
    let request = FollowLogRequest { after_position: after, partition };
    let mut answer = visit.api.ledger().follow_log(request).await?.into_inner();
    let reading = async {
        while let Some(told) = answer.message().await? {
            records.extend(told.records.into_iter().filter(|record| record.position <= end));
            if told.sent_position >= end {
                break;
            }
        }
        Ok::<_, Failure>(())
    };
    tokio::time::timeout(READ_MAX, reading).await.map_err(|_| Failure::late())??;
    Ok(records)
}

fn line(visit: &Visit, record: &LogRecord) -> Vec<Markup> {
    let commit = Commit::decode(record.record.as_slice()).unwrap_or_default();
    vec![
        html! { a href={ "/log/" (record.partition) "/" (record.position) } { (count(record.position)) } },
        at(commit.time_unix_ms),
        stream(visit, &commit.stream),
        html! { @for (at, event) in commit.events.iter().enumerate() { @if at > 0 { br; } (words(event)) } },
    ]
}

fn at(unix_ms: i64) -> Markup {
    let time = figures::iso(unix_ms);
    html! { time datetime=(time) { (time) } }
}

fn stream(visit: &Visit, name: &str) -> Markup {
    match name.split_once('/') {
        Some(("player", player)) if !visit.owns(player.split('/').next().unwrap_or_default()) => html! { (player) },
        Some(("player", player)) => html! { a href={ "/player/" (player) } { (player) } },
        Some(("pool", pool)) => html! { "pool " a href={ "/jackpots/" (pool) } { (pool) } },
        _ => html! { (name) },
    }
}

fn kind(event: &Event) -> String {
    named(event).0
}

fn words(event: &Event) -> Markup {
    let (kind, fields) = named(event);
    let short = |(name, value): (&String, &Value)| {
        let value = match value {
            Value::String(text) if !text.is_empty() && text.len() <= WORD_MAX => text.clone(),
            Value::Number(number) => number.to_string(),
            // A switch is shown as on or off; any other flag is shown only if it is set.
            Value::Bool(is) if name == "on" => return Some(if *is { "on" } else { "off" }.to_owned()),
            Value::Bool(true) => return Some(name.replace('_', " ")),
            _ => return None,
        };
        Some(format!("{} {value}", name.replace('_', " ")))
    };
    let told: Vec<_> = fields.as_object().into_iter().flatten().filter_map(short).take(WORDS_MAX).collect();
    html! { (kind) @if !told.is_empty() { span.soft { ": " (told.join(", ")) } } }
}

fn named(event: &Event) -> (String, Value) {
    let told = json::whole("motherlode.log.v1.Event", &event.encode_to_vec()).unwrap_or_default();
    match told.as_object().and_then(|fields| fields.iter().next()) {
        Some((name, fields)) => (name.replace('_', " "), fields.clone()),
        None => ("unknown".to_owned(), Value::Null),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motherlode_proto::log::v1::{Deposited, event};

    #[test]
    fn pl_30_an_event_is_told_in_a_line_of_words() {
        let deposited = Deposited { currency: "EUR".into(), amount: 500 };
        let event = Event { kind: Some(event::Kind::Deposited(deposited)) };
        let told = words(&event).into_string();
        assert_eq!(told, "deposited<span class=\"soft\">: amount 500, currency EUR</span>");
        assert_eq!(words(&Event::default()).into_string(), "unknown");
    }
}
