//! Lists a player's rounds, filtered by the query parameters (DM-20); exactly the shown rows can be downloaded.

use super::{
    parts::{round, section, sorted_by, summed_table},
    reports,
};
use crate::{
    days,
    failure::Failure,
    fields::query,
    text::{count, money, when, words},
    visit::Visit,
};
use axum::{extract::Path, response::Response};
use maud::{Markup, html};
use motherlode_proto::{
    ledger::v1::ListRoundsRequest,
    round::v1::{Account, Money, Round, RoundState},
};
use motherlode_state::Currency;
use motherlode_tables::{Column, Kind, Rows, TableError, Value, column};
use std::cmp::Reverse;

/// Number of matching rounds after which the page requests no further rounds. The last answer is shown completely, so a
/// page can have more rows.
const ROWS: usize = 20;
const READ: i32 = 50;
const READ_UNFILTERED: i32 = 20;
const READS_MAX: usize = 20;
const FILTERS: [&str; 8] = ["from", "to", "game", "state", "won", "free", "campaign", "sort"];
pub(super) const STATES: [(&str, &str, RoundState); 3] = [
    ("open", "Open", RoundState::Open),
    ("settled", "Settled", RoundState::Settled),
    ("void", "Void", RoundState::Voided),
];

struct Filter<'a> {
    visit: &'a Visit,
    account: &'a Account,
    from: i64,
    end: i64,
    /// Minimum win. If it is set, even to 0, rounds without a win are hidden.
    won: Option<i64>,
}

impl<'a> Filter<'a> {
    fn new(visit: &'a Visit, account: &'a Account) -> Result<Self, Failure> {
        let end = days::field(&visit.query, "to")?.map_or(i64::MAX, |begin| begin.saturating_add(days::SECONDS));
        let from = days::field(&visit.query, "from")?.unwrap_or(i64::MIN);
        let won = Some(visit.query.get("won")).filter(|won| !won.is_empty());
        let won = won.map(|won| amount(won, &account.currency_code)).transpose()?;
        Ok(Self { visit, account, from, end, won })
    }

    fn get(&self, name: &str) -> &'a str {
        self.visit.query.get(name)
    }

    fn seconds(of: &Round) -> i64 {
        of.start_time.map_or(0, |time| time.seconds)
    }

    fn has(&self, of: &Round) -> bool {
        let state = STATES.iter().find(|(name, ..)| *name == self.get("state"));
        let win = of.win.as_ref().map_or(0, |win| win.amount_minor);
        let campaign = self.get("campaign");
        (self.from..self.end).contains(&Self::seconds(of))
            && state.is_none_or(|(.., state)| of.state() == *state)
            && self.won.is_none_or(|least| win > 0 && win >= least)
            && (self.get("free").is_empty() || !of.campaign_id.is_empty())
            && (campaign.is_empty() || of.campaign_id == campaign)
    }

    async fn read(&self) -> Result<(Vec<Round>, String), tonic::Status> {
        let (mut found, mut page_token) = (vec![], self.get("page").to_owned());
        // To sort the list, all its pages are read first, in at most [`READS_MAX`] calls.
        let sorted = !self.get("sort").is_empty();
        let filtered = FILTERS.iter().any(|name| *name != "game" && !self.get(name).is_empty());
        let page_size = if filtered { READ } else { READ_UNFILTERED };
        for _ in 0..READS_MAX {
            let request = ListRoundsRequest {
                account: Some(self.account.clone()),
                game: self.get("game").to_owned(),
                page_size,
                page_token,
            };
            let answer = self.visit.api.ledger().list_rounds(request).await?.into_inner();
            let over = answer.rounds.last().is_some_and(|last| Self::seconds(last) < self.from);
            page_token = if over { String::new() } else { answer.next_page_token };
            found.extend(answer.rounds.into_iter().filter(|of| self.has(of)));
            if page_token.is_empty() || (found.len() >= ROWS && !sorted) {
                break;
            }
        }
        let amount = |of: &Option<Money>| of.as_ref().map_or(0, |of| of.amount_minor);
        match self.get("sort") {
            "win" => found.sort_by_key(|of| Reverse(amount(&of.win))),
            "bet" => found.sort_by_key(|of| Reverse(amount(&of.bet))),
            _ => {}
        }
        Ok((found, page_token))
    }

    fn with(&self, others: &[(&str, &str)]) -> String {
        let value =
            |name: &str| others.iter().find(|(other, _)| *other == name).map_or(self.get(name), |(_, value)| value);
        path(self.account, &FILTERS.map(|name| (name, value(name)))) + "#history"
    }
}

pub(super) fn path(account: &Account, more: &[(&str, &str)]) -> String {
    let fields: Vec<_> =
        [("currency", account.currency_code.as_str())].into_iter().chain(more.iter().copied()).collect();
    query(&format!("/player/{}/{}", account.operator_id, account.player_id), &fields)
}

