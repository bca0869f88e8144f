use super::{day, ids, parts::facts, player_names};
use crate::{
    failure::{Failure, capital},
    fields::query,
    layout,
    public::PREFIX,
    text::{money, when, words},
    visit::Visit,
};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use motherlode_proto::{
    ledger::v1::{
        GetLogStatusRequest, GetRequestRequest, RequestOutcome, Transaction, found_id::Kind, request_outcome::State,
    },
    proof::v1::{FindRecordRequest, FindRecordResponse},
    round::v1::{Account, Money},
};
use tonic::{Code, Status};

const ROLLED_BACK: &str = "DEBIT_ROLLED_BACK";

pub(crate) async fn page(visit: Visit) -> Result<Response, Failure> {
    let (asked, currency) = (visit.query.get("q"), visit.query.get("currency"));
    if !asked.is_empty() {
        visit.session.add_search(asked);
    }
    let own = if visit.sees_all() { player_names::only_operator(&visit).await } else { visit.who().operator.clone() };
    let of = visit.query.get("of");
    if is_name(of) && is_name(asked) {
        return of_operator(&visit, of, asked).await;
    }
    match sought(asked, &own) {
        Sought::Nothing => Ok(layout::page(&visit, "Find", form(&visit, Markup::default())).await),
        Sought::Page(path) => Ok(Redirect::to(&path).into_response()),
        Sought::Id { operator, id } => by_id(&visit, operator, id).await,
        Sought::Position(Some(partition), number) => {
            Ok(Redirect::to(&format!("/log/{partition}/{number}")).into_response())
        }
        Sought::Position(None, number) => {
            let found = ids::find(&visit, "", &number.to_string()).await?;
            match (partitions(&visit).await?, found.as_slice()) {
                (0 | 1, []) => Ok(Redirect::to(&format!("/log/0/{number}")).into_response()),
                (several, found) => {
                    let links = html! {
                        section {
                            h2 { "Position " (number) }
                            ul.links { @for partition in 0..several.max(1) { li { a href={ "/log/" (partition) "/" (number) } { "Partition " (partition) } } } }
                        }
                        @if !found.is_empty() { (ids::links(&visit, &number.to_string(), found)) }
                    };
                    Ok(layout::page(&visit, "Find", form(&visit, links)).await)
                }
            }
        }
        Sought::Hash(hash) => match visit.api.proof().find_record(FindRecordRequest { hash }).await {
            Ok(found) => {
                let FindRecordResponse { partition, position } = found.into_inner();
                Ok(Redirect::to(&format!("/log/{partition}/{position}")).into_response())
            }
            Err(status) => refused(&visit, status).await,
        },
        Sought::Request { operator, player, request } => {
            let currency_code = if currency.is_empty() { "EUR" } else { currency }.to_owned();
            let account = Account { operator_id: operator.to_owned(), player_id: player.to_owned(), currency_code };
            asked_for(&visit, &account, request).await
        }
        Sought::Unclear => {
            let told = html! { p.notice role="status" { "No page, round, player, request or record has this name. Use one of the forms below." } };
            Ok(layout::page(&visit, "Find", form(&visit, told)).await)
        }
    }
}

async fn by_id(visit: &Visit, operator: &str, id: &str) -> Result<Response, Failure> {
    if !visit.may("FindId") && !operator.is_empty() {
        return Ok(Redirect::to(&format!("/player/{operator}/{id}")).into_response());
    }
    let found = ids::find(visit, operator, id).await?;
    match found.as_slice() {
        [] => unknown(visit, operator, id).await,
        [one] if one.kind() != Kind::Session => Ok(Redirect::to(&ids::path(one, id)).into_response()),
        all => Ok(layout::page(visit, "Find", form(visit, ids::links(visit, id, all))).await),
    }
}

async fn unknown(visit: &Visit, operator: &str, id: &str) -> Result<Response, Failure> {
    let own = !operator.is_empty() && visit.owns(operator) && visit.may("ListPlayers");
    let names = if own { player_names::near(visit, operator, id).await } else { vec![] };
    let told = html! {
        p.notice role="status" { "No player, request, session or campaign that you may see has this id." }
        @if !visit.may("FindId") { p { "To find requests, sessions and campaigns, you need the role wallet, support or audit." } }
        (player_names::similar(operator, id, &names))
    };
    Ok(layout::page(visit, "Find", form(visit, told)).await)
}

