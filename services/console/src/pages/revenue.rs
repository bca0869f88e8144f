//! Revenue per day, operator, game and currency (PL-34), as a page and as files for download.

use super::{
    parts::{summed_table, texts},
    reports::{self, minor},
};
use crate::{failure::Failure, fields::query, layout, text::count, visit::Visit};
use axum::{extract::Path, response::Response};
use maud::{Markup, html};
use motherlode_picture::figures;
use motherlode_proto::{
    report::v1::{ListRevenueRequest, ListRevenueResponse, Revenue},
    round::v1::Money,
};
use motherlode_tables::{Column, Kind, Value, column};
use std::collections::BTreeMap;

const ROWS: i32 = 100;
const READ: i32 = 500;

async fn rows(visit: &Visit, page_size: i32, page_token: &str) -> Result<ListRevenueResponse, Failure> {
    let field = |name: &str| visit.query.get(name).to_owned();
    let request = ListRevenueRequest {
        operator_id: field("operator"),
        game: field("game"),
        from_date: field("from"),
        to_date: field("to"),
        page_size,
        page_token: page_token.to_owned(),
    };
    Ok(visit.api.report().list_revenue(request).await?.into_inner())
}

pub(crate) async fn page(visit: Visit) -> Result<Response, Failure> {
    let answer = rows(&visit, ROWS, visit.query.get("page")).await?;
    let asked = ["from", "to", "operator", "game"].map(|name| (name, visit.query.get(name)));
    let later = [&asked[..], &[("page", &answer.next_page_token)]].concat();
    let totals = match (visit.query.get("page"), answer.next_page_token.as_str()) {
        ("", "") => sums(&answer.rows),
        _ => sums(&all(&visit).await.unwrap_or_default()),
    };
    let content = html! {
        p { "Each record is counted on the UTC day of its commit: a win on the day of its settlement, and a void on the day of the void. "
            "Revenue is bets less refunds, less wins, plus wins taken back. Jackpots are paid by the pools and are not part of revenue." }
        form.row method="get" action="/reports/revenue" {
            p { label for="from" { "First day" } input #from type="date" name="from" value=(visit.query.get("from")); }
            p { label for="to" { "Last day" } input #to type="date" name="to" value=(visit.query.get("to")); }
            p { label for="operator" { "Operator" } input #operator name="operator" value=(visit.query.get("operator")) placeholder="all"; }
            p { label for="game" { "Game" } input #game name="game" value=(visit.query.get("game")) placeholder="all"; }
            p { button type="submit" { "Show" } }
        }
        (shown(&answer.rows, &totals))
        @if totals.is_empty() && !answer.rows.is_empty() { p.note { "This interval has more than 10,000 rows. To see totals, choose a shorter interval." } }
        p.note { "These figures include the log's records up to position " (count(answer.position)) " of partition 0." }
        @if !answer.next_page_token.is_empty() { p { a href=(query("/reports/revenue", &later)) rel="next" { "Later days" } } }
        ul.links {
            li { a href=(query("/reports/revenue.csv", &asked)) { "Download revenue as CSV" } }
            li { a href=(query("/reports/revenue.jsonl", &asked)) { "Download revenue as JSON Lines" } }
            li { a href=(query("/reports/revenue.parquet", &asked)) { "Download revenue as Parquet" } }
        }
    };
    Ok(layout::page(&visit, "Revenue by day", content).await)
}

fn sums(rows: &[Revenue]) -> Vec<Revenue> {
    let mut sums: BTreeMap<&str, Revenue> = BTreeMap::new();
    for row in rows {
        let named =
            || Revenue { date: "Total".to_owned(), currency_code: row.currency_code.clone(), ..Revenue::default() };
        let sum = sums.entry(&row.currency_code).or_insert_with(named);
        sum.rounds += row.rounds;
        sum.free_rounds += row.free_rounds;
        sum.voided_rounds += row.voided_rounds;
        for (sum, of) in amounts(sum).into_iter().zip(amounts(&mut row.clone())) {
            let minor = |text: &str| text.parse::<i128>().unwrap_or_default();
            *sum = minor(sum).saturating_add(minor(of)).to_string();
        }
    }
    sums.into_values().collect()
}

fn amounts(of: &mut Revenue) -> [&mut String; 8] {
    [
        &mut of.revenue_minor,
        &mut of.bets_minor,
        &mut of.refunds_minor,
        &mut of.wins_minor,
        &mut of.wins_taken_back_minor,
        &mut of.jackpots_minor,
        &mut of.free_bets_minor,
        &mut of.free_bets_returned_minor,
    ]
}

fn shown(rows: &[Revenue], totals: &[Revenue]) -> Markup {
    let row = |of: &Revenue| {
        let cash = |amount: &str| html! { span.cash { (cash(amount, &of.currency_code)) } };
        vec![
            html! { span.cash { (of.date) } },
            html! { (of.operator_id) },
            html! { (of.game) },
            html! { strong { (cash(&of.revenue_minor)) } },
            html! { (count(of.rounds)) },
            html! { (count(of.free_rounds)) },
            html! { (count(of.voided_rounds)) },
            cash(&of.bets_minor),
            cash(&of.refunds_minor),
            cash(&of.wins_minor),
            cash(&of.wins_taken_back_minor),
            cash(&of.jackpots_minor),
            cash(&of.free_bets_minor),
            cash(&of.free_bets_returned_minor),
        ]
    };
    let head = [
        "Day",
        "Operator",
        "Game",
        "Revenue",
        "Rounds",
        "Free rounds",
        "Voided",
        "Bets",
        "Refunds",
        "Wins",
        "Wins taken back",
        "Jackpots",
        "Free bets",
        "Free bets returned",
    ];
    match rows {
        [] => html! { p { "No activity." } },
        rows => summed_table(
            "Revenue by day",
            &texts(&head),
            rows.iter().map(row).collect(),
            totals.iter().map(row).collect(),
        ),
    }
}

/// A sum that exceeds 64 bits is shown as a number of minor units.
fn cash(amount: &str, currency: &str) -> String {
    match amount.parse() {
        Ok(amount_minor) => figures::cash(&Money { amount_minor, currency_code: currency.to_owned() }),
        Err(_) => format!("{} minor units of {currency}", figures::grouped(amount)),
    }
}

async fn all(visit: &Visit) -> Result<Vec<Revenue>, Failure> {
    let (mut all, mut page_token) = (vec![], String::new());
    loop {
        let answer = rows(visit, READ, &page_token).await?;
        all.extend(answer.rows);
        page_token = answer.next_page_token;
        if !reports::goes_on(all.len(), &page_token)? {
            return Ok(all);
        }
    }
}

pub(crate) async fn file(Path(form): Path<String>, visit: Visit) -> Result<Response, Failure> {
    let all = all(&visit).await?;
    reports::table(&form, "revenue", COLUMNS, "motherlode.report.v1.Revenue", &all, |of, rows| {
        rows.row(&[
            Value::Text(&of.date),
            Value::Text(&of.operator_id),
            Value::Text(&of.game),
            Value::Text(&of.currency_code),
            Value::Int(of.currency_digits.into()),
            Value::from_number(of.rounds)?,
            Value::from_number(of.free_rounds)?,
            Value::from_number(of.voided_rounds)?,
            minor(&of.bets_minor)?,
            minor(&of.free_bets_minor)?,
            minor(&of.wins_minor)?,
            minor(&of.jackpots_minor)?,
            minor(&of.refunds_minor)?,
            minor(&of.free_bets_returned_minor)?,
            minor(&of.wins_taken_back_minor)?,
            minor(&of.revenue_minor)?,
        ])
    })
}

const COLUMNS: &[Column] = &[
    column("date", Kind::Date),
    column("operator_id", Kind::Text),
    column("game", Kind::Text),
    column("currency_code", Kind::Text),
    column("currency_digits", Kind::Count),
    column("rounds", Kind::Integer),
    column("free_rounds", Kind::Integer),
    column("voided_rounds", Kind::Integer),
    column("bets_minor", Kind::Integer),
    column("free_bets_minor", Kind::Integer),
    column("wins_minor", Kind::Integer),
    column("jackpots_minor", Kind::Integer),
    column("refunds_minor", Kind::Integer),
    column("free_bets_returned_minor", Kind::Integer),
    column("wins_taken_back_minor", Kind::Integer),
    column("revenue_minor", Kind::Integer),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pl_34_totals_are_by_currency() {
        let row = |currency: &str, rounds, revenue: &str| Revenue {
            currency_code: currency.into(),
            rounds,
            revenue_minor: revenue.into(),
            bets_minor: "100".into(),
            ..Revenue::default()
        };
        let sums = sums(&[row("SEK", 2, "5"), row("EUR", 1, "-20"), row("EUR", 3, "9223372036854775807")]);
        let told: Vec<_> =
            sums.iter().map(|of| (&*of.currency_code, of.rounds, &*of.revenue_minor, &*of.bets_minor)).collect();
        assert_eq!(told, [("EUR", 4, "9223372036854775787", "200"), ("SEK", 2, "5", "100")]);
    }
}