pub(super) fn amount(text: &str, currency: &str) -> Result<i64, Failure> {
    let wrong = || Failure::bad("An amount must be a number such as 84.00.");
    let digits = currency.parse::<Currency>().map_or(2, Currency::digits) as usize;
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let fits = part.len() <= digits && !(whole.is_empty() && part.is_empty()) && is_number(whole) && is_number(part);
    fits.then(|| format!("{whole}{part:0<digits$}")).and_then(|minor| minor.parse().ok()).ok_or_else(wrong)
}

pub(super) async fn history(visit: &Visit, account: &Account) -> Result<Markup, Failure> {
    if !visit.may("ListRounds") {
        return Ok(Markup::default());
    }
    let filter = Filter::new(visit, account)?;
    let answer = filter.read().await.map(tonic::Response::new);
    section("History", answer, |(rounds, next)| {
        html! {
            (offers(visit, &FILTERS, |others| filter.with(others)))
            (form(&filter))
            (shown(&filter, &rounds, &next))
        }
    })
}

/// Links that set some of the filters; `path` returns the page's address with changed filters.
pub(super) fn offers(visit: &Visit, filters: &[&str], path: impl Fn(&[(&str, &str)]) -> String) -> Markup {
    let now_ms = visit.app.sessions.now_ms();
    let link = |name: &str, others: &[(&str, &str)]| {
        let on = others.iter().all(|(name, value)| visit.query.get(name) == *value);
        html! { li { a href=(path(others)) aria-current=[on.then_some("true")] { (name) } } }
    };
    let clear: Vec<_> = filters.iter().map(|name| (*name, "")).collect();
    html! {
        ul.links {
            @for (name, length, ago) in days::OFFERED {
                @let (from, to) = days::interval(now_ms, length, ago);
                (link(name, &[("from", &from), ("to", &to)]))
            }
            (link("Won", &[("won", "0")]))
            @for (state, name, _) in STATES { @if state != "settled" { (link(name, &[("state", state)])) } }
            (link("Free", &[("free", "yes")]))
            (link("All", &clear))
        }
    }
}

pub(super) fn state_field(visit: &Visit) -> Markup {
    html! {
        p { label for="state" { "State" }
            select #state name="state" {
                option value="" { "all" }
                @for (state, name, _) in STATES { option value=(state) selected[visit.query.get("state") == state] { (name) } }
            } }
    }
}

fn form(filter: &Filter<'_>) -> Markup {
    let field = |name: &str, label: &str, kind: &str| {
        html! { p { label for=(name) { (label) } input id=(name) name=(name) type=(kind) value=(filter.get(name)) maxlength="64" size="10"; } }
    };
    html! {
        form.row method="get" action=(path(filter.account, &[]) + "#history") {
            input type="hidden" name="currency" value=(filter.account.currency_code);
            input type="hidden" name="free" value=(filter.get("free"));
            input type="hidden" name="sort" value=(filter.get("sort"));
            (field("from", "First day", "date"))
            (field("to", "Last day", "date"))
            (field("game", "Game", "text"))
            (state_field(filter.visit))
            (field("won", "Win at least", "text"))
            (field("campaign", "Campaign", "text"))
            p { button type="submit" { "Filter" } }
        }
    }
}

fn shown(filter: &Filter<'_>, rounds: &[Round], next: &str) -> Markup {
    let visit = filter.visit;
    let row = |of: &Round| {
        vec![
            round(visit, &of.round_id, None),
            when(of.start_time.as_ref()),
            when(of.steps.last().and_then(|step| step.time.as_ref())),
            html! { (of.game) },
            html! { (money(of.bet.as_ref())) },
            html! { (money(of.win.as_ref())) },
            state(of),
            html! { (money(of.balance_before.as_ref())) },
            html! { (money(of.balance_after.as_ref())) },
        ]
    };
    let sorted = |name: &str, by: &str| sorted_by(name, &filter.with(&[("sort", by)]), filter.get("sort") == by);
    let head = [
        html! { "Round" },
        sorted("Bet at", ""),
        html! { "Last step at" },
        html! { "Game" },
        sorted("Bet", "bet"),
        sorted("Win", "win"),
        html! { "State" },
        html! { "Balance before" },
        html! { "Balance after" },
    ];
    let page = [("page", visit.query.get("page"))];
    let files = |form: &str| {
        let filters = FILTERS.map(|name| (name, filter.get(name)));
        let all = [&filters[..], &page].concat();
        let list = path(filter.account, &all);
        list.replacen('?', &format!("/rounds.{form}?"), 1)
    };
    html! {
        @if rounds.is_empty() { p { "No round on this page." } }
        @else { (summed_table("Rounds, the latest first", &head, rounds.iter().map(row).collect(), vec![total(filter, rounds)])) }
        ul.links {
            @if !next.is_empty() {
                @let filters = FILTERS.map(|name| (name, filter.get(name)));
                li { a href=(path(filter.account, &[&filters[..], &[("page", next)]].concat()) + "#history") rel="next" { "Earlier" } }
            }
            @if !rounds.is_empty() {
                li { a href=(files("csv")) { "Download rounds as CSV" } }
                li { a href=(files("parquet")) { "Download rounds as Parquet" } }
            }
        }
    }
}

