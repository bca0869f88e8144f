use super::parts::{events as shown, kind};
use crate::{days, document, failure::Failure, fields::query, json, layout, visit::Visit};
use axum::{extract::Path, response::Response};
use maud::{Markup, html};
use motherlode_proto::report::v1::{
    ListReturnsRequest, ListSignificantEventsRequest, SignificantEvent, SignificantKind,
};
use motherlode_tables::{Column, Format, Kind, Rows, Table, TableError, Value, column};
use std::{borrow::Cow, fmt::Write};

const EVENTS: i32 = 50;
const PAGES_MAX: usize = 40;
const ROWS_MAX: usize = 10_000;

const KINDS: [SignificantKind; 17] = [
    SignificantKind::LargeWin,
    SignificantKind::Void,
    SignificantKind::ParameterChanged,
    SignificantKind::Switched,
    SignificantKind::IntegrityFailed,
    SignificantKind::LogVerified,
    SignificantKind::ConfigurationReloaded,
    SignificantKind::ChangeProposed,
    SignificantKind::ChangeRejected,
    SignificantKind::AwardSetAside,
    SignificantKind::ClockSkewed,
    SignificantKind::DrawKeyLost,
    SignificantKind::SealsEnded,
    SignificantKind::WalletOverdue,
    SignificantKind::WalletCallHeld,
    SignificantKind::VoidProposed,
    SignificantKind::IncidentDeclared,
];

fn asked(visit: &Visit) -> Vec<i32> {
    visit.query.number::<i32>("kind").into_iter().filter(|kind| *kind > 0).collect()
}

struct Interval {
    from: i64,
    end: i64,
}

impl Interval {
    fn new(visit: &Visit) -> Result<Self, Failure> {
        let end = days::field(&visit.query, "to")?.map_or(i64::MAX, |begin| begin.saturating_add(days::SECONDS));
        Ok(Self { from: days::field(&visit.query, "from")?.unwrap_or(i64::MIN), end })
    }

    fn has(&self, event: &SignificantEvent) -> bool {
        event.time.is_some_and(|time| (self.from..self.end).contains(&time.seconds))
    }

    fn is_over(&self, events: &[SignificantEvent]) -> bool {
        events.last().and_then(|event| event.time).is_some_and(|time| time.seconds < self.from)
    }
}

async fn found(visit: &Visit, kinds: &[i32], within: &Interval) -> Result<(Vec<SignificantEvent>, String), Failure> {
    let mut page_token = visit.query.get("page").to_owned();
    for _ in 0..PAGES_MAX {
        let request = ListSignificantEventsRequest { kinds: kinds.to_vec(), page_size: EVENTS, page_token };
        let mut answer = visit.api.report().list_significant_events(request).await?.into_inner();
        let over = within.is_over(&answer.events);
        answer.events.retain(|event| within.has(event));
        page_token = if over { String::new() } else { answer.next_page_token };
        if !answer.events.is_empty() || page_token.is_empty() {
            return Ok((answer.events, page_token));
        }
    }
    Ok((vec![], page_token))
}

