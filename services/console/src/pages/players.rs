//! Lists an operator's players with transactions on a day (PL-34); the shown rows can be downloaded. Without a day, the
//! page lists [all players](super::player_names).

use super::{
    parts::{sorted_by, summed_table},
    player_names, reports,
};
use crate::{
    days,
    failure::Failure,
    fields::query,
    layout,
    pages::player_names::operator,
    text::{count, money, when},
    visit::Visit,
};
use axum::{extract::Path, response::Response};
use maud::{Markup, html};
use motherlode_proto::{
    ledger::v1::ListSwitchesRequest,
    report::v1::{ListTransactionsRequest, Transaction, transaction::Kind as Of},
    round::v1::Money,
};
use motherlode_tables::{Column, Kind, Value, column};
use prost_types::Timestamp;
use std::{cmp::Reverse, collections::BTreeMap};

const READ: i32 = 500;
const READS_MAX: usize = 20;
const SHOWN: usize = 100;
/// In the list of all players, `after` is a page token; in the list of a day, the number of players before the page.
const FILTERS: [&str; 5] = ["operator", "prefix", "day", "sort", "after"];
const NAME: &str = "name";
const SORTS: [(&str, &str); 5] = [
    (NAME, "Name, all players"),
    ("active", "Latest activity of a day"),
    ("net", "Net result of a day"),
    ("rounds", "Rounds of a day"),
    ("balance", "Balance at the end of a day"),
];

#[derive(Debug, Default, Clone, PartialEq)]
struct Active {
    player: String,
    currency: String,
    last: Option<Timestamp>,
    rounds: u64,
    /// Wins, jackpots and refunds, minus bets and the wins that voids took back.
    net_minor: i64,
    balance: Option<Money>,
}

async fn read(visit: &Visit, date: &str) -> Result<(Vec<Transaction>, bool), Failure> {
    let (operator_id, mut page_token, mut all) = (operator(visit).await, String::new(), vec![]);
    for _ in 0..READS_MAX {
        let (operator_id, date) = (operator_id.clone(), date.to_owned());
        let request = ListTransactionsRequest { operator_id, date, page_size: READ, page_token, ..Default::default() };
        let answer = visit.api.report().list_transactions(request).await?.into_inner();
        all.extend(answer.transactions);
        page_token = answer.next_page_token;
        if page_token.is_empty() {
            return Ok((all, true));
        }
    }
    Ok((all, false))
}

fn lists_all(visit: &Visit) -> bool {
    visit.query.get("day").is_empty() && ["", NAME].contains(&visit.query.get("sort"))
}

fn active(all: &[Transaction], prefix: &str) -> Vec<Active> {
    let mut players: BTreeMap<(String, String), Active> = BTreeMap::new();
    for of in all {
        let account = of.account.clone().unwrap_or_default();
        if !account.player_id.starts_with(prefix) {
            continue;
        }
        let (player, currency) = (account.player_id, account.currency_code);
        let new = || Active { player: player.clone(), currency: currency.clone(), ..Active::default() };
        let row = players.entry((player.clone(), currency.clone())).or_insert_with(new);
        if row
            .last
            .is_none_or(|last| of.time.is_some_and(|time| (time.seconds, time.nanos) > (last.seconds, last.nanos)))
        {
            (row.last, row.balance) = (of.time, of.balance.clone());
        }
        row.rounds += u64::from(matches!(of.kind(), Of::Bet | Of::FreeBet));
        if matches!(of.kind(), Of::Bet | Of::Win | Of::Jackpot | Of::Refund | Of::WinTakenBack) {
            let amount = of.amount.as_ref().map_or(0, |amount| amount.amount_minor);
            row.net_minor = row.net_minor.saturating_add(amount);
        }
    }
    players.into_values().collect()
}

async fn rows(visit: &Visit) -> Result<(Vec<Active>, bool), Failure> {
    let today = days::interval(visit.app.sessions.now_ms(), 1, 0).0;
    let day = Some(visit.query.get("day")).filter(|day| !day.is_empty()).unwrap_or(&today);
    days::begin(day)?;
    let (all, whole) = read(visit, day).await?;
    let mut rows = active(&all, visit.query.get("prefix"));
    match visit.query.get("sort") {
        NAME => {}
        "net" => rows.sort_by_key(|of| Reverse(of.net_minor)),
        "rounds" => rows.sort_by_key(|of| Reverse(of.rounds)),
        "balance" => rows.sort_by_key(|of| Reverse(of.balance.as_ref().map_or(0, |balance| balance.amount_minor))),
        _ => rows.sort_by_key(|of| Reverse(of.last.map(|time| (time.seconds, time.nanos)))),
    }
    Ok((rows, whole))
}

