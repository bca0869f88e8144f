use super::{
    parts::{facts, table},
    reports,
};
use crate::{
    days,
    failure::{Failure, capital},
    fields::query,
    json, layout, live,
    text::count,
    visit::Visit,
};
use axum::{extract::Path, response::Response};
use maud::{Markup, html};
use motherlode_picture::{
    event::{EventText, currency, describe, kinds},
    figures,
};
use motherlode_proto::{
    convert::play::hex,
    ledger::v1::{FollowLogRequest, GetLogStatusRequest, LogRecord, PartitionStatus},
    log::v1::{Commit, Event},
};
use motherlode_tables::{Column, Kind, Value, column};
use prost::Message;
use sha2::{Digest, Sha256};
use std::time::Duration;

const RECORDS: usize = 25;
/// Number of records per call of a search; [`READS_MAX`] limits the number of calls.
const SEARCHED: usize = 500;
const READS_MAX: usize = 20;
const LONG: usize = 160;
const EARLIER: usize = 3;
const TAIL_S: u32 = 2;
/// Maximum number of fields that the list shows per event; values longer than [`WORD_MAX`] are omitted.
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

const FILTERS: [&str; 4] = ["stream", "kind", "from", "until"];

struct Filter<'a> {
    sees_some: bool,
    stream: &'a str,
    kind: String,
    from_ms: i64,
    end_ms: i64,
}

impl<'a> Filter<'a> {
    fn new(visit: &'a Visit) -> Result<Self, Failure> {
        let day = |name: &str| days::field(&visit.query, name);
        let end = day("until")?.map_or(i64::MAX, |begin| (begin + days::SECONDS).saturating_mul(1_000));
        let from = day("from")?.map_or(i64::MIN, |begin| begin.saturating_mul(1_000));
        let kind = visit.query.get("kind").replace('_', " ");
        Ok(Self { sees_some: !visit.sees_all(), stream: visit.query.get("stream"), kind, from_ms: from, end_ms: end })
    }

    fn is_set(&self) -> bool {
        self.sees_some
            || !self.stream.is_empty()
            || !self.kind.is_empty()
            || (self.from_ms, self.end_ms) != (i64::MIN, i64::MAX)
    }

    fn has(&self, commit: &Commit) -> bool {
        (self.stream.is_empty() || commit.stream.contains(self.stream))
            && (self.kind.is_empty() || commit.events.iter().any(|event| describe(event, "").kind == self.kind))
            && (self.from_ms..self.end_ms).contains(&commit.time_unix_ms)
    }

    async fn read(&self, visit: &Visit, partition: u32, end: u64) -> Result<(Vec<LogRecord>, u64), Failure> {
        let step = if self.is_set() { SEARCHED } else { RECORDS };
        let (mut found, mut at) = (vec![], end);
        for _ in 0..READS_MAX {
            let after = at.saturating_sub(step as u64);
            for record in read(visit, partition, after, at).await?.into_iter().rev() {
                let commit = Commit::decode(record.record.as_slice()).unwrap_or_default();
                if commit.time_unix_ms < self.from_ms {
                    return Ok((found, 0));
                }
                if !self.is_set() || self.has(&commit) {
                    at = record.position.saturating_sub(1);
                    found.push(record);
                }
                if self.is_set() && found.len() >= RECORDS {
                    return Ok((found, at));
                }
            }
            at = after;
            if at == 0 || !self.is_set() {
                break;
            }
        }
        Ok((found, at))
    }
}

struct Found {
    partitions: Vec<PartitionStatus>,
    partition: u32,
    last: u64,
    end: u64,
    after: u64,
    records: Vec<LogRecord>,
}

async fn found(visit: &Visit, filter: &Filter<'_>) -> Result<Found, Failure> {
    let partitions = visit.api.ledger().get_log_status(GetLogStatusRequest {}).await?.into_inner().partitions;
    let partition = visit.query.number::<u32>("partition").unwrap_or(0);
    let Some(last) = partitions.iter().find(|part| part.partition == partition).map(|part| part.position) else {
        return Err(Failure::unknown("This process has not loaded the partition."));
    };
    let end = visit.query.number::<u64>("to").unwrap_or(last).min(last);
    let (records, after) = filter.read(visit, partition, end).await?;
    Ok(Found { partitions, partition, last, end, after, records })
}

