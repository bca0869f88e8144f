use super::{
    day, open_rounds,
    parts::{section, table},
    player_names,
    rounds::{self, path},
};
use crate::{
    failure::Failure,
    fields::query,
    layout,
    text::{count, money, when, words},
    visit::Visit,
};
use axum::{extract::Path, response::Response};
use http::StatusCode;
use maud::{Markup, html};
use motherlode_picture::shelf;
use motherlode_proto::{
    ledger::v1::{GetAccountRequest, GetAccountResponse, ListCollectionsRequest, ListExchangeRatesRequest},
    round::v1::{Account, CarriedFigure, Money},
    spin::v1::{Campaign, CampaignLiability, ListCampaignsRequest, ListOpenRoundsRequest, ListOpenRoundsResponse},
};
use motherlode_runtime::config::PLATFORM;
use std::collections::{BTreeMap, BTreeSet};
use tonic::{Code, Status};

pub(crate) async fn page(Path((operator, player)): Path<(String, String)>, visit: Visit) -> Result<Response, Failure> {
    let accounts = accounts(&visit, &operator, &player).await?;
    let asked = visit.query.get("currency").to_owned();
    let shown = accounts.iter().find(|(account, _)| account.currency_code == asked).or(accounts.first());
    let Some((account, _)) = shown.cloned() else {
        return unknown(&visit, &operator, &player).await;
    };
    let open = open(&visit, &account).await;
    let content = html! {
        div.tiles {
            @for (of, state) in &accounts {
                div.tile {
                    span {
                        @if state.reported_balance.is_some() { span.badge { "seamless" } " " }
                        @if of.currency_code == account.currency_code { (of.currency_code) ", shown below" }
                        @else { a href=(path(of, &[])) { (of.currency_code) } }
                    }
                    b { (money(state.balance.as_ref())) }
                }
            }
        }
        (ways(&visit, &account, &open))
        @if let Some(open) = open { (section("Open rounds", open, |answer| open_rounds::waiting(&visit, &answer.rounds, None))?) }
        (rounds::history(&visit, &account).await?)
        (campaigns(&visit, &account).await?)
        (day::today(&visit, &account).await?)
        (collections(&visit, &account).await?)
    };
    Ok(layout::page(&visit, &format!("Player {operator}/{player}"), content).await)
}