pub(crate) async fn page(visit: Visit) -> Result<Response, Failure> {
    let kinds = asked(&visit);
    let (events, next) = found(&visit, &kinds, &Interval::new(&visit)?).await?;
    let wanted = ["kind", "from", "to"].map(|name| (name, visit.query.get(name)));
    let file = |path: &str| query(path, &wanted);
    let later = [&wanted[..], &[("page", &next)]].concat();
    let content = html! {
        (money_of_days(&visit))
        section {
            h2 { "Significant events" }
            (offers(&visit))
            form.row method="get" action="/reports" {
                p { label for="kind" { "Kind" }
                    select #kind name="kind" {
                        option value="" { "all" }
                        @for of in KINDS { option value=(i32::from(of)) selected[kinds.contains(&of.into())] { (kind(of)) } }
                    } }
                p { label for="from" { "First day" } input #from type="date" name="from" value=(visit.query.get("from")); }
                p { label for="to" { "Last day" } input #to type="date" name="to" value=(visit.query.get("to")); }
                p { button type="submit" { "Show" } }
            }
            (shown(&visit, &events))
            @if !next.is_empty() { p { a href=(query("/reports", &later)) rel="next" { "Earlier" } } }
            ul.links {
                li { a href=(file("/reports/events.csv")) { "Download these events as CSV" } }
                li { a href=(file("/reports/events.jsonl")) { "Download these events as JSON Lines" } }
                li { a href=(file("/reports/events.parquet")) { "Download these events as Parquet" } }
            }
        }
        section {
            h2 { "Returns by stake" }
            p { "Bets, wins and rounds of every game, version, currency and stake. " a href="/games" { "Games: actual and expected returns" } }
            ul.links {
                li { a href="/reports/returns.csv" { "Download returns as CSV" } }
                li { a href="/reports/returns.jsonl" { "Download returns as JSON Lines" } }
                li { a href="/reports/returns.parquet" { "Download returns as Parquet" } }
            }
        }
    };
    Ok(layout::page(&visit, "Reports", content).await)
}

fn money_of_days(visit: &Visit) -> Markup {
    let now_ms = visit.app.sessions.now_ms();
    let ways = |title: &str, path: &str| {
        html! {
            ul.links {
                @for (name, length, ago) in days::OFFERED {
                    @let (from, to) = days::interval(now_ms, length, ago);
                    li { a href=(query(path, &[("from", &from), ("to", &to)])) { (title) " of " (name.to_lowercase()) } }
                }
                li { a href=(path) { (title) " of any interval" } }
            }
        }
    };
    html! {
        section {
            h2 { "Money" }
            (ways("Revenue", "/reports/revenue"))
            @if visit.may("GetPoolStatement") { (ways("Reconciliation", "/reports/reconciliation")) }
        }
    }
}

fn offers(visit: &Visit) -> Markup {
    const OFFERED: [(&str, SignificantKind); 4] = [
        ("Voids", SignificantKind::Void),
        ("Large wins", SignificantKind::LargeWin),
        ("Switches", SignificantKind::Switched),
        ("Changes proposed", SignificantKind::ChangeProposed),
    ];
    let now_ms = visit.app.sessions.now_ms();
    let link = |name: &str, others: &[(&str, &str)]| {
        let value =
            |name| others.iter().find(|(other, _)| *other == name).map_or(visit.query.get(name), |(_, value)| value);
        let on = others.iter().all(|(name, value)| visit.query.get(name) == *value);
        let path = query("/reports", &["kind", "from", "to"].map(|name| (name, value(name))));
        html! { li { a href=(path) aria-current=[on.then_some("true")] { (name) } } }
    };
    html! {
        ul.links {
            @for (name, kind) in OFFERED { (link(name, &[("kind", &i32::from(kind).to_string())])) }
            (link("All kinds", &[("kind", "")]))
            @for (name, length, ago) in days::OFFERED {
                @let (from, to) = days::interval(now_ms, length, ago);
                (link(name, &[("from", &from), ("to", &to)]))
            }
        }
    }
}

pub(super) fn goes_on(rows: usize, next_page: &str) -> Result<bool, Failure> {
    match next_page.is_empty() {
        true => Ok(false),
        false if rows < ROWS_MAX => Ok(true),
        false => {
            Err(Failure::bad("There are more than 10,000 rows. Choose a shorter interval, or use motherlode export."))
        }
    }
}

pub(crate) async fn events(Path(form): Path<String>, visit: Visit) -> Result<Response, Failure> {
    let (kinds, within) = (asked(&visit), Interval::new(&visit)?);
    let (mut all, mut page_token) = (vec![], String::new());
    loop {
        let request = ListSignificantEventsRequest { kinds: kinds.clone(), page_size: 500, page_token };
        let answer = visit.api.report().list_significant_events(request).await?.into_inner();
        let over = within.is_over(&answer.events);
        all.extend(answer.events.into_iter().filter(|event| within.has(event)));
        page_token = if over { String::new() } else { answer.next_page_token };
        if !goes_on(all.len(), &page_token)? {
            break;
        }
    }
    let name = |event: &SignificantEvent| kind(event.kind());
    table(&form, "significant-events", EVENTS_COLUMNS, "motherlode.report.v1.SignificantEvent", &all, |of, rows| {
        let time = of.time.map(|time| time.seconds * 1_000 + i64::from(time.nanos) / 1_000_000);
        rows.row(&[
            Value::Time(time),
            Value::Text(&name(of)),
            Value::Text(&of.operator_id),
            Value::Text(&safe(&form, &of.subject)),
            Value::Text(&safe(&form, &of.before)),
            Value::Text(&safe(&form, &of.after)),
            Value::Text(&safe(&form, &of.actor)),
            Value::Text(&safe(&form, &of.approver)),
            Value::Text(&safe(&form, &of.reason)),
            Value::Int(of.partition.into()),
            Value::from_number(of.position)?,
            Value::Int(of.number.into()),
        ])
    })
}

pub(crate) async fn returns(Path(form): Path<String>, visit: Visit) -> Result<Response, Failure> {
    let answer = visit.api.report().list_returns(ListReturnsRequest::default()).await?.into_inner();
    table(&form, "returns", RETURNS_COLUMNS, "motherlode.report.v1.Return", &answer.returns, |of, rows| {
        let stake = of.stake.clone().unwrap_or_default();
        rows.row(&[
            Value::Text(&of.game),
            Value::Text(&of.rules_version),
            Value::Text(&of.currency_code),
            Value::Text(&stake.coin_value),
            Value::Int(stake.lines.into()),
            Value::Int(stake.coins_per_line.into()),
            Value::Text(&stake.buy_feature.to_string()),
            Value::from_number(of.rounds)?,
            minor(&of.bets_minor)?,
            minor(&of.wins_minor)?,
            Value::Text(&of.rtp),
            Value::Text(&of.theoretical_rtp),
            Value::Text(&of.out_of_band.to_string()),
        ])
    })
}

pub(super) fn minor(amount: &str) -> Result<Value<'_>, TableError> {
    amount.parse().map(Value::Int).map_err(|_| TableError::Past64Bits)
}

