use crate::{
    failure::{Failure, capital, needed, reason},
    layout,
    sessions::request_id,
    stops::part,
    terms::{explained, explained_in},
    text::{money, when},
    visit::Visit,
};
use maud::{Markup, html};
use motherlode_picture::figures;
use motherlode_proto::{
    ledger::v1::{Change, ListChangesRequest, ListSwitchesRequest, SwitchedOff},
    log::v1::event::Kind,
    report::v1::{SignificantEvent, SignificantKind},
    round::v1::Money,
};
use motherlode_runtime::config::PLATFORM;
use prost::Message;
use tonic::{Code, Response, Status};

pub(crate) fn tile(name: &str, figure: &str) -> Markup {
    html! { div.tile { span { (explained(name)) } b { (figure) } } }
}

pub(crate) fn time(us: u64) -> String {
    match us {
        0 => "–".to_owned(),
        1..1_000 => format!("{us} µs"),
        1_000..1_000_000 => format!("{}.{} ms", us / 1_000, us % 1_000 / 100),
        _ => format!("{}.{} s", us / 1_000_000, us % 1_000_000 / 100_000),
    }
}

pub(crate) fn section<T>(
    title: &str,
    answer: Result<Response<T>, Status>,
    shown: impl FnOnce(T) -> Markup,
) -> Result<Markup, Failure> {
    let inner = match answer {
        Ok(answer) => shown(answer.into_inner()),
        Err(status) if status.code() == Code::Unauthenticated => return Err(status.into()),
        Err(status) if status.code() == Code::PermissionDenied => {
            html! {
                p.note { "Your credential has no role that permits this part of the page." @if let Some(roles) = needed(&status) { " Needed: " (roles) "." } }
            }
        }
        Err(status) => html! { p.note { (capital(status.message())) ". " code { (reason(&status)) } } },
    };
    Ok(html! { section id=(slug(title)) { h2 { (explained(title)) } (inner) } })
}

fn slug(title: &str) -> String {
    title
        .chars()
        .filter(|letter| letter.is_ascii_alphanumeric() || *letter == ' ')
        .collect::<String>()
        .to_lowercase()
        .replace(' ', "-")
}

pub(crate) fn facts(rows: &[(&str, Markup)]) -> Markup {
    html! {
        dl.facts-list {
            @for (name, value) in rows { dt { (explained(name)) } dd { (value) } }
        }
    }
}

pub(crate) fn table(label: &str, head: &[&str], rows: Vec<Vec<Markup>>) -> Markup {
    table_of("scroll", label, &texts(head), rows, vec![])
}

pub(crate) fn wide_table(label: &str, head: &[&str], rows: Vec<Vec<Markup>>) -> Markup {
    table_of("scroll figures", label, &texts(head), rows, vec![])
}

pub(crate) fn summed_table(label: &str, head: &[Markup], rows: Vec<Vec<Markup>>, totals: Vec<Vec<Markup>>) -> Markup {
    table_of("scroll figures", label, head, rows, totals)
}

pub(crate) fn sorted_by(name: &str, path: &str, on: bool) -> Markup {
    html! { a href=(path) aria-current=[on.then_some("true")] { (name) @if on { " ↓" } } }
}

pub(super) fn further(path: &str, token: &str) -> Markup {
    html! { @if !token.is_empty() { p { a href=(path) rel="next" { "Earlier" } } } }
}

pub(crate) fn texts(head: &[&str]) -> Vec<Markup> {
    head.iter().map(|title| html! { (title) }).collect()
}

fn table_of(class: &str, label: &str, head: &[Markup], rows: Vec<Vec<Markup>>, totals: Vec<Vec<Markup>>) -> Markup {
    let align: Vec<_> = (0..head.len()).map(|column| has_figures(&rows, column).then_some("n")).collect();
    let align = |column: usize| align.get(column).copied().flatten();
    html! {
        div class=(class) tabindex="0" role="region" aria-label=(label) {
            table {
                thead { tr { @for (at, title) in head.iter().enumerate() { th scope="col" class=[align(at)] { (explained_in(title)) } } } }
                tbody { @for row in rows { (line(row, align)) } }
                @if !totals.is_empty() { tfoot { @for row in totals { (line(row, align)) } } }
            }
        }
    }
}

