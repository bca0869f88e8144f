use super::{
    day,
    parts::{round, section, table},
};
use crate::{
    failure::Failure,
    fields::query,
    layout,
    text::{count, money, when, words},
    visit::Visit,
};
use axum::{extract::Path, response::Response};
use maud::{Markup, html};
use motherlode_picture::shelf;
use motherlode_proto::{
    ledger::v1::{
        GetAccountRequest, GetAccountResponse, ListCollectionsRequest, ListExchangeRatesRequest, ListRoundsRequest,
        ListRoundsResponse, SetSwitchRequest, Switch, set_switch_request::State,
    },
    round::v1::{Account, CarriedFigure, Round},
    spin::v1::{ListCampaignsRequest, ListOpenRoundsRequest, OpenRound},
};
use std::collections::BTreeSet;
use tonic::Code;

const ROUNDS: i32 = 20;

pub(crate) async fn page(Path((operator, player)): Path<(String, String)>, visit: Visit) -> Result<Response, Failure> {
    let accounts = accounts(&visit, &operator, &player).await?;
    let asked = visit.query.get("currency").to_owned();
    let shown = accounts.iter().find(|(account, _)| account.currency_code == asked).or(accounts.first());
    let Some((account, _)) = shown.cloned() else {
        return Err(Failure::unknown("There is no such player."));
    };
    let content = html! {
        div.tiles {
            @for (of, state) in &accounts {
                div.tile {
                    span {
                        @if of.currency_code == account.currency_code { (of.currency_code) ", shown below" }
                        @else { a href=(path(of, &[])) { (of.currency_code) } }
                    }
                    b { (money(state.balance.as_ref())) }
                }
            }
        }
        @if visit.may("ListTransactions") {
            ul.links { li { a href=(query(&format!("/player/{operator}/{player}/statement"), &[("currency", &account.currency_code)])) { "Statement" } } }
        }
        (open(&visit, &account).await?)
        (day::today(&visit, &account).await?)
        (collections(&visit, &account).await?)
        (campaigns(&visit, &account).await?)
        (history(&visit, &account).await?)
    };
    Ok(layout::page(&visit, &format!("Player {operator}/{player}"), content).await)
}

pub(crate) async fn open_rounds(Path(operator_id): Path<String>, visit: Visit) -> Result<Response, Failure> {
    let page_token = visit.query.get("page").to_owned();
    let request =
        ListOpenRoundsRequest { operator_id: operator_id.clone(), page_size: 50, page_token, ..Default::default() };
    let answer = visit.api.spin().list_open_rounds(request).await?.into_inner();
    let content = html! {
        @if visit.owns(&operator_id) { (waiting(&visit, &answer.rounds)) } @else { (others(&visit, &operator_id).await) }
        (further(&query(&format!("/open/{operator_id}"), &[("page", &answer.next_page_token)]), &answer.next_page_token))
    };
    Ok(layout::page(&visit, &format!("Open rounds of {operator_id}"), content).await)
}

async fn accounts(visit: &Visit, operator: &str, player: &str) -> Result<Vec<(Account, GetAccountResponse)>, Failure> {
    let rates = visit.api.ledger().list_exchange_rates(ListExchangeRatesRequest {}).await?.into_inner().rates;
    let rates = rates.into_iter().map(|rate| rate.currency_code).filter(|code| code != "EUR");
    let mut accounts = vec![];
    for currency_code in ["EUR".to_owned()].into_iter().chain(rates).chain(["XTS".to_owned()]) {
        let account = Account { operator_id: operator.to_owned(), player_id: player.to_owned(), currency_code };
        match visit.api.ledger().get_account(GetAccountRequest { account: Some(account.clone()) }).await {
            Ok(answer) => accounts.push((account, answer.into_inner())),
            Err(status) if status.code() == Code::NotFound => {}
            Err(status) => return Err(status.into()),
        }
    }
    Ok(accounts)
}

async fn open(visit: &Visit, account: &Account) -> Result<Markup, Failure> {
    if !visit.may("ListOpenRounds") {
        return Ok(Markup::default());
    }
    let (operator_id, player_id) = (account.operator_id.clone(), account.player_id.clone());
    let request = ListOpenRoundsRequest { operator_id, player_id, page_size: 50, ..Default::default() };
    let answer = visit.api.spin().list_open_rounds(request).await;
    section("Open rounds", answer, |answer| waiting(visit, &answer.rounds))
}

/// Shows the platform how many rounds are open at another operator, but not the rounds.
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
        p.notice { "The rounds of " (operator_id) " are visible to its own credentials only. This list is empty even if rounds are open." }
    }
}

fn waiting(visit: &Visit, rounds: &[OpenRound]) -> Markup {
    let row = |open: &OpenRound| {
        let of = open.round.clone().unwrap_or_default();
        vec![
            round(visit, &of.round_id, None),
            html! { (of.game) },
            html! { (money(of.bet.as_ref())) },
            html! { (money(of.win.as_ref())) },
            html! { (words(of.awaiting().as_str_name(), "AWAITING_")) },
            when(of.start_time.as_ref()),
            when(open.resolve_time.as_ref()),
        ]
    };
    match rounds {
        [] => html! { p { "None is open." } },
        all => table(
            "Open rounds",
            &["Round", "Game", "Bet", "Current win", "Waits for", "Bet at", "Finished for the player at"],
            all.iter().map(row).collect(),
        ),
    }
}