pub(super) fn state(of: &Round) -> Markup {
    let state = words(of.state().as_str_name(), "ROUND_STATE_");
    html! {
        @if matches!(of.state(), RoundState::Open | RoundState::Voided) { span.badge { (state) } } @else { (state) " " }
        @if !of.campaign_id.is_empty() { span.badge title={ "Campaign " (of.campaign_id) } { "free" } }
        @if !of.jackpots.is_empty() { span.badge { "jackpot" } }
    }
}

/// Row with the sums of bets and wins, including those of voided and free rounds.
fn total(filter: &Filter<'_>, rounds: &[Round]) -> Vec<Markup> {
    let sum = |of: fn(&Round) -> &Option<Money>| {
        let minor: i64 =
            rounds.iter().filter_map(|round| of(round).as_ref()).map(|of| of.amount_minor).fold(0, i64::saturating_add);
        let currency_code = filter.account.currency_code.clone();
        html! { strong { (money(Some(&Money { amount_minor: minor, currency_code }))) } }
    };
    let none = Markup::default;
    let rounds_of = html! { "Total of " (count(rounds.len())) };
    vec![rounds_of, none(), none(), none(), sum(|of| &of.bet), sum(|of| &of.win), none(), none(), none()]
}

pub(crate) async fn file(
    Path((operator_id, player_id, form)): Path<(String, String, String)>,
    visit: Visit,
) -> Result<Response, Failure> {
    let currency = visit.query.get("currency");
    let currency_code = if currency.is_empty() { "EUR" } else { currency }.to_owned();
    let account = Account { operator_id, player_id, currency_code };
    let (rounds, _) = Filter::new(&visit, &account)?.read().await?;
    reports::table(&form, "rounds", COLUMNS, "motherlode.round.v1.Round", &rounds, write_row)
}

pub(super) fn write_row(of: &Round, rows: &mut dyn Rows) -> Result<(), TableError> {
    let ms = |time: Option<&prost_types::Timestamp>| {
        Value::Time(time.map(|time| time.seconds * 1_000 + i64::from(time.nanos) / 1_000_000))
    };
    let minor = |of: &Option<Money>| Value::Int(of.as_ref().map_or(0, |of| of.amount_minor));
    rows.row(&[
        Value::Text(&of.round_id),
        ms(of.start_time.as_ref()),
        ms(of.steps.last().and_then(|step| step.time.as_ref())),
        Value::Text(&of.game),
        Value::Text(of.account.as_ref().map_or("", |account| &account.currency_code)),
        minor(&of.bet),
        minor(&of.win),
        Value::Text(&words(of.state().as_str_name(), "ROUND_STATE_")),
        Value::Text(&of.campaign_id),
        minor(&of.balance_before),
        minor(&of.balance_after),
    ])
}

pub(super) const COLUMNS: &[Column] = &[
    column("round_id", Kind::Text),
    column("start_time", Kind::Time),
    column("last_step_time", Kind::Time),
    column("game", Kind::Text),
    column("currency_code", Kind::Text),
    column("bet_minor", Kind::Integer),
    column("win_minor", Kind::Integer),
    column("state", Kind::Text),
    column("campaign_id", Kind::Text),
    column("balance_before_minor", Kind::Integer),
    column("balance_after_minor", Kind::Integer),
];

/// Returns the campaign and win of each of the player's latest free rounds, and whether these include all free rounds
/// since `since`.
pub(super) async fn paid(
    visit: &Visit,
    account: &Account,
    game: &str,
    since: i64,
) -> Result<(Vec<(String, i64)>, bool), tonic::Status> {
    let (mut wins, mut page_token) = (vec![], String::new());
    for _ in 0..READS_MAX {
        let (account, game) = (Some(account.clone()), game.to_owned());
        let request = ListRoundsRequest { account, game, page_size: READ, page_token };
        let answer = visit.api.ledger().list_rounds(request).await?.into_inner();
        let over = answer.rounds.last().is_none_or(|last| Filter::seconds(last) < since);
        let free =
            answer.rounds.into_iter().filter(|of| !of.campaign_id.is_empty() && of.state() != RoundState::Voided);
        wins.extend(free.map(|of| (of.campaign_id, of.win.map_or(0, |win| win.amount_minor))));
        page_token = answer.next_page_token;
        if over || page_token.is_empty() {
            return Ok((wins, true));
        }
    }
    Ok((wins, false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_read_in_units_of_its_currency() {
        let minor = |text, currency| amount(text, currency).ok();
        assert_eq!(
            (minor("84", "EUR"), minor("84.5", "EUR"), minor(".05", "EUR")),
            (Some(8_400), Some(8_450), Some(5))
        );
        assert_eq!((minor("84", "JPY"), minor("1.5", "KWD")), (Some(84), Some(1_500)));
        for wrong in ["", ".", "-1", "1.234", "1e3", "99999999999999999999"] {
            assert_eq!(minor(wrong, "EUR"), None, "{wrong}");
        }
        assert_eq!(minor("0.5", "JPY"), None);
    }
}
