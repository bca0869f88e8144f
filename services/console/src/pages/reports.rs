//! Reports: significant events and returns, on a page and as files. Made of ListSignificantEvents and ListReturns.

use super::parts::{events as shown, kind};
use crate::{document, failure::Failure, fields::query, json, layout, visit::Visit};
use axum::{extract::Path, response::Response};
use maud::html;
use motherlode_picture::figures;
use motherlode_proto::report::v1::{
    ListReturnsRequest, ListSignificantEventsRequest, Return, SignificantEvent, SignificantKind,
};
use std::fmt::Write;

/// Events on a page.
const EVENTS: i32 = 50;
/// Most rows of a file.
const ROWS_MAX: usize = 10_000;

/// The kinds that can be asked for.
const KINDS: [SignificantKind; 11] = [
    SignificantKind::LargeWin,
    SignificantKind::Void,
    SignificantKind::ParameterChanged,
    SignificantKind::Switched,
    SignificantKind::IntegrityFailed,
    SignificantKind::ChangeProposed,
    SignificantKind::ChangeRejected,
    SignificantKind::AwardSetAside,
    SignificantKind::ClockSkewed,
    SignificantKind::DrawKeyLost,
    SignificantKind::WalletOverdue,
];

fn asked(visit: &Visit) -> Vec<i32> {
    visit.query.number::<i32>("kind").into_iter().filter(|kind| *kind > 0).collect()
}

/// The page.
pub(crate) async fn page(visit: Visit) -> Result<Response, Failure> {
    let kinds = asked(&visit);
    let request = ListSignificantEventsRequest {
        kinds: kinds.clone(),
        page_size: EVENTS,
        page_token: visit.query.get("page").to_owned(),
    };
    let answer = visit.api.report().list_significant_events(request).await?.into_inner();
    let wanted = visit.query.get("kind");
    let file = |path: &str| query(path, &[("kind", wanted)]);
    let content = html! {
        section {
            h2 { "Significant events" }
            form.row method="get" action="/reports" {
                p { label for="kind" { "Kind" }
                    select #kind name="kind" {
                        option value="" { "all" }
                        @for of in KINDS { option value=(i32::from(of)) selected[kinds.contains(&of.into())] { (kind(of)) } }
                    } }
                p { button type="submit" { "Show" } }
            }
            (shown(&visit, &answer.events))
            @if !answer.next_page_token.is_empty() {
                p { a href=(query("/reports", &[("kind", wanted), ("page", &answer.next_page_token)])) rel="next" { "Earlier" } }
            }
            ul.links {
                li { a href=(file("/reports/events.csv")) { "All as CSV" } }
                li { a href=(file("/reports/events.jsonl")) { "All as JSON Lines" } }
            }
        }
        section {
            h2 { "Revenue by day" }
            p { "Bets, wins, jackpots and voids by day, operator, game and currency. " a href="/reports/revenue" { "Revenue of any interval" } }
        }
        section {
            h2 { "Returns by stake" }
            p { "Bets, wins and rounds of every game, version, currency and stake. " a href="/games" { "Against their bands: Games" } }
            ul.links {
                li { a href="/reports/returns.csv" { "Returns as CSV" } }
                li { a href="/reports/returns.jsonl" { "Returns as JSON Lines" } }
            }
        }
    };
    Ok(layout::page(&visit, "Reports", content))
}

/// Whether a file of so many rows has further ones: it's whole or refused, so that nobody takes a part for all.
pub(super) fn goes_on(rows: usize, next_page: &str) -> Result<bool, Failure> {
    match next_page.is_empty() {
        true => Ok(false),
        false if rows < ROWS_MAX => Ok(true),
        false => {
            Err(Failure::bad("There are more than 10,000 rows. Ask for fewer, or export them by motherlode export."))
        }
    }
}