async fn of_operator(visit: &Visit, operator: &str, request: &str) -> Result<Response, Failure> {
    let (operator_id, request_id) = (operator.to_owned(), request.to_owned());
    let asked = GetRequestRequest { operator_id, request_id, ..Default::default() };
    match visit.api.ledger().get_request(asked).await {
        Ok(answer) => {
            let found = outcome(request, "", &answer.into_inner().outcome.unwrap_or_default());
            Ok(layout::page(visit, "Find", form(visit, found)).await)
        }
        Err(status) => refused(visit, status).await,
    }
}

/// A request that is not in the log may be a refused bet, so the player's limits are shown for it.
async fn asked_for(visit: &Visit, account: &Account, request: &str) -> Result<Response, Failure> {
    let asked =
        GetRequestRequest { account: Some(account.clone()), request_id: request.to_owned(), ..Default::default() };
    let of = match visit.api.ledger().get_request(asked).await {
        Ok(answer) => answer.into_inner().outcome.unwrap_or_default(),
        Err(status) => return refused(visit, status).await,
    };
    let found = html! {
        (outcome(request, &account.currency_code, &of))
        @if of.state() == State::Unseen {
            p { "A refused bet leaves no record. If the request was a bet, one of these limits of the player may be the reason:" }
            (day::today(visit, account).await?)
        }
    };
    Ok(layout::page(visit, "Find", form(visit, found)).await)
}

async fn refused(visit: &Visit, status: Status) -> Result<Response, Failure> {
    if status.code() == Code::Unauthenticated {
        return Err(status.into());
    }
    let told = html! { p.notice role="status" { (capital(status.message())) "." } };
    Ok(layout::page(visit, "Find", form(visit, told)).await)
}

async fn partitions(visit: &Visit) -> Result<u32, Failure> {
    match visit.api.ledger().get_log_status(GetLogStatusRequest {}).await {
        Ok(status) => Ok(status.into_inner().partition_count.max(1)),
        Err(status) if status.code() == Code::Unauthenticated => Err(status.into()),
        Err(_) => Ok(1),
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Sought<'a> {
    Nothing,
    Page(String),
    Position(Option<u32>, u64),
    Hash(Vec<u8>),
    /// Id of a player, request, session or campaign. If `operator` is empty, all operators that the caller may see are
    /// searched.
    Id {
        operator: &'a str,
        id: &'a str,
    },
    Request {
        operator: &'a str,
        player: &'a str,
        request: &'a str,
    },
    Unclear,
}

fn hash(text: &str) -> Option<Sought<'_>> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let byte = |pair: &[u8; 2]| match pair.iter().all(u8::is_ascii_hexdigit) {
        true => u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok(),
        false => None,
    };
    let bytes: Vec<_> = pairs.iter().map(byte).collect::<Option<_>>()?;
    (rest.is_empty() && bytes.len() == 32).then_some(Sought::Hash(bytes))
}

fn position(text: &str) -> Option<Sought<'_>> {
    match text.split_once(':') {
        Some((partition, number)) => Some(Sought::Position(Some(partition.parse().ok()?), whole_number(number)?)),
        None => Some(Sought::Position(None, whole_number(text)?)),
    }
}

/// Parses a number. The thousands separators that pages show, as in 88,943, are accepted.
fn whole_number(text: &str) -> Option<u64> {
    let is_grouped = match text.split_once(',') {
        Some((first, rest)) => (1..=3).contains(&first.len()) && rest.split(',').all(|group| group.len() == 3),
        None => true,
    };
    if is_grouped { text.replace(',', "").parse().ok() } else { None }
}

/// Returns the path of a pasted address; for a public page's address, the path of the round's page in the console.
fn pasted(asked: &str) -> Option<String> {
    let (_, rest) = asked.split_once("://")?;
    let path = &rest[rest.find('/')?..];
    let shown = [
        "/round/",
        "/player/",
        "/players",
        "/rounds",
        "/refusals",
        "/open/",
        "/jackpots",
        "/games",
        "/log",
        "/reports",
        "/runbook",
        "/trust",
        "/find",
    ];
    let is_plain = path.bytes().all(|byte| byte.is_ascii_graphic()) && !path.contains(['\\', '"', '<', '>']);
    let path = match path.strip_prefix(PREFIX).map(|round| round.split(['?', '#']).next().unwrap_or_default()) {
        Some(round) => format!("/round/{}", round.trim_end_matches("/proof")),
        None => path.to_owned(),
    };
    let is_page = |page: &&str| {
        let rest = path.strip_prefix(*page);
        rest.is_some_and(|rest| page.ends_with('/') || rest.is_empty() || rest.starts_with(['/', '?', '#']))
    };
    (is_plain && shown.iter().any(is_page)).then_some(path)
}

fn is_name(part: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._~-".contains(&byte);
    !part.is_empty() && part.len() <= 64 && part.bytes().all(allowed)
}

