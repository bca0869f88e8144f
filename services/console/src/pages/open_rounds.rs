use super::{
    parts::{further, round, sorted_by, summed_table, texts},
    reports,
};
use crate::{
    failure::Failure,
    fields::query,
    layout,
    text::{count, money, since, words},
    visit::Visit,
};
use axum::{extract::Path, response::Response};
use maud::{Markup, html};
use motherlode_proto::{
    ledger::v1::{SetSwitchRequest, Switch, set_switch_request::State},
    round::v1::{Money, Round},
    spin::v1::{ListOpenRoundsRequest, ListOpenRoundsResponse, OpenRound},
};
use motherlode_tables::{Column, Kind, Value, column};
use prost_types::Timestamp;
use std::cmp::Reverse;

const ROWS: i32 = 50;
const SORTED_ROWS: i32 = 100;

async fn read(visit: &Visit, operator_id: &str) -> Result<ListOpenRoundsResponse, Failure> {
    let sort = visit.query.get("sort");
    let request = ListOpenRoundsRequest {
        operator_id: operator_id.to_owned(),
        page_size: if sort.is_empty() { ROWS } else { SORTED_ROWS },
        page_token: visit.query.get("page").to_owned(),
        ..Default::default()
    };
    let mut answer = visit.api.spin().list_open_rounds(request).await?.into_inner();
    let of = |open: &OpenRound| open.round.clone().unwrap_or_default();
    let minor = |amount: Option<Money>| amount.map_or(0, |amount| amount.amount_minor);
    match sort {
        "bet" => answer.rounds.sort_by_cached_key(|open| Reverse(minor(of(open).bet))),
        "win" => answer.rounds.sort_by_cached_key(|open| Reverse(minor(of(open).win))),
        "game" => answer.rounds.sort_by_cached_key(|open| of(open).game),
        "end" => answer.rounds.sort_by_key(|open| open.resolve_time.map(|time| (time.seconds, time.nanos))),
        _ => {}
    }
    Ok(answer)
}

pub(crate) async fn page(Path(operator_id): Path<String>, visit: Visit) -> Result<Response, Failure> {
    let answer = read(&visit, &operator_id).await?;
    let [sort, page] = ["sort", "page"].map(|name| visit.query.get(name));
    let path = format!("/open/{operator_id}");
    let with = |page: &str, end: &str| query(&format!("{path}{end}"), &[("sort", sort), ("page", page)]);
    let content = html! {
        @if visit.owns(&operator_id) {
            (waiting(&visit, &answer.rounds, Some(&path)))
            @if !answer.rounds.is_empty() {
                ul.links {
                    li { a href=(with(page, "/rounds.csv")) { "Download open rounds as CSV" } }
                    li { a href=(with(page, "/rounds.parquet")) { "Download open rounds as Parquet" } }
                }
            }
        } @else { (others(&visit, &operator_id).await) }
        @if !sort.is_empty() && !answer.next_page_token.is_empty() { p.note { (format!("Only the {} oldest open rounds are sorted.", answer.rounds.len())) } }
        (further(&with(&answer.next_page_token, ""), &answer.next_page_token))
    };
    Ok(layout::page(&visit, &format!("Open rounds of {operator_id}"), content).await)
}

pub(super) fn waiting(visit: &Visit, rounds: &[OpenRound], path: Option<&str>) -> Markup {
    let now_ms = visit.app.sessions.now_ms();
    let row = |open: &OpenRound| {
        let of = open.round.clone().unwrap_or_default();
        vec![
            round(visit, &of.round_id, None),
            html! { (of.game) },
            html! { (money(of.bet.as_ref())) },
            html! { (money(of.win.as_ref())) },
            html! { (words(of.awaiting().as_str_name(), "AWAITING_")) },
            since(of.start_time.as_ref(), now_ms),
            since(open.resolve_time.as_ref(), now_ms),
        ]
    };
    let head = match path {
        None => texts(&HEAD.map(|(name, _)| name)),
        Some(path) => HEAD.map(|(name, by)| sort_link(visit, path, name, by)).to_vec(),
    };
    match rounds {
        [] => html! { p { "No round is open." } },
        all => summed_table("Open rounds", &head, all.iter().map(row).collect(), vec![]),
    }
}

fn sort_link(visit: &Visit, path: &str, name: &str, by: Option<&str>) -> Markup {
    match by {
        None => html! { (name) },
        Some(by) => sorted_by(name, &query(path, &[("sort", by)]), visit.query.get("sort") == by),
    }
}

const HEAD: [(&str, Option<&str>); 7] = [
    ("Round", None),
    ("Game", Some("game")),
    ("Bet", Some("bet")),
    ("Current win", Some("win")),
    ("Waits for", None),
    ("Bet at", Some("")),
    ("Will be finished automatically at", Some("end")),
];

/// Shows the number of an operator's open rounds to a platform user, who may not see the rounds themselves.
async fn others(visit: &Visit, operator_id: &str) -> Markup {
    let switch = Switch { operator_id: operator_id.to_owned(), ..Switch::default() };
    let request = SetSwitchRequest {
        request_id: "preview".into(),
        switch: Some(switch),
        state: State::Off.into(),
        reason: "preview".into(),
        preview: true,
        ..SetSwitchRequest::default()
    };
    let answer = if visit.may("SetSwitch") { visit.api.ledger().set_switch(request).await.ok() } else { None };
    let players = answer.map(|answer| answer.into_inner().players).unwrap_or_default();
    html! {
        @if let [of] = players.as_slice() { p { (count(of.open_rounds)) " rounds are open." } }
        p.notice { (format!("Only credentials of {operator_id} can see its rounds. This list is empty even if the operator \
             has open rounds.")) }
    }
}

pub(crate) async fn file(Path((operator_id, form)): Path<(String, String)>, visit: Visit) -> Result<Response, Failure> {
    let rounds = read(&visit, &operator_id).await?.rounds;
    reports::table(&form, "open-rounds", COLUMNS, "motherlode.spin.v1.OpenRound", &rounds, |open, rows| {
        let time = |time: Option<Timestamp>| {
            Value::Time(time.map(|time| time.seconds * 1_000 + i64::from(time.nanos) / 1_000_000))
        };
        let minor = |amount: &Option<Money>| Value::Int(amount.as_ref().map_or(0, |amount| amount.amount_minor));
        let of: Round = open.round.clone().unwrap_or_default();
        rows.row(&[
            Value::Text(&of.round_id),
            Value::Text(&of.game),
            Value::Text(of.account.as_ref().map_or("", |account| &account.currency_code)),
            minor(&of.bet),
            minor(&of.win),
            Value::Text(&words(of.awaiting().as_str_name(), "AWAITING_")),
            time(of.start_time),
            time(open.resolve_time),
        ])
    })
}

const COLUMNS: &[Column] = &[
    column("round_id", Kind::Text),
    column("game", Kind::Text),
    column("currency_code", Kind::Text),
    column("bet_minor", Kind::Integer),
    column("win_minor", Kind::Integer),
    column("waits_for", Kind::Text),
    column("start_time", Kind::Time),
    column("resolve_time", Kind::Time),
];