fn shown_part<'a>(visit: &Visit, rows: &'a [Active]) -> (usize, &'a [Active]) {
    let first = visit.query.number::<usize>("after").unwrap_or(0).min(rows.len());
    let rest = rows.get(first..).unwrap_or_default();
    (first, rest.get(..SHOWN).unwrap_or(rest))
}

pub(crate) async fn page(visit: Visit) -> Result<Response, Failure> {
    let operator = operator(&visit).await;
    if operator.is_empty() {
        return choose_operator(&visit, "Players", "/players").await;
    }
    if !visit.owns(&operator) {
        return Err(Failure::unknown("There is no such operator."));
    }
    let content = html! {
        (choose(&visit))
        @if lists_all(&visit) { (player_names::shown(&visit, &operator).await?) } @else { (day(&visit, &operator).await?) }
        (ways(&visit, &operator))
    };
    Ok(layout::page(&visit, "Players", content).await)
}

fn ways(visit: &Visit, operator: &str) -> Markup {
    let asked = FILTERS.map(|name| (name, visit.query.get(name)));
    html! {
        ul.links {
            @if visit.may("ListOperatorRounds") { li { a href=(query("/rounds", &[("operator", operator)])) { "Rounds of all players" } } }
            @if visit.may("ListOpenRounds") { li { a href={ "/open/" (operator) } { "Open rounds" } } }
            li { a href=(query("/players.csv", &asked)) { "Download players as CSV" } }
            li { a href=(query("/players.parquet", &asked)) { "Download players as Parquet" } }
        }
    }
}

async fn day(visit: &Visit, operator: &str) -> Result<Markup, Failure> {
    let (rows, whole) = rows(visit).await?;
    Ok(html! {
        @if !whole { p.notice { "The day has more transactions than this page reads: the list has only the players of the day's latest transactions." } }
        @if rows.is_empty() { p { "No player has a transaction on this day." } }
        @else { (part(visit, operator, &rows)) }
    })
}

fn part(visit: &Visit, operator: &str, rows: &[Active]) -> Markup {
    let (first, part) = shown_part(visit, rows);
    let end = first + part.len();
    let path = |others: &[(&str, &str)]| {
        let value = |name: &str| {
            others.iter().find(|(other, _)| *other == name).map_or(visit.query.get(name), |(_, value)| value)
        };
        query("/players", &FILTERS.map(|name| (name, value(name))))
    };
    let today = days::interval(visit.app.sessions.now_ms(), 1, 0).0;
    let day = Some(visit.query.get("day")).filter(|day| !day.is_empty()).unwrap_or(&today);
    let sorted = |name: &str, by: &str| {
        let on = visit.query.get("sort") == by || (by == "active" && visit.query.get("sort").is_empty());
        sorted_by(name, &path(&[("day", day), ("sort", by), ("after", "")]), on)
    };
    let head = [
        sorted("Player", NAME),
        sorted("Last active", "active"),
        sorted("Rounds", "rounds"),
        sorted("Wins minus bets", "net"),
        sorted("Balance after", "balance"),
    ];
    html! {
        (shown(operator, &head, part))
        ul.links {
            @if first > 0 { li { a href=(path(&[("after", "")])) { "First players" } } }
            @if end < rows.len() { li { a href=(path(&[("after", &end.to_string())])) rel="next" { "Next players" } } }
            @if part.len() < rows.len() { li { "Players " (count(first + 1)) " to " (count(end)) " of " (count(rows.len())) } }
        }
    }
}

pub(super) async fn choose_operator(visit: &Visit, title: &str, path: &str) -> Result<Response, Failure> {
    let operators = visit.api.ledger().list_switches(ListSwitchesRequest {}).await?.into_inner().operator_ids;
    let content = html! {
        p { (format!("The list shows the {} of one operator and is visible only to that operator's credentials.", title.to_lowercase())) }
        ul.links { @for operator in operators.iter().filter(|operator| visit.owns(operator)) { li { a href=(query(path, &[("operator", operator)])) { (operator) } } } }
    };
    Ok(layout::page(visit, title, content).await)
}

