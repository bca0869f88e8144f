use super::{
    parts::{self, wide_table},
    reports,
};
use crate::{
    days,
    failure::Failure,
    fields::query,
    layout,
    text::{money, when, words},
    visit::Visit,
};
use axum::{extract::Path, response::Response};
use maud::{Markup, html};
use motherlode_proto::{
    report::v1::{ListTransactionsRequest, ListTransactionsResponse, Transaction},
    round::v1::Money,
};
use motherlode_tables::{Column, Kind, Value, column};

const TRANSACTIONS: i32 = 50;

const FILTERS: [&str; 2] = ["currency", "date"];

async fn read(visit: &Visit, operator: &str, player: &str) -> Result<ListTransactionsResponse, Failure> {
    let get = |name: &str| visit.query.get(name).to_owned();
    let request = ListTransactionsRequest {
        operator_id: operator.to_owned(),
        player_id: player.to_owned(),
        date: get("date"),
        currency_code: get("currency"),
        page_size: TRANSACTIONS,
        page_token: get("page"),
    };
    Ok(visit.api.report().list_transactions(request).await?.into_inner())
}

pub(crate) async fn page(Path((operator, player)): Path<(String, String)>, visit: Visit) -> Result<Response, Failure> {
    let answer = read(&visit, &operator, &player).await?;
    let (currency, date) = (visit.query.get("currency"), visit.query.get("date"));
    let (path, statement) = (format!("/player/{operator}/{player}"), format!("/player/{operator}/{player}/statement"));
    let filters = FILTERS.map(|name| (name, visit.query.get(name)));
    let with = |page: &str, token: &str| query(page, &[&filters[..], &[("page", token)]].concat());
    let file = |form: &str| with(&format!("{statement}.{form}"), visit.query.get("page"));
    let rows = answer.transactions.iter().map(|of| row(&visit, &format!("{operator}/{player}"), of)).collect();
    let days = days::OFFERED.iter().filter(|(_, length, _)| *length == 1);
    let content = html! {
        ul.links {
            li { a href=(query(&path, &[("currency", currency)])) { "Player " (player) } }
            @for (name, length, ago) in days {
                @let day = days::interval(visit.app.sessions.now_ms(), *length, *ago).0;
                li { a href=(query(&statement, &[("currency", currency), ("date", &day)])) { (name) } }
            }
        }
        form.row method="get" {
            p { label for="currency" { "Currency" } input #currency name="currency" value=(currency) maxlength="3" size="4" placeholder="all"; }
            p { label for="date" { "Day in UTC" } input #date type="date" name="date" value=(date); }
            p { button type="submit" { "Show" } }
        }
        @if answer.transactions.is_empty() { p { "No transaction on this page." } }
        @else {
            (wide_table("Transactions, the latest first", &HEAD, rows))
            ul.links {
                li { a href=(file("csv")) { "Download transactions as CSV" } }
                li { a href=(file("parquet")) { "Download transactions as Parquet" } }
            }
        }
        (parts::further(&with(&statement, &answer.next_page_token), &answer.next_page_token))
    };
    Ok(layout::page(&visit, &format!("Statement of {operator}/{player}"), content).await)
}

pub(crate) async fn file(
    Path((operator, player, form)): Path<(String, String, String)>,
    visit: Visit,
) -> Result<Response, Failure> {
    let all = read(&visit, &operator, &player).await?.transactions;
    reports::table(&form, "statement", COLUMNS, "motherlode.report.v1.Transaction", &all, |of, rows| {
        let amount = |money: Option<&Money>| Value::Int(money.map_or(0, |money| money.amount_minor));
        rows.row(&[
            Value::Time(of.time.map(|time| time.seconds * 1_000 + i64::from(time.nanos) / 1_000_000)),
            Value::Text(&words(of.kind().as_str_name(), "KIND_")),
            Value::Text(of.account.as_ref().map_or("", |account| &account.currency_code)),
            amount(of.amount.as_ref()),
            amount(of.balance.as_ref()),
            Value::Text(&of.round_id),
            Value::Text(&reports::safe(&form, &of.request_id)),
            Value::Int(of.partition.into()),
            Value::from_number(of.position)?,
        ])
    })
}

const COLUMNS: &[Column] = &[
    column("time", Kind::Time),
    column("kind", Kind::Text),
    column("currency_code", Kind::Text),
    column("amount_minor", Kind::Integer),
    column("balance_minor", Kind::Integer),
    column("round_id", Kind::Text),
    column("request_id", Kind::Text),
    column("partition", Kind::Integer),
    column("position", Kind::Integer),
];

const HEAD: [&str; 7] = ["Time", "Kind", "Amount", "Balance after", "Round", "Request", "Position"];

fn row(visit: &Visit, player: &str, of: &Transaction) -> Vec<Markup> {
    let promotion = of.promotion.as_ref().map(|paid| format!(", {} of it paid by the campaign", money(Some(paid))));
    let currency = of.account.as_ref().map_or("", |account| &account.currency_code);
    vec![
        when(of.time.as_ref()),
        html! { (words(of.kind().as_str_name(), "KIND_")) (promotion.unwrap_or_default()) },
        html! { (money(of.amount.as_ref())) },
        html! { (money(of.balance.as_ref())) },
        html! { @if !of.round_id.is_empty() { (parts::round(visit, &of.round_id, None)) } },
        html! { @if !of.request_id.is_empty() { a href=(query("/find", &[("q", &format!("{player} {}", of.request_id)), ("currency", currency)])) { (of.request_id) } } },
        parts::position(visit, of.partition, of.position),
    ]
}
