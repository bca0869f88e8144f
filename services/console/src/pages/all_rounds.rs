use super::{
    parts::{round, sorted_by, summed_table},
    players::choose_operator,
    reports,
    rounds::{COLUMNS, STATES, amount, offers, state, state_field, write_row},
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
    report::v1::ListOperatorRoundsRequest,
    round::v1::{Money, Round, RoundState},
};
use prost_types::Timestamp;
use std::{cmp::Reverse, collections::BTreeMap};

const ROWS: i32 = 50;
const SORT_READ: i32 = 200;
const SORT_READS_MAX: usize = 4;
const SORTED_ROWS: usize = 100;
const PATH: &str = "/rounds";
const FILTERS: [&str; 9] = ["operator", "from", "to", "game", "state", "won", "currency", "free", "sort"];

#[derive(Default)]
struct Found {
    rounds: Vec<Round>,
    next: String,
    searched: Option<Timestamp>,
    count: usize,
}

fn request(visit: &Visit, operator_id: String) -> Result<ListOperatorRoundsRequest, Failure> {
    let get = |name: &str| visit.query.get(name);
    let time = |ms: Option<i64>| ms.map(|ms| Timestamp { seconds: ms.div_euclid(1_000), nanos: 0 });
    let end = days::moment(&visit.query, "to")?.map(|(begin, length)| begin.saturating_add(length));
    let state = STATES.iter().find(|(name, ..)| *name == get("state")).map_or(RoundState::Unspecified, |(.., of)| *of);
    let (won, currency) = (get("won"), get("currency"));
    let win_min_minor = if won.is_empty() { 0 } else { amount(won, unit(currency))?.max(1) };
    let only = if win_min_minor > 1 { unit(currency) } else { currency };
    Ok(ListOperatorRoundsRequest {
        operator_id,
        from_time: time(days::moment(&visit.query, "from")?.map(|(begin, _)| begin)),
        end_time: time(end),
        game: get("game").to_owned(),
        currency_code: only.to_owned(),
        state: state.into(),
        win_min_minor,
        free_only: !get("free").is_empty(),
        page_size: ROWS,
        page_token: get("page").to_owned(),
    })
}

fn unit(currency: &str) -> &str {
    if currency.is_empty() { "EUR" } else { currency }
}

async fn read(visit: &Visit, operator: &str) -> Result<Found, Failure> {
    let (mut request, sort) = (request(visit, operator.to_owned())?, visit.query.get("sort"));
    let reads = if sort.is_empty() { 1 } else { SORT_READS_MAX };
    let mut found = Found::default();
    for _ in 0..reads {
        request.page_size = if reads == 1 { ROWS } else { SORT_READ };
        let answer = visit.api.report().list_operator_rounds(request.clone()).await?.into_inner();
        found.rounds.extend(answer.rounds);
        (found.next, found.searched) = (answer.next_page_token.clone(), answer.searched_time);
        request.page_token = answer.next_page_token;
        if request.page_token.is_empty() {
            break;
        }
    }
    found.count = found.rounds.len();
    let minor = |of: &Option<Money>| of.as_ref().map_or(0, |of| of.amount_minor);
    match sort {
        "win" => found.rounds.sort_by_key(|of| Reverse(minor(&of.win))),
        "bet" => found.rounds.sort_by_key(|of| Reverse(minor(&of.bet))),
        "game" => found.rounds.sort_by(|one, other| one.game.cmp(&other.game)),
        "player" => found.rounds.sort_by(|one, other| player(one).cmp(player(other))),
        _ => return Ok(found),
    }
    found.rounds.truncate(SORTED_ROWS);
    Ok(found)
}

fn player(of: &Round) -> &str {
    of.account.as_ref().map_or("", |account| &account.player_id)
}

fn path(visit: &Visit, page: &str, others: &[(&str, &str)]) -> String {
    let value =
        |name| others.iter().find(|(other, _)| *other == name).map_or(visit.query.get(name), |(_, value)| value);
    let all = FILTERS.map(|name| (name, value(name)));
    let token = others.iter().filter(|(name, _)| *name == "page").copied();
    query(page, &all.into_iter().chain(token).collect::<Vec<_>>())
}

pub(crate) async fn page(visit: Visit) -> Result<Response, Failure> {
    let operator = operator(&visit).await;
    if operator.is_empty() {
        return choose_operator(&visit, "Rounds", PATH).await;
    }
    if !visit.owns(&operator) {
        return Err(Failure::unknown("There is no such operator."));
    }
    let found = read(&visit, &operator).await?;
    let content = html! {
        (offers(&visit, &FILTERS[1..], |others| path(&visit, PATH, others)))
        (form(&visit))
        (shown(&visit, &found))
        (ways(&visit, &found))
    };
    Ok(layout::page(&visit, "Rounds", content).await)
}

fn form(visit: &Visit) -> Markup {
    let field = |name: &str, label: &str, hint: &str, size: u32| {
        html! { p { label for=(name) { (label) } input id=(name) name=(name) value=(visit.query.get(name)) maxlength="64" size=(size) placeholder=[(!hint.is_empty()).then_some(hint)]; } }
    };
    html! {
        form.row method="get" action=(PATH) {
            @for name in ["operator", "free", "sort"] { input type="hidden" name=(name) value=(visit.query.get(name)); }
            (field("from", "From, in UTC", "2026-11-28 14:30", 18))
            (field("to", "To, in UTC", "2026-11-28 15:00", 18))
            (field("game", "Game", "all", 12))
            (state_field(visit))
            (field("won", "Win at least", "", 8))
            (field("currency", "Currency", "all", 4))
            p { button type="submit" { "Filter" } }
        }
    }
}