fn line(row: Vec<Markup>, align: impl Fn(usize) -> Option<&'static str>) -> Markup {
    html! {
        tr {
            @for (at, cell) in row.into_iter().enumerate() {
                @if at == 0 { th scope="row" class=[align(0)] { (cell) } }
                @else { td class=[align(at)] { (cell) } }
            }
        }
    }
}

fn has_figures(rows: &[Vec<Markup>], column: usize) -> bool {
    let cells =
        || rows.iter().filter_map(|row| row.get(column)).map(shown).filter(|text| !text.is_empty() && text != "–");
    cells().next().is_some() && cells().all(|text| is_figure(&text))
}

fn shown(cell: &Markup) -> String {
    let texts = cell.0.split('<').enumerate().map(|(at, part)| match at {
        0 => part,
        _ => part.split_once('>').map_or("", |(_, text)| text),
    });
    texts.collect::<String>().trim().to_owned()
}

fn is_figure(text: &str) -> bool {
    let (number, unit) = text.split_once(' ').unwrap_or((text, ""));
    let digits = number.trim_start_matches(['-', '−', '+']);
    digits.starts_with(|first: char| first.is_ascii_digit())
        && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b',' || byte == b'.')
        && (unit.is_empty()
            || ["%", "ms", "µs", "s"].contains(&unit)
            || (unit.len() == 3 && unit.bytes().all(|byte| byte.is_ascii_uppercase())))
}

pub(crate) fn act(
    visit: &Visit,
    action: &str,
    button: &str,
    asks_reason: bool,
    more: &Markup,
) -> Result<Markup, Failure> {
    form(visit, action, button, asks_reason.then_some(None), more)
}

pub(crate) fn act_at(visit: &Visit, action: &str, button: &str, id: &str, more: &Markup) -> Result<Markup, Failure> {
    form(visit, action, button, Some(Some(id)), more)
}

fn form(
    visit: &Visit,
    action: &str,
    button: &str,
    reason: Option<Option<&str>>,
    more: &Markup,
) -> Result<Markup, Failure> {
    let id = request_id()?;
    let reason = reason.map(|named| named.map_or_else(|| format!("reason-{}", &id[8..16]), str::to_owned));
    let ticket = format!("ticket-{}", &id[8..16]);
    Ok(html! {
        form.act method="post" action=(action) {
            (layout::word(visit))
            input type="hidden" name="request" value=(id);
            (more)
            @if let Some(reason) = reason {
                label for=(reason) { "Reason" }
                input id=(reason) name="reason" required maxlength="256";
            }
            label for=(ticket) { "Ticket" }
            input id=(ticket) name="actor" maxlength="64" placeholder="optional";
            button type="submit" { (button) }
        }
    })
}

pub(crate) fn proposed(made: &str, change_id: u64) -> String {
    match change_id {
        0 => format!("{made}."),
        change => format!("Proposed as change {change}: a second actor must approve it."),
    }
}

pub(crate) fn round(visit: &Visit, id: &str, record: Option<(u32, u64)>) -> Markup {
    let operator = id.split('/').next().unwrap_or_default();
    match record.filter(|_| visit.may("FollowLog")) {
        _ if visit.owns(operator) => html! { a href={ "/round/" (id) } { (id) } },
        Some((partition, position)) => html! { a href={ "/log/" (partition) "/" (position) } { (id) } },
        None => html! { (id) },
    }
}

pub(crate) fn position(visit: &Visit, partition: u32, position: u64) -> Markup {
    match visit.may("FollowLog") {
        true => html! { a href={ "/log/" (partition) "/" (position) } { (position) } },
        false => html! { (position) },
    }
}