async fn unknown(visit: &Visit, operator: &str, player: &str) -> Result<Response, Failure> {
    let own = visit.owns(operator) && visit.may("ListPlayers");
    let names = if own { player_names::near(visit, operator, player).await } else { vec![] };
    let is_platform = visit.who().operator == PLATFORM && operator != PLATFORM;
    if names.is_empty() && !is_platform {
        return Err(Failure::unknown("There is no such player."));
    }
    let content = html! {
        @if is_platform {
            p { (format!("Only credentials of {operator} can see its players.")) }
            @if visit.may("FollowLog") {
                p { a href=(query("/log", &[("stream", &format!("player/{operator}/{player}"))])) { "Records of this player in the log" } }
            }
        } @else { p { "There is no such player." } }
        (player_names::similar(operator, player, &names))
    };
    let mut page = layout::page(visit, "Not found", content).await;
    *page.status_mut() = StatusCode::NOT_FOUND;
    Ok(page)
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

type OpenRounds = Result<tonic::Response<ListOpenRoundsResponse>, Status>;

async fn open(visit: &Visit, account: &Account) -> Option<OpenRounds> {
    if !visit.may("ListOpenRounds") {
        return None;
    }
    let (operator_id, player_id) = (account.operator_id.clone(), account.player_id.clone());
    let request = ListOpenRoundsRequest { operator_id, player_id, page_size: 50, ..Default::default() };
    Some(visit.api.spin().list_open_rounds(request).await)
}

fn ways(visit: &Visit, account: &Account, open: &Option<OpenRounds>) -> Markup {
    let rounds = open.iter().flatten().flat_map(|answer| &answer.get_ref().rounds).filter_map(|of| of.round.as_ref());
    let rounds: Vec<_> = rounds.map(|of| of.round_id.as_str()).collect();
    let statement = path(account, &[]).replacen('?', "/statement?", 1);
    html! {
        ul.links {
            @match rounds.as_slice() {
                [] => {}
                [one] => li { a.badge href={ "/round/" (one) } { "1 open round" } },
                all => li { a.badge href="#open-rounds" { (all.len()) " open rounds" } },
            }
            @if visit.may("ListTransactions") { li { a href=(statement) { "Statement" } } }
            @if visit.may("ListRounds") { li { a href="#history" { "Rounds" } } }
            @if visit.may("ListCampaigns") { li { a href="#free-rounds" { "Free rounds" } } }
            @if visit.may("GetPlayerDay") { li { a href="#today-limits-and-sessions" { "Limits" } } }
            @if visit.may("ListCollections") { li { a href="#collections" { "Collections" } } }
        }
    }
}

async fn collections(visit: &Visit, account: &Account) -> Result<Markup, Failure> {
    if !visit.may("ListCollections") {
        return Ok(Markup::default());
    }
    let request = ListCollectionsRequest { account: Some(account.clone()), game: String::new() };
    let answer = visit.api.ledger().list_collections(request).await;
    section("Collections", answer, |answer| match answer.collections.as_slice() {
        [] => html! { p { "The player has collected nothing." } },
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
    let request = ListCampaignsRequest {
        account: Some(account.clone()),
        page_size: 50,
        with_liability: visit.may("GrantCampaign") || visit.may("ListRevenue"),
        ..Default::default()
    };
    let answer = visit.api.spin().list_campaigns(request).await;
    let all = answer.as_ref().map_or_else(|_| vec![], |answer| answer.get_ref().campaigns.clone());
    let paid = paid(visit, account, &all).await;
    section("Free rounds", answer, |answer| match answer.campaigns.as_slice() {
        [] => html! { p { "No free rounds were granted." } },
        all => {
            let row = |of: &Campaign| {
                vec![
                    html! { a href=(path(account, &[("campaign", &of.campaign_id)]) + "#history") { (of.campaign_id) } },
                    html! { (of.game) },
                    html! { (money(of.bet.as_ref())) },
                    html! { (count(of.rounds - of.rounds_left.min(of.rounds))) },
                    html! { (of.rounds_left) " of " (of.rounds) },
                    html! { (paid.get(&of.campaign_id).map_or("–", String::as_str)) },
                    html! { (words(of.state().as_str_name(), "CAMPAIGN_STATE_")) },
                    html! { (liability(of, |left| &left.expected_minor)) },
                    html! { (liability(of, |left| &left.highest_minor)) },
                    when(of.grant_time.as_ref()),
                    when(of.expire_time.as_ref()),
                ]
            };
            let head = [
                "Campaign",
                "Game",
                "Stake",
                "Played",
                "Left",
                "Won",
                "State",
                "Expected cost left",
                "Highest cost left",
                "Granted",
                "Expires",
            ];
            table("Free rounds", &head, all.iter().map(row).collect())
        }
    })
}

fn liability(of: &Campaign, part: fn(&CampaignLiability) -> &String) -> String {
    let Some(left) = &of.liability_left else { return "–".to_owned() };
    let (whole, rest) = part(left).split_once('.').unwrap_or((part(left), ""));
    let up = i64::from(rest.bytes().any(|digit| digit != b'0'));
    let minor = whole.parse::<i64>().ok().and_then(|minor| minor.checked_add(up));
    let currency_code = left.currency_code.clone();
    minor.map_or_else(|| "–".to_owned(), |amount_minor| money(Some(&Money { amount_minor, currency_code })))
}

async fn paid(visit: &Visit, account: &Account, all: &[Campaign]) -> BTreeMap<String, String> {
    let mut since: BTreeMap<&str, i64> = BTreeMap::new();
    for of in all {
        let granted = of.grant_time.map_or(0, |time| time.seconds);
        let first = since.entry(&of.game).or_insert(granted);
        *first = granted.min(*first);
    }
    let mut paid = BTreeMap::new();
    let games = since.into_iter().filter(|_| visit.may("ListRounds"));
    for (game, since) in games {
        let Ok((wins, whole)) = rounds::paid(visit, account, game, since).await else { continue };
        for of in all.iter().filter(|of| of.game == game) {
            let amount_minor = wins.iter().filter(|(id, _)| *id == of.campaign_id).map(|(_, win)| win).sum();
            let won = money(Some(&Money { amount_minor, currency_code: account.currency_code.clone() }));
            paid.insert(of.campaign_id.clone(), if whole { won } else { format!("at least {won}") });
        }
    }
    paid
}