fn sought<'a>(asked: &'a str, own: &'a str) -> Sought<'a> {
    if let Some(path) = pasted(asked) {
        return Sought::Page(path);
    }
    let name = |part: &&str| is_name(part);
    let (named, request) =
        asked.split_once(char::is_whitespace).map_or((asked, ""), |(named, rest)| (named, rest.trim()));
    let parts: Vec<_> = named.split('/').collect();
    let whole = parts.iter().all(name);
    match (parts.as_slice(), request) {
        ([""], _) => Sought::Nothing,
        ([digits], "") if digits.len() == 64 => hash(digits).unwrap_or(Sought::Unclear),
        ([number], "") if position(number).is_some() => position(number).unwrap_or(Sought::Unclear),
        ([id], "") if whole => Sought::Id { operator: own, id },
        ([player], request) if whole && !own.is_empty() && name(&request) => {
            Sought::Request { operator: own, player, request }
        }
        ([player, number], "") if whole && !own.is_empty() && *player != own && number.parse::<u64>().is_ok() => {
            Sought::Page(format!("/round/{own}/{player}/{number}"))
        }
        ([operator, id], "") if whole => Sought::Id { operator, id },
        ([operator, player], request) if whole && name(&request) => Sought::Request { operator, player, request },
        ([operator, player, number], "") if whole && number.parse::<u64>().is_ok() => {
            Sought::Page(format!("/round/{operator}/{player}/{number}"))
        }
        _ => Sought::Unclear,
    }
}