fn choose(visit: &Visit) -> Markup {
    let now_ms = visit.app.sessions.now_ms();
    let [operator, prefix, sort] = ["operator", "prefix", "sort"].map(|name| visit.query.get(name));
    let days = days::OFFERED.iter().filter(|(_, length, _)| *length == 1);
    html! {
        ul.links {
            li { a href=(query("/players", &[("operator", operator), ("prefix", prefix)])) { "All players" } }
            @for (name, length, ago) in days {
                @let day = days::interval(now_ms, *length, *ago).0;
                li { a href=(query("/players", &[("operator", operator), ("day", &day), ("prefix", prefix), ("sort", sort)])) { (name) } }
            }
        }
        form.row method="get" action="/players" {
            input type="hidden" name="operator" value=(operator);
            p { label for="prefix" { "Name begins with" } input #prefix name="prefix" value=(prefix) maxlength="64" spellcheck="false" autocomplete="off"; }
            p { label for="day" { "Day in UTC" } input #day type="date" name="day" value=(visit.query.get("day")); }
            p { label for="sort" { "Order" }
                select #sort name="sort" { @for (value, name) in SORTS { option value=(value) selected[value == sort] { (name) } } } }
            p { button type="submit" { "Show" } }
        }
    }
}

fn shown(operator: &str, head: &[Markup], rows: &[Active]) -> Markup {
    let cash = |amount_minor, currency: &str| money(Some(&Money { amount_minor, currency_code: currency.to_owned() }));
    let row = |of: &Active| {
        let path = query(&format!("/player/{operator}/{}", of.player), &[("currency", &of.currency)]);
        vec![
            html! { a href=(path) { (of.player) } },
            when(of.last.as_ref()),
            html! { (count(of.rounds)) },
            html! { (cash(of.net_minor, &of.currency)) },
            html! { (money(of.balance.as_ref())) },
        ]
    };
    let mut sums: BTreeMap<&str, (usize, u64, i64)> = BTreeMap::new();
    for of in rows {
        let sum = sums.entry(&of.currency).or_default();
        *sum = (sum.0 + 1, sum.1 + of.rounds, sum.2.saturating_add(of.net_minor));
    }
    let total = |(currency, (players, rounds, net)): (&str, (usize, u64, i64))| {
        vec![
            html! { "Total of " (count(players)) },
            html! {},
            html! { (count(rounds)) },
            html! { (cash(net, currency)) },
            html! {},
        ]
    };
    summed_table("Players", head, rows.iter().map(row).collect(), sums.into_iter().map(total).collect())
}

pub(crate) async fn file(Path(form): Path<String>, visit: Visit) -> Result<Response, Failure> {
    let operator = operator(&visit).await;
    if !visit.owns(&operator) {
        return Err(Failure::unknown("There is no such operator."));
    }
    if lists_all(&visit) {
        return player_names::file(&visit, &operator, &form).await;
    }
    let (rows, _) = rows(&visit).await?;
    reports::file(&form, "players", COLUMNS, shown_part(&visit, &rows).1, |of, table| {
        let last = of.last.map(|time| time.seconds * 1_000 + i64::from(time.nanos) / 1_000_000);
        table.row(&[
            Value::Text(&of.player),
            Value::Text(&of.currency),
            Value::Time(last),
            Value::from_number(of.rounds)?,
            Value::Int(of.net_minor),
            Value::Int(of.balance.as_ref().map_or(0, |balance| balance.amount_minor)),
        ])
    })
}

const COLUMNS: &[Column] = &[
    column("player_id", Kind::Text),
    column("currency_code", Kind::Text),
    column("last_active", Kind::Time),
    column("rounds", Kind::Integer),
    column("net_minor", Kind::Integer),
    column("balance_minor", Kind::Integer),
];

#[cfg(test)]
mod tests {
    use super::{super::parts::texts, *};
    use motherlode_proto::round::v1::Account;

    #[test]
    fn pl_34_a_players_day_is_the_sum_of_its_transactions() {
        let of = |player: &str, kind: Of, amount: i64, seconds| {
            let money = |amount_minor| Some(Money { amount_minor, currency_code: "EUR".into() });
            Transaction {
                account: Some(Account { player_id: player.into(), currency_code: "EUR".into(), ..Account::default() }),
                kind: kind.into(),
                amount: money(amount),
                balance: money(amount + 1_000),
                time: Some(Timestamp { seconds, nanos: 0 }),
                ..Transaction::default()
            }
        };
        let all = [
            of("alice", Of::Win, 70, 9),
            of("alice", Of::Bet, -50, 8),
            of("bob", Of::Deposit, 5_000, 7),
            of("alice", Of::FreeBet, 0, 6),
        ];
        let rows = active(&all, "");
        assert_eq!((rows[0].rounds, rows[0].net_minor, rows[1].net_minor), (2, 20, 0), "{rows:?}");
        assert_eq!(rows[0].last.map(|last| last.seconds), Some(9));
        assert_eq!(rows[0].balance.as_ref().map(|of| of.amount_minor), Some(1_070), "the balance after the latest");
        assert_eq!(active(&all, "bo").len(), 1);
        let head = ["Player", "Last active", "Rounds", "Wins minus bets", "Balance after"];
        let page = shown("acme", &texts(&head), &rows).into_string();
        assert!(page.contains("<tfoot><tr><th scope=\"row\">Total of 2</th>") && page.contains("0.20 EUR"), "{page}");
    }
}