pub(super) fn table<M: prost::Message>(
    form: &str,
    name: &str,
    columns: &'static [Column],
    message: &str,
    all: &[M],
    row: impl Fn(&M, &mut dyn Rows) -> Result<(), TableError>,
) -> Result<Response, Failure> {
    if form == "jsonl" {
        let line = |mut text: String, of: &M| {
            let _ = writeln!(text, "{}", json::value(message, of));
            text
        };
        let text = all.iter().fold(String::new(), line);
        return Ok(document::file("application/x-ndjson; charset=utf-8", &format!("{name}.jsonl"), text));
    }
    file(form, name, columns, all, row)
}

pub(super) fn file<R>(
    form: &str,
    name: &str,
    columns: &'static [Column],
    all: &[R],
    row: impl Fn(&R, &mut dyn Rows) -> Result<(), TableError>,
) -> Result<Response, Failure> {
    let (media_type, format) = match form {
        "csv" => ("text/csv; charset=utf-8", Format::Csv),
        "parquet" => ("application/vnd.apache.parquet", Format::Parquet),
        _ => return Err(Failure::unknown("This table is not available as a file in the requested format.")),
    };
    let mut content = vec![];
    let written = (|| {
        let mut table = Table::new(format, columns, &mut content)?;
        all.iter().try_for_each(|of| row(of, &mut table))?;
        table.end()
    })();
    match written {
        Ok(_) => Ok(document::file(media_type, &format!("{name}.{form}"), content)),
        Err(error) => {
            tracing::error!(%error, name, "failed to write a report");
            Err(Failure::Said(http::StatusCode::INTERNAL_SERVER_ERROR, "The report cannot be written in this format."))
        }
    }
}

/// Escapes text, because a spreadsheet could evaluate it as a formula.
pub(super) fn safe<'a>(form: &str, text: &'a str) -> Cow<'a, str> {
    match form == "csv" && text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        true => format!("'{text}").into(),
        false => text.into(),
    }
}

const EVENTS_COLUMNS: &[Column] = &[
    column("time", Kind::Time),
    column("kind", Kind::Text),
    column("operator_id", Kind::Text),
    column("subject", Kind::Text),
    column("before", Kind::Text),
    column("after", Kind::Text),
    column("actor", Kind::Text),
    column("approver", Kind::Text),
    column("reason", Kind::Text),
    column("partition", Kind::Integer),
    column("position", Kind::Integer),
    column("number", Kind::Integer),
];

const RETURNS_COLUMNS: &[Column] = &[
    column("game", Kind::Text),
    column("rules_version", Kind::Text),
    column("currency_code", Kind::Text),
    column("coin_value", Kind::Text),
    column("lines", Kind::Integer),
    column("coins_per_line", Kind::Integer),
    column("buy_feature", Kind::Text),
    column("rounds", Kind::Integer),
    column("bets_minor", Kind::Integer),
    column("wins_minor", Kind::Integer),
    column("rtp", Kind::Text),
    column("theoretical_rtp", Kind::Text),
    column("out_of_band", Kind::Text),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pl_22_what_was_typed_is_no_formula_to_a_spreadsheet_and_itself_elsewhere() {
        for typed in ["=HYPERLINK(\"x\")", "-1+2", "@a", "+1", "\tx"] {
            assert_eq!(safe("csv", typed), format!("'{typed}"));
            assert_eq!(safe("parquet", typed), typed);
        }
        assert_eq!(safe("csv", "reel 3 stuck"), "reel 3 stuck");
    }

    #[test]
    fn pl_34_a_sum_past_64_bits_is_refused_and_never_cut() {
        assert!(matches!(minor("-120"), Ok(Value::Int(-120))));
        assert!(minor("9223372036854775808").is_err() && minor("").is_err());
    }

    #[test]
    fn pl_34_a_file_is_whole_or_refused() {
        assert!(goes_on(500, "next").unwrap());
        assert!(!goes_on(10_000, "").unwrap(), "exactly the maximum is allowed");
        assert!(goes_on(10_000, "next").is_err());
    }
}
