use super::{
    frames::{self, anchor, part},
    parts::{act, act_at, facts, position},
    postings,
};
use crate::{
    document,
    failure::Failure,
    json, layout,
    text::{money, since, words as in_words},
    visit::{Form, Visit},
};
use axum::{
    extract::Path,
    response::{IntoResponse, Redirect, Response},
};
use http::{HeaderName, HeaderValue};
use maud::{Markup, html};
use motherlode_picture::round::{self as picture, Section};
use motherlode_proto::{
    ledger::v1::{GetLogStatusRequest, GetRoundRequest, VoidRoundRequest, VoidRoundResponse},
    proof::v1::GetRoundProofRequest,
    round::v1::{JackpotWin, Round, RoundState, jackpot_win},
    spin::v1::{CloseRoundRequest, ListOpenRoundsRequest},
};
use motherlode_state::StreamId;

const LETTERS_MAX: usize = 20_000;

pub(super) type Named = Path<(String, String, String)>;

pub(super) fn name(Path((operator, player, number)): Named) -> String {
    format!("{operator}/{player}/{number}")
}

async fn get(visit: &Visit, round_id: String) -> Result<Round, Failure> {
    let answer = visit.api.ledger().get_round(GetRoundRequest { round_id }).await?;
    Ok(answer.into_inner().round.unwrap_or_default())
}

pub(crate) async fn page(named: Named, visit: Visit) -> Result<Response, Failure> {
    let round = get(&visit, name(named)).await?;
    let partition = partition(&visit, &round).await;
    let record = |told: &str| match (partition, told.parse()) {
        (Some(partition), Ok(number)) => position(&visit, partition, number),
        _ => html! { (told) },
    };
    if let Some(at) = visit.query.number::<usize>("frame") {
        let (content, refresh) = picture_by_picture(&visit, &round, at, &record)?;
        let mut answer = layout::page(&visit, &format!("Round {}", round.round_id), content).await;
        answer.headers_mut().extend(refresh.map(|refresh| (HeaderName::from_static("refresh"), refresh)));
        return Ok(answer);
    }
    let content = html! {
        (head(&visit, &round, round.steps.first().map(|first| record(&first.position.to_string()))))
        @if round.state() == RoundState::Open { (waits(&visit, &round).await?) }
        (parts(&round, &frames::linked(&round), &record))
        (postings::shown(&round))
        (actions(&visit, &round)?)
    };
    Ok(layout::page(&visit, &format!("Round {}", round.round_id), content).await)
}

fn picture_by_picture(
    visit: &Visit,
    round: &Round,
    at: usize,
    record: &dyn Fn(&str) -> Markup,
) -> Result<(Markup, Option<HeaderValue>), Failure> {
    let plays = visit.query.get("play") == "on";
    let shown = frames::shown(round, &picture::sections(round, false), at, plays, record);
    let content = shown.ok_or_else(|| Failure::unknown("The round has no picture with this number."))?;
    let next = frames::next(round, at).filter(|_| plays);
    Ok((content, next.and_then(|next| format!("{}; url={next}", frames::STANDS).parse().ok())))
}

async fn partition(visit: &Visit, round: &Round) -> Option<u32> {
    let account = round.account.as_ref().filter(|_| visit.may("FollowLog"))?;
    let status = visit.api.ledger().get_log_status(GetLogStatusRequest {}).await.ok()?.into_inner();
    Some(StreamId::player(&account.operator_id, &account.player_id).partition(status.partition_count))
}

pub(super) fn award(won: &JackpotWin) -> String {
    match (won.state(), &won.amount) {
        (jackpot_win::State::Held, _) => "held".to_owned(),
        (jackpot_win::State::Voided, _) => "not paid".to_owned(),
        (_, None) => "pending".to_owned(),
        (_, amount) => money(amount.as_ref()),
    }
}

fn head(visit: &Visit, round: &Round, record: Option<Markup>) -> Markup {
    let state = match round.state() {
        RoundState::Open => "open",
        RoundState::Settled => "settled",
        RoundState::Voided => "void",
        RoundState::Unspecified => "unknown",
    };
    let account = round.account.clone().unwrap_or_default();
    let path = format!("/round/{}", round.round_id);
    let ended = matches!(round.state(), RoundState::Settled | RoundState::Voided);
    html! {
        div.tiles {
            div.tile { span { "State" } b { (state) } }
            div.tile { span { "Bet" } b { (money(round.bet.as_ref())) } }
            div.tile { span { "Win" } b { (money(round.win.as_ref())) } }
            @for won in &round.jackpots {
                div.tile { span { "Jackpot" } b { (award(won)) } }
            }
            div.tile { span { "Balance after" } b { (money(round.balance_after.as_ref())) } }
        }
        ul.links {
            li { a href={ "/player/" (account.operator_id) "/" (account.player_id) "?currency=" (account.currency_code) } {
                "Player " (account.player_id) } }
            li { a href={ "/games/" (round.game) "/" (round.rules_version) } { "Game " (round.game) " " (round.rules_version) } }
            li { a href=(frames::address(round, 0, false)) { "Step through it" } }
            li { a href=(frames::address(round, 0, true)) { "Play it" } }
            @if round.state() != RoundState::Voided && visit.may("VoidRound") { li { a href={ "#" (VOID) } { "Void" } } }
            li { a href={ (path) "/json" } { "Raw JSON" } }
            @if ended && visit.may("GetRoundProof") {
                li { a href={ (path) "/proof" } { "Download proof" } }
                li { a href={ (path) "/check" } { "Check it here" } }
            }
            @if let Some(record) = record { li { "Log position " (record) } }
        }
    }
}