async fn shown(visit: &Visit) -> Result<(Markup, Markup), Failure> {
    let filter = Filter::new(visit)?;
    let Found { partitions, partition, last, end, after, records } = found(visit, &filter).await?;
    let path = |page: &str, to: &str| {
        let filters = FILTERS.map(|name| (name, visit.query.get(name)));
        query(page, &[&[("partition", &*partition.to_string()), ("to", to)], &filters[..]].concat())
    };
    let content = html! {
        @if records.is_empty() { p { (format!("No matching record between positions {} and {} is visible to you.", count(after), count(end))) } }
        @else { (table("Records, the latest first", &["Position", "Time", "Stream", "Events"], records.iter().map(|record| line(visit, record)).collect())) }
        ul.links {
            @if after > 0 { li { a href=(path("/log", &after.to_string())) rel="next" { "Earlier" } } }
            @if end < last && !filter.is_set() { li { a href=(path("/log", &end.saturating_add(RECORDS as u64).to_string())) rel="prev" { "Later" } } }
            @if end < last { li { a href=(path("/log", "")) { "Latest" } } }
            @if !records.is_empty() {
                li { a href=(path("/log.csv", &end.to_string())) { "Download records as CSV" } }
                li { a href=(path("/log.parquet", &end.to_string())) { "Download records as Parquet" } }
            }
        }
    };
    let tail = path("/live/log", "");
    let tail = Some(tail.as_str()).filter(|_| visit.query.get("to").is_empty());
    Ok((choose(visit, &partitions, partition), live::part(visit, tail, TAIL_S, content)))
}