fn form(visit: &Visit, found: Markup) -> Markup {
    let asked = visit.query.get("q");
    let currency = visit.query.get("currency");
    html! {
        form.row method="get" action="/find" {
            p { label for="what" { "Round, player, request, session, campaign, position or hash" }
                input #what name="q" value=(asked) maxlength="200" autocomplete="off" spellcheck="false" size="48"; }
            p { label for="currency" { "Currency" }
                input #currency name="currency" value=(currency) maxlength="3" size="4" placeholder="EUR"; }
            p { button type="submit" { "Find" } }
        }
        (found)
        section {
            h2 { "Searchable names" }
            (facts(&[
                ("A page", html! { "the full address (URL) of any page of this console" }),
                ("A round", html! { kbd { "operator/player/number" } ", the round's id in answers and events; the operator can be omitted if only one operator is possible" }),
                ("A player", html! { kbd { "operator/player" } " finds the player's balances, collections, open rounds and history" }),
                ("A request or a transaction", html! { kbd { "request-id" } " or " kbd { "operator/player request-id" } " finds the outcome and the bookings of a bet, choice, deposit or withdrawal" }),
                ("A session or a campaign", html! { "Enter a session's id to find the player's limits and sessions. Enter a campaign's id to find its free rounds." }),
                ("A record by its hash", html! { "64 hexadecimal digits: the record's SHA-256, as stated in the next record or in the log's head" }),
                ("A position", html! { "Enter a position to find the log's record at this position. For position 42 of partition 2, enter " kbd { "2:42" } "." }),
            ]))
        }
    }
}

fn outcome(request: &str, currency: &str, of: &RequestOutcome) -> Markup {
    let state = match of.state() {
        State::Applied => "The request was applied exactly once.",
        State::Cancelled => "The request was cancelled and will never be applied.",
        State::Refused => "The request was refused or rolled back by the operator's wallet, and will never be applied.",
        State::Pending => {
            "The request's debit is pending at the operator's wallet: the request will be applied or refused."
        }
        State::Unseen | State::Unspecified => "The log does not contain the request.",
    };
    html! {
        section {
            h2 { "Request " (request) }
            p { (state) }
            @if !of.reason.is_empty() { p { "The reason: " (of.reason) } }
            @if of.reason == ROLLED_BACK {
                (facts(&[
                    ("Request id of the debit and its rollback", html! { code { (request) } }),
                    ("Rollback acknowledged", when(of.time.as_ref())),
                    ("Debit less rollback", html! { (money(Some(&Money { amount_minor: 0, currency_code: currency.to_owned() }))) ", because the debit was rolled back and no round was played" }),
                    ("Position", html! { (of.position) }),
                ]))
            } @else if !matches!(of.state(), State::Unseen | State::Pending) {
                (facts(&[("Time", when(of.time.as_ref())), ("Position", html! { (of.position) })]))
            }
            @if let Some(round) = &of.round {
                @let step = if of.step == 0 { String::new() } else { format!("#step-{}", of.step) };
                p { "Round: " a href={ "/round/" (round.round_id) (step) } { (round.round_id) } "." }
            }
        }
        @if let Some(of) = &of.transaction { (transaction(of)) }
    }
}

fn transaction(of: &Transaction) -> Markup {
    let account = of.account.clone().unwrap_or_default();
    let player = format!("{}/{}", account.operator_id, account.player_id);
    html! {
        section {
            h2 { "Transaction " (of.request_id) }
            (facts(&[
                ("Kind", html! { (words(of.kind().as_str_name(), "KIND_")) }),
                ("Player", html! { a href=(query(&format!("/player/{player}"), &[("currency", &account.currency_code)])) { (player) } }),
                ("Amount", html! { (money(of.amount.as_ref())) }),
                ("Balance after the transaction", html! { (money(of.balance.as_ref())) }),
                ("Time", when(of.time.as_ref())),
                ("Requested by", html! { (if of.actor.is_empty() { "–" } else { &of.actor }) }),

            ]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sought_by_all(asked: &str) -> Sought<'_> {
        sought(asked, "")
    }

    #[test]
    fn pl_20_what_is_looked_for_is_known_by_its_form() {
        assert_eq!(sought_by_all(""), Sought::Nothing);
        assert_eq!(sought_by_all("acme/alice/7"), Sought::Page("/round/acme/alice/7".to_owned()));
        assert_eq!(sought_by_all("acme/alice"), Sought::Id { operator: "acme", id: "alice" });
        assert_eq!(sought_by_all("req-1"), Sought::Id { operator: "", id: "req-1" });
        assert_eq!(sought_by_all("42"), Sought::Position(None, 42));
        assert_eq!(sought_by_all("2:42"), Sought::Position(Some(2), 42));
        assert_eq!(sought_by_all("0:88,943"), Sought::Position(Some(0), 88_943), "as pages show it");
        assert_eq!(sought_by_all("1,088,943"), Sought::Position(None, 1_088_943));
        assert_eq!(sought_by_all(&"0F".repeat(32)), Sought::Hash(vec![15; 32]));
        assert_eq!(sought_by_all(&"0g".repeat(32)), Sought::Unclear);
        assert_eq!(sought_by_all(&"+1".repeat(32)), Sought::Unclear);
        let found = Sought::Request { operator: "acme", player: "alice", request: "d-1" };
        assert_eq!(sought_by_all("acme/alice   d-1"), found);
        for unclear in [
            ":42",
            "4,2",
            "0:,943",
            "2:",
            "1:2:3",
            "acme/",
            "//evil.example",
            "acme/alice/x",
            "acme/alice/1/2",
            "a b/c",
            "acme/<b>",
            "acme/alice a/b",
        ] {
            assert_eq!(sought_by_all(unclear), Sought::Unclear, "{unclear}");
        }
    }

    #[test]
    fn pl_20_names_without_an_operator_are_of_the_only_one() {
        let sought = |asked| sought(asked, "acme");
        assert_eq!(sought("alice"), Sought::Id { operator: "acme", id: "alice" });
        assert_eq!(sought("alice/7"), Sought::Page("/round/acme/alice/7".to_owned()));
        assert_eq!(sought("acme/7"), Sought::Id { operator: "acme", id: "7" });
        assert_eq!(sought("bravo/gina"), Sought::Id { operator: "bravo", id: "gina" });
        assert_eq!(sought("alice r-1"), Sought::Request { operator: "acme", player: "alice", request: "r-1" });
        assert_eq!(sought("42"), Sought::Position(None, 42));
        assert_eq!(sought("a b/c"), Sought::Unclear);
    }

    #[test]
    fn an_address_of_a_page_leads_to_the_page_on_this_console() {
        for (asked, path) in [
            ("https://console.example.com/round/acme/alice/7#step-2", "/round/acme/alice/7#step-2"),
            ("http://127.0.0.1:50080/player/acme/alice?currency=SEK", "/player/acme/alice?currency=SEK"),
        ] {
            assert_eq!(sought_by_all(asked), Sought::Page(path.to_owned()));
        }
        for (asked, path) in [
            ("https://check.example.com/check/acme/alice/7?key=0f0f", "/round/acme/alice/7"),
            ("https://check.example.com/check/acme/alice/7/proof?key=0f0f", "/round/acme/alice/7"),
            ("https://x/players?prefix=al", "/players?prefix=al"),
            ("https://x/log?stream=player/acme", "/log?stream=player/acme"),
        ] {
            assert_eq!(sought_by_all(asked), Sought::Page(path.to_owned()));
        }
        for unclear in [
            "https://evil.example",
            "https://evil.example//round",
            "https://x/logout",
            "https://x/login?next=/",
            "https://x/round/<b>",
        ] {
            assert_eq!(sought_by_all(unclear), Sought::Unclear, "{unclear}");
        }
    }
}