fn shown(visit: &Visit, found: &Found) -> Markup {
    let row = |of: &Round| {
        let account = of.account.clone().unwrap_or_default();
        let player = format!("/player/{}/{}", account.operator_id, account.player_id);
        vec![
            round(visit, &of.round_id, None),
            html! { a href=(query(&player, &[("currency", &account.currency_code)])) { (account.player_id) } },
            when(of.start_time.as_ref()),
            when(of.steps.last().and_then(|step| step.time.as_ref())),
            html! { (of.game) },
            html! { (money(of.bet.as_ref())) },
            html! { (money(of.win.as_ref())) },
            state(of),
        ]
    };
    let sort = visit.query.get("sort");
    let sorted = |name: &str, by: &str| sorted_by(name, &path(visit, PATH, &[("sort", by)]), sort == by);
    let head = [
        html! { "Round" },
        sorted("Player", "player"),
        sorted("Bet at", ""),
        html! { "Last step at" },
        sorted("Game", "game"),
        sorted("Bet", "bet"),
        sorted("Win", "win"),
        html! { "State" },
    ];
    html! {
        @if found.rounds.is_empty() { p { "No round on this page." } }
        @else { (summed_table("Rounds", &head, found.rounds.iter().map(row).collect(), totals(&found.rounds))) }
    }
}

fn totals(rounds: &[Round]) -> Vec<Vec<Markup>> {
    let mut sums: BTreeMap<&str, (usize, i64, i64)> = BTreeMap::new();
    for of in rounds {
        let minor = |of: &Option<Money>| of.as_ref().map_or(0, |of| of.amount_minor);
        let sum = sums.entry(of.account.as_ref().map_or("", |account| &account.currency_code)).or_default();
        *sum = (sum.0 + 1, sum.1.saturating_add(minor(&of.bet)), sum.2.saturating_add(minor(&of.win)));
    }
    let cash = |amount_minor, currency: &str| {
        html! { strong { (money(Some(&Money { amount_minor, currency_code: currency.to_owned() }))) } }
    };
    let total = |(currency, (rounds, bets, wins)): (&str, (usize, i64, i64))| {
        let none = Markup::default;
        let name = html! { "Total of " (count(rounds)) };
        vec![name, none(), none(), none(), none(), cash(bets, currency), cash(wins, currency), none()]
    };
    sums.into_iter().map(total).collect()
}

fn ways(visit: &Visit, found: &Found) -> Markup {
    let sorts = !visit.query.get("sort").is_empty();
    let page = [("page", visit.query.get("page"))];
    html! {
        @if sorts && found.rounds.len() < found.count { p.note { "The first " (count(found.rounds.len())) " of " (count(found.count)) " rounds." } }
        @if !found.next.is_empty() {
            p.note { "This page searched the log back to " (when(found.searched.as_ref())) "." @if sorts { " Only the rounds in the searched part of the log are sorted." } }
        }
        ul.links {
            @if !visit.query.get("page").is_empty() { li { a href=(path(visit, PATH, &[])) { "Latest" } } }
            @if !found.next.is_empty() {
                @let next = path(visit, PATH, &[("page", &found.next)]);
                li { a href=(next) rel="next" { @if found.rounds.is_empty() { "Continue the search" } @else { "Earlier" } } }
            }
            @if !found.rounds.is_empty() {
                li { a href=(path(visit, "/rounds.csv", &page)) { "Download rounds as CSV" } }
                li { a href=(path(visit, "/rounds.parquet", &page)) { "Download rounds as Parquet" } }
            }
        }
    }
}

pub(crate) async fn file(Path(form): Path<String>, visit: Visit) -> Result<Response, Failure> {
    let operator = operator(&visit).await;
    if !visit.owns(&operator) {
        return Err(Failure::unknown("There is no such operator."));
    }
    let rounds = read(&visit, &operator).await?.rounds;
    reports::table(&form, "rounds", COLUMNS, "motherlode.round.v1.Round", &rounds, write_row)
}

#[cfg(test)]
mod tests {
    use super::*;
    use motherlode_proto::round::v1::Account;

    #[test]
    fn pl_34_totals_of_rounds_are_by_currency() {
        let of = |currency: &str, bet, win| {
            let cash = |amount_minor| Some(Money { amount_minor, currency_code: currency.to_owned() });
            let account = Some(Account { currency_code: currency.to_owned(), ..Account::default() });
            Round { account, bet: cash(bet), win: cash(win), ..Round::default() }
        };
        let rows = totals(&[of("SEK", 100, 0), of("EUR", 150, 8_400), of("EUR", 50, i64::MAX)]);
        let told: Vec<Vec<_>> =
            rows.into_iter().map(|row| row.into_iter().map(Markup::into_string).collect()).collect();
        assert_eq!((&*told[0][0], &*told[0][5]), ("Total of 2", "<strong>2.00 EUR</strong>"));
        assert!(told[0][6].contains("92,233,720,368,547,758.07 EUR"), "{told:?}");
        assert_eq!((&*told[1][0], &*told[1][6]), ("Total of 1", "<strong>0.00 SEK</strong>"));
    }
}