pub(crate) async fn switches(visit: &Visit) -> Result<Markup, Failure> {
    let answer = visit.api.ledger().list_switches(ListSwitchesRequest {}).await;
    section("Switched off", answer, |answer| match answer.switched_off.as_slice() {
        [] => html! { p { "Nothing is switched off: all games accept new rounds." } },
        all => html! {
            @let head = ["Part", "Reason", "By", "Since", "Action"];
            @let columns = if visit.may("SetSwitch") { head.len() } else { head.len() - 1 };
            (table("Switched off", &head[..columns], all.iter().map(|off| switched_off(visit, off)).collect()))
        },
    })
}

fn switched_off(visit: &Visit, off: &SwitchedOff) -> Vec<Markup> {
    let SwitchedOff { switch, reason, actor, time, .. } = off;
    let switch = switch.clone().unwrap_or_default();
    let on = html! {
        input type="hidden" name="operator" value=(switch.operator_id);
        input type="hidden" name="game" value=(switch.game);
        input type="hidden" name="version" value=(switch.rules_version);
        input type="hidden" name="state" value="on";
    };
    let on = if visit.may("SetSwitch") { act(visit, "/switches", "Switch on", true, &on).ok() } else { None };
    let row = [html! { (part(&switch)) }, html! { (reason) }, html! { (actor) }, when(time.as_ref())];
    row.into_iter().chain(on).collect()
}

pub(crate) async fn changes(visit: &Visit) -> Result<Markup, Failure> {
    if !visit.may("ListChanges") {
        return Ok(Markup::default());
    }
    let answer = visit.api.ledger().list_changes(ListChangesRequest {}).await;
    section("Changes waiting for a second actor", answer, |answer| match answer.changes.as_slice() {
        [] => html! { p { "None." } },
        all => html! { @for change in all { (waiting(visit, change)) } },
    })
}

fn waiting(visit: &Visit, change: &Change) -> Markup {
    let Change { change_id, stream, event, actor, propose_time, lapse_time } = change;
    let told = event.as_ref().and_then(|event| crate::json::whole("motherlode.log.v1.Event", &event.encode_to_vec()));
    let form = |path: &str, button: &str, reason, parts: &Markup| {
        act(visit, &format!("/changes/{change_id}/{path}"), button, reason, parts)
    };
    let own = *actor == own_actor(visit);
    let is_void = event.as_ref().is_some_and(|event| matches!(event.kind, Some(Kind::VoidProposed(_))));
    let cost = if is_void { award_cost(*change_id) } else { Markup::default() };
    html! {
        article.card {
            h3 { "Change " (change_id) " of " (stream) }
            (facts(&[
                ("Proposed by", html! { (actor) }),
                ("Proposed", when(propose_time.as_ref())),
                ("Lapses", when(lapse_time.as_ref())),
            ]))
            @if let Some(told) = told { pre.code { (crate::json::pretty(&told)) } }
            div.acts {
                @if own { p { "You proposed this change, so another actor must approve it." } }
                @else { (form("approve", "Approve", false, &cost).unwrap_or_default()) }
                (form("reject", if own { "Withdraw" } else { "Reject" }, true, &Markup::default()).unwrap_or_default())
            }
        }
    }
}

fn own_actor(visit: &Visit) -> String {
    let who = visit.who();
    if who.operator == PLATFORM { who.credential.clone() } else { format!("{}/{}", who.operator, who.credential) }
}

/// Form field for the party that bears the cost of an already paid award, if the void of its round is approved (PL-38).
fn award_cost(change_id: u64) -> Markup {
    let id = format!("cost-{change_id}");
    html! {
        label for=(id) { "Party that bears the cost of a paid jackpot" }
        select id=(id) name="award_cost" {
            option value="0" { "none: the jackpot was not paid" }
            option value="1" { "the operator" }
            option value="2" { "the platform" }
        }
    }
}