/// Significant events as a file, the latest first.
pub(crate) async fn events(Path(form): Path<String>, visit: Visit) -> Result<Response, Failure> {
    let (kinds, mut all, mut page_token) = (asked(&visit), vec![], String::new());
    loop {
        let request = ListSignificantEventsRequest { kinds: kinds.clone(), page_size: 500, page_token };
        let answer = visit.api.report().list_significant_events(request).await?.into_inner();
        all.extend(answer.events);
        page_token = answer.next_page_token;
        if !goes_on(all.len(), &page_token)? {
            break;
        }
    }
    let head = "time,kind,operator,subject,before,after,actor,approver,reason,partition,position,number";
    let row = |of: &SignificantEvent| {
        row(&[
            &of.time.as_ref().map(figures::time).unwrap_or_default(),
            &kind(of.kind()),
            &of.operator_id,
            &of.subject,
            &of.before,
            &of.after,
            &of.actor,
            &of.approver,
            &of.reason,
            &of.partition.to_string(),
            &of.position.to_string(),
            &of.number.to_string(),
        ])
    };
    file(&form, "significant-events", head, "motherlode.report.v1.SignificantEvent", &all, row)
}

/// Returns by stake as a file.
pub(crate) async fn returns(Path(form): Path<String>, visit: Visit) -> Result<Response, Failure> {
    let answer = visit.api.report().list_returns(ListReturnsRequest::default()).await?.into_inner();
    let head = "game,rules_version,currency,coin_value,lines,coins_per_line,buy_feature,rounds,bets_minor,wins_minor,rtp,theoretical_rtp,out_of_band";
    let row = |of: &Return| {
        let stake = of.stake.clone().unwrap_or_default();
        row(&[
            &of.game,
            &of.rules_version,
            &of.currency_code,
            &stake.coin_value,
            &stake.lines.to_string(),
            &stake.coins_per_line.to_string(),
            &stake.buy_feature.to_string(),
            &of.rounds.to_string(),
            &of.bets_minor,
            &of.wins_minor,
            &of.rtp,
            &of.theoretical_rtp,
            &of.out_of_band.to_string(),
        ])
    };
    file(&form, "returns", head, "motherlode.report.v1.Return", &answer.returns, row)
}

pub(super) fn file<M: prost::Message>(
    form: &str,
    name: &str,
    head: &str,
    message: &str,
    all: &[M],
    row: impl Fn(&M) -> String,
) -> Result<Response, Failure> {
    let (media_type, text) = match form {
        "csv" => ("text/csv; charset=utf-8", [format!("{head}\r\n")].into_iter().chain(all.iter().map(row)).collect()),
        "jsonl" => {
            let line = |text: String, of: &M| {
                let mut text = text;
                // Writing to a string cannot fail.
                let _ = writeln!(text, "{}", json::of(message, of));
                text
            };
            ("application/x-ndjson; charset=utf-8", all.iter().fold(String::new(), line))
        }
        _ => return Err(Failure::unknown("Reports are had as csv and jsonl.")),
    };
    Ok(document::file(media_type, &format!("{name}.{form}"), text))
}

/// A row of CSV (RFC 4180). What a spreadsheet would take for a formula is told as text; a whole number below zero is a number.
pub(super) fn row(cells: &[&str]) -> String {
    let cell = |text: &&str| {
        let number = text
            .strip_prefix('-')
            .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()));
        let formula = !number && text.starts_with(['=', '+', '-', '@', '\t', '\r']);
        let text = if formula { format!("'{text}") } else { (*text).to_owned() };
        match text.contains([',', '"', '\n', '\r']) {
            true => format!("\"{}\"", text.replace('"', "\"\"")),
            false => text,
        }
    };
    cells.iter().map(cell).collect::<Vec<_>>().join(",") + "\r\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pl_22_a_row_of_csv_keeps_what_was_typed_and_runs_nothing() {
        assert_eq!(row(&["a", "b,c", "say \"x\"", "", "1\n2"]), "a,\"b,c\",\"say \"\"x\"\"\",,\"1\n2\"\r\n");
        assert_eq!(row(&["=HYPERLINK(\"x\")", "-1+2", "@a"]), "\"'=HYPERLINK(\"\"x\"\")\",'-1+2,'@a\r\n");
        assert_eq!(row(&["-120", "-", "-1A"]), "-120,'-,'-1A\r\n");
    }

    #[test]
    fn pl_34_a_file_is_whole_or_refused() {
        assert!(goes_on(500, "next").unwrap());
        assert!(!goes_on(10_000, "").unwrap(), "as many as there may be, and no more");
        assert!(goes_on(10_000, "next").is_err());
    }
}