fn choose(visit: &Visit, partitions: &[PartitionStatus], partition: u32) -> Markup {
    let get = |name: &str| visit.query.get(name);
    html! {
        form.row method="get" action="/log" {
            p { label for="partition" { "Partition" }
                select #partition name="partition" {
                    @for part in partitions {
                        option value=(part.partition) selected[part.partition == partition] { (part.partition) ", up to " (part.position) }
                    }
                } }
            p { label for="stream" { "Stream contains" } input #stream name="stream" value=(get("stream")) maxlength="140" size="20" placeholder="player/operator/name"; }
            p { label for="kind" { "Event" }
                select #kind name="kind" {
                    option value="" { "all" }
                    @for name in kinds() { option value=(name) selected[name == get("kind")] { (name.replace('_', " ")) } }
                } }
            p { label for="from" { "First day" } input #from type="date" name="from" value=(get("from")); }
            p { label for="until" { "Last day" } input #until type="date" name="until" value=(get("until")); }
            p { label for="to" { "Up to position" } input #to name="to" inputmode="numeric" value=(get("to")) size="10" placeholder="end"; }
            p { button type="submit" { "Show" } }
        }
    }
}

pub(crate) async fn file(Path(form): Path<String>, visit: Visit) -> Result<Response, Failure> {
    let records = found(&visit, &Filter::new(&visit)?).await?.records;
    reports::table(&form, "log", COLUMNS, "motherlode.ledger.v1.LogRecord", &records, |record, rows| {
        let commit = Commit::decode(record.record.as_slice()).unwrap_or_default();
        let kinds: Vec<_> = commit.events.iter().map(|event| describe(event, "").kind).collect();
        let safe = |text| reports::safe(&form, text);
        rows.row(&[
            Value::Int(record.partition.into()),
            Value::from_number(record.position)?,
            Value::Time(Some(commit.time_unix_ms)),
            Value::Text(&safe(&commit.stream)),
            Value::Text(&safe(&commit.request_id)),
            Value::Text(&kinds.join(", ")),
            Value::Text(&hex(&Sha256::digest(&record.record))),
        ])
    })
}

const COLUMNS: &[Column] = &[
    column("partition", Kind::Integer),
    column("position", Kind::Integer),
    column("time", Kind::Time),
    column("stream", Kind::Text),
    column("request_id", Kind::Text),
    column("events", Kind::Text),
    column("sha256", Kind::Text),
];

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
    let raw = json::whole("motherlode.log.v1.Commit", &record.record).unwrap_or_default();
    let earlier = earlier(&visit, partition, &commit).await?;
    let content = html! {
        (facts(&[
            ("Stream", html! { (stream(&visit, &commit.stream)) ", version " (commit.version) ", partition " (partition) }),
            ("Time", html! { (at(commit.time_unix_ms)) }),
            ("Request id", html! { code { (commit.request_id) } }),
            ("Proposed by", proposer(&commit)),
            ("SHA-256", html! { code { (hex(&Sha256::digest(&record.record))) } }),
        ]))
        @if !earlier.is_empty() {
            section { h2 { "Earlier records of the same stream" }
                (table("Earlier records of the same stream", &["Position", "Time", "Stream", "Events"], earlier.iter().map(|record| line(&visit, record)).collect())) }
        }
        @for event in &commit.events { (in_words(describe(event, currency(&commit)))) }
        section {
            h2 { "As stored" }
            (facts(&[
                ("Record before", html! { code { (hex(&commit.previous_hash)) } }),
                ("Fingerprint", html! { code { (hex(&commit.fingerprint)) } }),
                ("Bytes", html! { (count(record.record.len())) }),
            ]))
            details { summary { "Raw" } @for event in raw["events"].as_array().into_iter().flatten() { pre.code { (json::pretty(event)) } } }
        }
        ul.links {
            @if commit.previous_position > 0 {
                li { a href={ "/log/" (partition) "/" (commit.previous_position) } { "Previous record of the same stream" } }
            }
            @if before > 0 { li { a href={ "/log/" (partition) "/" (before) } rel="prev" { "Before" } } }
            li { a href={ "/log/" (partition) "/" (position.saturating_add(1)) } rel="next" { "After" } }
        }
    };
    Ok(layout::page(&visit, &format!("Position {position}"), content).await)
}

async fn earlier(visit: &Visit, partition: u32, commit: &Commit) -> Result<Vec<LogRecord>, Failure> {
    let (mut found, mut next) = (vec![], commit.previous_position);
    while next > 0 && found.len() < EARLIER {
        let Some(record) = read(visit, partition, next - 1, next).await?.pop() else { break };
        next = Commit::decode(record.record.as_slice()).unwrap_or_default().previous_position;
        found.push(record);
    }
    Ok(found)
}

fn in_words(event: EventText) -> Markup {
    let shown = |value: &str| match value.len() {
        0..=LONG => html! { (value) },
        length => html! { details { summary { (count(length)) " characters" } (value) } },
    };
    let fields: Vec<_> = event.fields.iter().map(|(name, value)| (name.as_str(), shown(value))).collect();
    html! { section { h2 { (capital(&event.kind)) } (facts(&fields)) } }
}

fn proposer(commit: &Commit) -> Markup {
    match (commit.proposer.as_str(), commit.proposer_roles.as_str()) {
        ("", _) => html! { "the process that writes the log" },
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
        html! { @for (at, event) in commit.events.iter().enumerate() { @if at > 0 { br; } (words(event, currency(&commit))) } },
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

fn words(event: &Event, currency: &str) -> Markup {
    let EventText { kind, fields } = describe(event, currency);
    let short =
        fields.into_iter().filter(|(_, value)| !value.is_empty() && value.len() <= WORD_MAX && !value.starts_with('('));
    let told: Vec<_> = short.map(|(name, value)| format!("{name} {value}")).take(WORDS_MAX).collect();
    html! { (kind) @if !told.is_empty() { span.soft { ": " (told.join(", ")) } } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motherlode_proto::log::v1::{Deposited, event};

    #[test]
    fn pl_30_an_event_is_told_in_a_line_of_words() {
        let deposited = Deposited { currency_code: "EUR".into(), amount: 500 };
        let event = Event { kind: Some(event::Kind::Deposited(deposited)) };
        let told = words(&event, "").into_string();
        assert_eq!(told, "deposited<span class=\"soft\">: currency EUR, amount 5.00 EUR</span>");
        assert_eq!(words(&Event::default(), "").into_string(), "unknown");
    }
}
