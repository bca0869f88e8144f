//! Pages of an operator's players in the order of their names (PL-20), and suggestions for the search field.

use super::{
    parts::{summed_table, texts},
    reports,
};
use crate::{
    failure::Failure,
    fields::query,
    live,
    text::{count, money, when},
    visit::Visit,
};
use axum::response::Response;
use maud::{Markup, html};
use motherlode_proto::{
    ledger::v1::{ListPlayersRequest, ListPlayersResponse, ListSwitchesRequest, Player},
    round::v1::Money,
};
use motherlode_runtime::config::PLATFORM;
use motherlode_tables::{Column, Kind, Value, column};
use std::collections::BTreeMap;

const PAGE: i32 = 50;
const SUGGESTED: i32 = 8;
const NEAR: i32 = 10;
const NEAR_READS_MAX: usize = 4;

pub(super) async fn only_operator(visit: &Visit) -> String {
    let answer = visit.api.ledger().list_switches(ListSwitchesRequest {}).await;
    let mut operators = answer.map(|answer| answer.into_inner().operator_ids).unwrap_or_default();
    operators.retain(|operator| operator != PLATFORM);
    if operators.len() == 1 { operators.swap_remove(0) } else { String::new() }
}

pub(super) async fn operator(visit: &Visit) -> String {
    let chosen = visit.query.get("operator");
    if !chosen.is_empty() {
        return chosen.to_owned();
    }
    if visit.sees_all() { only_operator(visit).await } else { visit.who().operator.clone() }
}

async fn list(visit: &Visit, operator: &str, prefix: &str, page_size: i32) -> Result<ListPlayersResponse, Failure> {
    let (operator_id, prefix) = (operator.to_owned(), prefix.to_owned());
    let page_token = visit.query.get("after").to_owned();
    let request = ListPlayersRequest { operator_id, prefix, page_size, page_token };
    Ok(visit.api.ledger().list_players(request).await?.into_inner())
}

/// Returns names that begin with `text`; if none exist, returns names that begin with a shorter prefix of `text`.
pub(super) async fn near(visit: &Visit, operator: &str, text: &str) -> Vec<String> {
    let ends = text.char_indices().map(|(at, letter)| at + letter.len_utf8()).rev();
    for prefix in ends.take(NEAR_READS_MAX).map(|end| &text[..end]) {
        let found = list(visit, operator, prefix, NEAR).await.map(|answer| answer.players).unwrap_or_default();
        if !found.is_empty() {
            return found.into_iter().map(|player| player.player_id).collect();
        }
    }
    vec![]
}

pub(super) fn similar(operator: &str, text: &str, names: &[String]) -> Markup {
    html! {
        @if !names.is_empty() {
            p { "Players with a similar name:" }
            ul.links { @for name in names { li { a href={ "/player/" (operator) "/" (name) } { (name) } } } }
            p { a href=(query("/players", &[("operator", operator), ("prefix", text)])) { "Players whose name begins with " (text) } }
        }
    }
}

pub(crate) async fn suggestions(visit: Visit) -> Result<Response, Failure> {
    let asked = visit.query.get("q");
    let (chosen, prefix) = asked.split_once('/').map_or(("", asked), |(operator, rest)| (operator, rest));
    let own = operator(&visit).await;
    let operator = if chosen.is_empty() { &*own } else { chosen };
    let is_asked = !prefix.is_empty() && !operator.is_empty();
    let found = if is_asked { list(&visit, operator, prefix, SUGGESTED).await?.players } else { vec![] };
    let value = |player: &str| if operator == own { player.to_owned() } else { format!("{operator}/{player}") };
    Ok(live::answer(html! { @for of in &found { option value=(value(&of.player_id)) {} } }))
}