async fn collections(visit: &Visit, account: &Account) -> Result<Markup, Failure> {
    if !visit.may("ListCollections") {
        return Ok(Markup::default());
    }
    let request = ListCollectionsRequest { account: Some(account.clone()), game: String::new() };
    let answer = visit.api.ledger().list_collections(request).await;
    section("Collections", answer, |answer| match answer.collections.as_slice() {
        [] => html! { p { "Nothing is collected." } },
        all => {
            let games: BTreeSet<_> = all.iter().map(|of| of.game.as_str()).collect();
            let row = |of: &motherlode_proto::ledger::v1::Collection| {
                let scope = if of.scope.is_empty() { "all bets" } else { &of.scope };
                let figure = |of: &motherlode_proto::ledger::v1::collection::Figure| CarriedFigure {
                    key: of.key.clone(),
                    value: of.value,
                };
                let figures: Vec<_> = of.figures.iter().map(figure).collect();
                let (pictured, told) = shelf::draw(&of.game, &figures, &account.currency_code);
                vec![html! { (of.game) }, html! { (scope) }, html! { (pictured) (told) }]
            };
            html! { @for game in games { (shelf::embedded(game)) } (table("Collections", &["Game", "At", "Holds"], all.iter().map(row).collect())) }
        }
    })
}

async fn campaigns(visit: &Visit, account: &Account) -> Result<Markup, Failure> {
    if !visit.may("ListCampaigns") {
        return Ok(Markup::default());
    }
    let request = ListCampaignsRequest { account: Some(account.clone()), page_size: 50, ..Default::default() };
    let answer = visit.api.spin().list_campaigns(request).await;
    section("Free rounds", answer, |answer| match answer.campaigns.as_slice() {
        [] => html! { p { "None were granted." } },
        all => {
            let row = |of: &motherlode_proto::spin::v1::Campaign| {
                vec![
                    html! { (of.campaign_id) },
                    html! { (of.game) },
                    html! { (money(of.bet.as_ref())) },
                    html! { (of.rounds_left) " of " (of.rounds) },
                    html! { (words(of.state().as_str_name(), "CAMPAIGN_STATE_")) },
                    when(of.grant_time.as_ref()),
                    when(of.expire_time.as_ref()),
                ]
            };
            let head = ["Campaign", "Game", "Stake", "Left", "State", "Granted", "Expires"];
            table("Free rounds", &head, all.iter().map(row).collect())
        }
    })
}

async fn history(visit: &Visit, account: &Account) -> Result<Markup, Failure> {
    if !visit.may("ListRounds") {
        return Ok(Markup::default());
    }
    let (game, page_token) = (visit.query.get("game").to_owned(), visit.query.get("page").to_owned());
    let request =
        ListRoundsRequest { account: Some(account.clone()), game: game.clone(), page_size: ROUNDS, page_token };
    let answer = visit.api.ledger().list_rounds(request).await;
    section("History", answer, |answer| {
        html! {
            form.row method="get" action=(path(account, &[])) {
                input type="hidden" name="currency" value=(account.currency_code);
                p { label for="game" { "Game" }
                    input #game name="game" value=(game) maxlength="64" placeholder="all"; }
                p { button type="submit" { "Filter" } }
            }
            (rounds(visit, &answer))
            (further(&path(account, &[("game", &game), ("page", &answer.next_page_token)]), &answer.next_page_token))
        }
    })
}

fn rounds(visit: &Visit, answer: &ListRoundsResponse) -> Markup {
    let row = |of: &Round| {
        vec![
            round(visit, &of.round_id, None),
            when(of.start_time.as_ref()),
            html! { (of.game) },
            html! { (money(of.bet.as_ref())) },
            html! { (money(of.win.as_ref())) },
            html! {
                (words(of.state().as_str_name(), "ROUND_STATE_"))
                @if !of.campaign_id.is_empty() { span.badge title={ "Campaign " (of.campaign_id) } { "free" } }
                @if !of.jackpots.is_empty() { span.badge { "jackpot" } }
            },
            html! { (money(of.balance_after.as_ref())) },
        ]
    };
    match answer.rounds.as_slice() {
        [] => html! { p { "No round." } },
        all => table(
            "Rounds, the latest first",
            &["Round", "Bet at", "Game", "Bet", "Win", "State", "Balance after"],
            all.iter().map(row).collect(),
        ),
    }
}

pub(super) fn further(path: &str, token: &str) -> Markup {
    html! { @if !token.is_empty() { p { a href=(path) rel="next" { "Earlier" } } } }
}

fn path(account: &Account, more: &[(&str, &str)]) -> String {
    let fields: Vec<_> =
        [("currency", account.currency_code.as_str())].into_iter().chain(more.iter().copied()).collect();
    query(&format!("/player/{}/{}", account.operator_id, account.player_id), &fields)
}