pub(crate) fn events(visit: &Visit, events: &[SignificantEvent]) -> Markup {
    let row = |event: &SignificantEvent| {
        let subject = match event.subject.split('/').count() {
            3 if !event.subject.contains(' ') => round(visit, &event.subject, Some((event.partition, event.position))),
            _ => html! { (event.subject) },
        };
        let by = match event.approver.as_str() {
            "" => event.actor.clone(),
            approver => format!("{}, approved by {approver}", event.actor),
        };
        vec![
            when(event.time.as_ref()),
            html! { (kind(event.kind())) },
            subject,
            html! { (in_units(&event.before)) @if !event.before.is_empty() { " → " } (in_units(&event.after)) },
            html! { (by) },
            html! { (event.reason) },
            position(visit, event.partition, event.position),
        ]
    };
    match events {
        [] => html! { p { "No activity." } },
        events => table(
            "Significant events",
            &["Time", "Kind", "Subject", "Change", "By", "Reason", "Position"],
            events.iter().map(row).collect(),
        ),
    }
}

/// Replaces each amount such as `100 EUR minor units` with `1.00 EUR`, and each time such as `1000 ms of 1970` with its
/// date.
pub(super) fn in_units(text: &str) -> String {
    let words: Vec<_> = text.split(' ').collect();
    let (mut shown, mut at) = (vec![], 0);
    while let Some(word) = words.get(at) {
        let amount = match words.get(at..at + 4) {
            Some([amount, currency, "minor", units]) => units.strip_prefix("units").and_then(|rest| {
                let (amount_minor, currency_code) = (amount.parse().ok()?, (*currency).to_owned());
                Some(money(Some(&Money { amount_minor, currency_code })) + rest)
            }),
            _ => None,
        };
        let time = match words.get(at..at + 4) {
            Some([ms, "ms", "of", "1970"]) => ms.parse().ok().map(figures::iso),
            _ => None,
        };
        at += if amount.is_some() || time.is_some() { 4 } else { 1 };
        shown.push(amount.or(time).unwrap_or_else(|| (*word).to_owned()));
    }
    shown.join(" ")
}

pub(crate) fn kind(kind: SignificantKind) -> String {
    crate::text::words(kind.as_str_name(), "SIGNIFICANT_KIND_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pl_22_amounts_of_significant_events_are_shown_in_their_currency() {
        for (stored, shown) in [
            ("won 1234 EUR minor units", "won 12.34 EUR"),
            (
                "jackpot of pool bewitched: 500 JPY minor units, -5 SEK minor units",
                "jackpot of pool bewitched: 500 JPY, -0.05 SEK",
            ),
            ("void: 15 minor units refunded, 0 taken back", "void: 15 minor units refunded, 0 taken back"),
            ("x EUR minor units", "x EUR minor units"),
            (
                "1 players of partition 0 wait since 1000 ms of 1970",
                "1 players of partition 0 wait since 1970-01-01T00:00:01.000Z",
            ),
            ("", ""),
        ] {
            assert_eq!(in_units(stored), shown);
        }
    }

    #[test]
    fn columns_of_figures_are_aligned_to_the_right() {
        for figure in ["0", "1,200", "-0.10 EUR", "94.02 %", "2.1 ms"] {
            assert!(is_figure(figure), "{figure}");
        }
        for other in ["", "2026-11-27", "2026-11-27T10:00:00Z", "1.6.1 x", "3 of 10", "EUR", "12 rounds"] {
            assert!(!is_figure(other), "{other}");
        }
        let row = |name: &str, position: &str| {
            vec![html! { (name) }, html! { a href="/log/0/7" { (position) } }, html! { "–" }]
        };
        let table = table("Rounds", &["Round", "Position", "Win"], vec![row("acme/alice/1", "7"), row("12", "1,200")]);
        let text = table.into_string();
        assert_eq!(text.matches("class=\"n\"").count(), 3, "the head and both cells of one column: {text}");
        assert!(text.contains("<th scope=\"col\" class=\"n\">Position</th>"), "{text}");
    }
}