pub(super) async fn shown(visit: &Visit, operator: &str) -> Result<Markup, Failure> {
    let prefix = visit.query.get("prefix");
    let answer = list(visit, operator, prefix, PAGE).await?;
    let path = |after: &str| {
        let all = [("operator", operator), ("prefix", prefix), ("after", after)];
        query("/players", &all.into_iter().filter(|(_, value)| !value.is_empty()).collect::<Vec<_>>())
    };
    let head = texts(&["Player", "Open rounds", "Last bet", "Rounds", "Balances"]);
    let rows = answer.players.iter().map(|of| row(operator, of)).collect();
    Ok(html! {
        @if answer.players.is_empty() { p { "No player's name begins with this text." } }
        @else { (summed_table("Players", &head, rows, vec![total(&answer.players)])) }
        ul.links {
            @if !visit.query.get("after").is_empty() { li { a href=(path("")) { "First players" } } }
            @if !answer.next_page_token.is_empty() { li { a href=(path(&answer.next_page_token)) { "Next players" } } }
        }
    })
}

fn total(players: &[Player]) -> Vec<Markup> {
    let mut sums: BTreeMap<&str, i64> = BTreeMap::new();
    for balance in players.iter().flat_map(|of| &of.balances) {
        let sum = sums.entry(&balance.currency_code).or_default();
        *sum = sum.saturating_add(balance.amount_minor);
    }
    let cash = |(currency, amount_minor): (&str, i64)| {
        money(Some(&Money { amount_minor, currency_code: currency.to_owned() }))
    };
    let balances: Vec<_> = sums.into_iter().map(cash).collect();
    vec![
        html! { "Total of " (count(players.len())) },
        html! { (count(players.iter().map(|of| u64::from(of.open_round_count)).sum::<u64>())) },
        html! {},
        html! { (count(players.iter().map(|of| of.rounds_started).sum::<u64>())) },
        html! { (balances.join(", ")) },
    ]
}

fn row(operator: &str, of: &Player) -> Vec<Markup> {
    let path = format!("/player/{operator}/{}", of.player_id);
    vec![
        html! { a href=(path) { (of.player_id) } },
        html! { @if of.open_round_count > 0 { a href={ (path) "#open-rounds" } { (count(of.open_round_count)) } } @else { "–" } },
        when(of.last_bet_time.as_ref()),
        html! { (count(of.rounds_started)) },
        html! { @for (at, balance) in of.balances.iter().enumerate() { @if at > 0 { ", " } (money(Some(balance))) } },
    ]
}

pub(super) async fn file(visit: &Visit, operator: &str, form: &str) -> Result<Response, Failure> {
    let players = list(visit, operator, visit.query.get("prefix"), PAGE).await?.players;
    let accounts = players.iter().flat_map(|of| of.balances.iter().map(move |balance| (of, balance)));
    reports::file(form, "players", COLUMNS, &accounts.collect::<Vec<_>>(), |(of, balance), table| {
        let last = of.last_bet_time.map(|time| time.seconds * 1_000 + i64::from(time.nanos) / 1_000_000);
        table.row(&[
            Value::Text(&of.player_id),
            Value::Text(&balance.currency_code),
            Value::Int(balance.amount_minor),
            Value::from_number(of.open_round_count)?,
            Value::Time(last),
            Value::from_number(of.rounds_started)?,
        ])
    })
}

const COLUMNS: &[Column] = &[
    column("player", Kind::Text),
    column("currency", Kind::Text),
    column("balance_minor", Kind::Integer),
    column("open_rounds", Kind::Integer),
    column("last_bet", Kind::Time),
    column("rounds", Kind::Integer),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pl_20_a_page_of_players_has_its_totals_by_currency() {
        let of = |open_round_count, rounds_started, balances: &[(&str, i64)]| Player {
            open_round_count,
            rounds_started,
            balances: balances
                .iter()
                .map(|(currency, minor)| Money { amount_minor: *minor, currency_code: (*currency).to_owned() })
                .collect(),
            ..Player::default()
        };
        let players = [of(1, 70, &[("EUR", 905), ("JPY", 9)]), of(2, 3, &[("EUR", 95)])];
        let told = total(&players).into_iter().map(Markup::into_string).collect::<Vec<_>>();
        assert_eq!(told, ["Total of 2", "3", "", "73", "10.00 EUR, 9 JPY"]);
    }
}