async fn waits(visit: &Visit, round: &Round) -> Result<Markup, Failure> {
    let account = round.account.clone().unwrap_or_default();
    let (operator_id, player_id) = (account.operator_id, account.player_id);
    let request = ListOpenRoundsRequest { operator_id, player_id, page_size: 100, ..Default::default() };
    let open = visit.api.spin().list_open_rounds(request).await.map(|answer| answer.into_inner().rounds);
    let of = open
        .unwrap_or_default()
        .into_iter()
        .find(|of| of.round.as_ref().is_some_and(|of| of.round_id == round.round_id));
    let resolve = of.and_then(|of| of.resolve_time);
    let close = close_form(visit, round)?;
    Ok(html! {
        section #open {
            h2 { "Open" }
            (facts(&[
                ("Waits for", html! { (in_words(round.awaiting().as_str_name(), "AWAITING_")) " of the player" }),
                ("Since", since(round.steps.last().and_then(|step| step.time.as_ref()), visit.app.sessions.now_ms())),
                ("Will be finished automatically at", html! { @if resolve.is_some() { (since(resolve.as_ref(), visit.app.sessions.now_ms())) } @else { "never: the rules state no time limit" } }),
                ("Closed by", html! { "the role support" }),
            ]))
            (close)
        }
    })
}

fn close_form(visit: &Visit, round: &Round) -> Result<Markup, Failure> {
    if !visit.may("CloseRound") {
        return Ok(Markup::default());
    }
    Ok(html! {
        p { "Closing the round finishes it for the player, as the game's rules prescribe, and pays its win." }
        (act(visit, &format!("/round/{}/close", round.round_id), "Close the round", true, &Markup::default())?)
    })
}

fn steps(round: &Round, sections: &[Section]) -> Markup {
    if round.steps.len() < 2 {
        return Markup::default();
    }
    html! {
        nav.steps aria-label="Steps" {
            ol { @for (at, section) in sections.iter().enumerate() { li { a href={ "#" (anchor(at)) } { (section.title) } } } }
        }
    }
}

fn parts(round: &Round, sections: &[Section], record: &dyn Fn(&str) -> Markup) -> Markup {
    let letters: usize = sections.iter().map(|section| section.drawing.len()).sum();
    html! {
        (steps(round, sections))
        @if letters > LETTERS_MAX {
            ul.links { li { a href={ "/round/" (round.round_id) "/words" } { "All steps, described in words" } } }
        }
        @for (at, section) in sections.iter().enumerate() { (part(at, section, letters <= LETTERS_MAX, record)) }
    }
}

