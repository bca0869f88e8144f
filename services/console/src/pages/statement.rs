//! A player's transactions with the balance after each, which explain the current balance (PL-19).

use super::{
    parts::{self, wide_table},
    player,
};
use crate::{
    failure::Failure,
    fields::query,
    layout,
    text::{money, when, words},
    visit::Visit,
};
use axum::{extract::Path, response::Response};
use maud::{Markup, html};
use motherlode_proto::report::v1::{ListTransactionsRequest, Transaction};

const TRANSACTIONS: i32 = 50;

pub(crate) async fn page(Path((operator, player)): Path<(String, String)>, visit: Visit) -> Result<Response, Failure> {
    let (currency, date, token) = (visit.query.get("currency"), visit.query.get("date"), visit.query.get("page"));
    let request = ListTransactionsRequest {
        operator_id: operator.clone(),
        player_id: player.clone(),
        date: date.to_owned(),
        currency_code: currency.to_owned(),
        page_size: TRANSACTIONS,
        page_token: token.to_owned(),
    };
    let answer = visit.api.report().list_transactions(request).await?.into_inner();
    let path = format!("/player/{operator}/{player}");
    let next = [("currency", currency), ("date", date), ("page", &answer.next_page_token)];
    let rows = answer.transactions.iter().map(|of| row(&visit, of)).collect();
    let content = html! {
        ul.links { li { a href=(query(&path, &[("currency", currency)])) { "Player " (player) } } }
        form.row method="get" {
            p { label for="currency" { "Currency" } input #currency name="currency" value=(currency) maxlength="3" size="4" placeholder="all"; }
            p { label for="date" { "Day in UTC" } input #date type="date" name="date" value=(date); }
            p { button type="submit" { "Show" } }
        }
        @if answer.transactions.is_empty() { p { "No transaction on this page." } }
        @else { (wide_table("Transactions, the latest first", &HEAD, rows)) }
        (player::further(&query(&format!("{path}/statement"), &next), &answer.next_page_token))
    };
    Ok(layout::page(&visit, &format!("Statement of {operator}/{player}"), content).await)
}

const HEAD: [&str; 7] = ["Time", "Kind", "Amount", "Balance after", "Round", "Request", "Position"];

fn row(visit: &Visit, of: &Transaction) -> Vec<Markup> {
    let promotion = of.promotion.as_ref().map(|paid| format!(", {} by the campaign", money(Some(paid))));
    vec![
        when(of.time.as_ref()),
        html! { (words(of.kind().as_str_name(), "KIND_")) (promotion.unwrap_or_default()) },
        html! { (money(of.amount.as_ref())) },
        html! { (money(of.balance.as_ref())) },
        html! { @if !of.round_id.is_empty() { (parts::round(visit, &of.round_id, None)) } },
        html! { (of.request_id) },
        parts::position(visit, of.partition, of.position),
    ]
}