pub(crate) async fn words(named: Named, visit: Visit) -> Result<Response, Failure> {
    let round = get(&visit, name(named)).await?;
    let text = picture::text_of(&round.round_id, &picture::sections(&round, false));
    Ok(([(http::header::CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response())
}

const VOID: &str = "void-reason";

fn actions(visit: &Visit, round: &Round) -> Result<Markup, Failure> {
    if round.state() == RoundState::Voided || !visit.may("VoidRound") {
        return Ok(Markup::default());
    }
    let path = format!("/round/{}/void", round.round_id);
    Ok(html! {
        section {
            h2 { "Support" }
            p { "Voiding is for malfunctions: the bet is refunded, and the win is taken back. If the round hit the \
                 jackpot, a platform credential must approve the void." }
            (act_at(visit, &path, "Void the round", VOID, &Markup::default())?)
        }
    })
}

pub(crate) async fn json(named: Named, visit: Visit) -> Result<Response, Failure> {
    let round = get(&visit, name(named)).await?;
    let text = json::pretty(&json::value("motherlode.round.v1.Round", &round));
    Ok(([(http::header::CONTENT_TYPE, "application/json; charset=utf-8")], text).into_response())
}

pub(crate) async fn proof(named: Named, visit: Visit) -> Result<Response, Failure> {
    let round_id = name(named);
    let file = format!("{round_id}.tlog-proof");
    let request = GetRoundProofRequest { round_id, ..GetRoundProofRequest::default() };
    let proof = visit.api.proof().get_round_proof(request).await?.into_inner().proof;
    Ok(document::file("text/plain; charset=utf-8", &file, proof))
}

pub(crate) async fn void(named: Named, form: Form) -> Result<Redirect, Failure> {
    let round_id = name(named);
    let back = format!("/round/{round_id}");
    let get = |field: &str| form.fields.get(field).to_owned();
    let request = VoidRoundRequest { request_id: get("request"), round_id, reason: get("reason"), actor: get("actor") };
    let answer = form.visit.api.ledger().void_round(request).await.map_err(|status| form.refused(status))?;
    Ok(form.done(&back, voided(&answer.into_inner())))
}

pub(crate) async fn close(named: Named, form: Form) -> Result<Redirect, Failure> {
    let round_id = name(named);
    let back = format!("/round/{round_id}");
    let get = |field: &str| form.fields.get(field).to_owned();
    let request =
        CloseRoundRequest { request_id: get("request"), round_id, reason: get("reason"), actor: get("actor") };
    form.visit.api.spin().close_round(request).await.map_err(|status| form.refused(status))?;
    Ok(form
        .done(&back, "The round was closed: it was finished as the game's rules prescribe, and its win was credited."))
}

fn voided(answer: &VoidRoundResponse) -> String {
    let VoidRoundResponse { refund, win_taken_back, win_left, change_id, .. } = answer;
    if *change_id != 0 {
        return format!("Proposed as change {change_id}: the round becomes void when the platform approves it.");
    }
    let mut notice =
        format!("Voided: {} refunded, {} taken back.", money(refund.as_ref()), money(win_taken_back.as_ref()));
    if win_left.as_ref().is_some_and(|left| left.amount_minor != 0) {
        notice.push_str(&format!(
            " {} of the win could not be taken back, because the player's balance was too low. The operator bears this loss.",
            money(win_left.as_ref())
        ));
    }
    notice
}

#[cfg(test)]
mod tests {
    use super::*;
    use motherlode_proto::round::v1::{Account, Outcome, SpinKind, SpinResult, Step, Win};
    use motherlode_slots::latest_games;

    fn free_spins(game: &'static dyn motherlode_slots::Game, lines: u32) -> Round {
        let (info, symbols) = (game.info(), game.info().symbols.len());
        let cells = usize::try_from(info.reels * info.rows).unwrap();
        let win = |line: u32| Win { line, symbol: line % 8, count: 3 + line % 3, coins: 2_000, ways: 0 };
        let spin = |at: usize| SpinResult {
            kind: SpinKind::Free.into(),
            stops: vec![111; usize::try_from(info.reels).unwrap()],
            rows: info.rows,
            cells: (0..cells).map(|cell| u8::try_from((cell * 5 + at) % symbols).unwrap()).collect(),
            multiplier: 2,
            wins: (1..=lines).map(win).collect(),
            win_coins: 2_000 * u64::from(lines),
            ..SpinResult::default()
        };
        let outcome = Outcome { spins: (0..60).map(spin).collect(), ..Outcome::default() };
        Round {
            round_id: "demo/alice/1".into(),
            account: Some(Account { currency_code: "EUR".into(), ..Account::default() }),
            game: game.name().into(),
            rules_version: game.rules_version().into(),
            model_hash: motherlode_proto::convert::play::hex(&game.model_hash()),
            steps: vec![Step { number: 1, outcome: Some(outcome), ..Step::default() }],
            ..Round::default()
        }
    }

    #[test]
    fn pl_19_a_round_of_60_free_spins_has_at_most_100_kb_whatever_it_won() {
        // Estimated size of the page in bytes, without the round's steps.
        let around = 6_700;
        for game in latest_games().iter().copied() {
            for lines in
                (0..=u32::try_from(game.info().lines.len()).unwrap()).filter(|lines| *lines < 13 || lines % 10 == 0)
            {
                let round = free_spins(game, lines);
                let page = parts(&round, &frames::linked(&round), &|told| html! { (told) }).into_string();
                assert!(page.len() + around <= 100_000, "{} with {lines} lines: {}", game.name(), page.len());
                assert_eq!(page.matches("<svg class=\"reels\"").count(), 60, "every window is drawn");
                assert!(page.contains("<a href=\"?frame=60\">"), "the last window links to its frame");
            }
        }
        let most = latest_games().iter().copied().max_by_key(|game| game.info().lines.len()).unwrap();
        let round = free_spins(most, u32::try_from(most.info().lines.len()).unwrap());
        let sections = frames::linked(&round);
        let page = parts(&round, &sections, &|told| html! { (told) }).into_string();
        assert!(page.contains("href=\"/round/demo/alice/1/words\"") && !page.contains("In words"));
        let words = picture::text_of(&round.round_id, &sections);
        assert!(words.contains("60 free spins won"), "{words}");
    }
}
