//! A round: its picture, step by step, with what was decided from what. Made of GetRound, GetRoundProof, VoidRound and
//! CloseRound.

use super::parts::{act, position};
use crate::{
    document,
    failure::Failure,
    json as told, layout,
    text::{drawn, money},
    visit::{Form, Visit},
};
use axum::{
    extract::Path,
    response::{IntoResponse, Redirect, Response},
};
use maud::{Markup, html};
use motherlode_books::StreamId;
use motherlode_picture::round::{self as picture, Section};
use motherlode_proto::{
    ledger::v1::{GetLogStatusRequest, GetRoundRequest, VoidRoundRequest},
    proof::v1::GetRoundProofRequest,
    round::v1::{Round, RoundState},
    spin::v1::CloseRoundRequest,
};

/// A round's name, as the path has it.
type Named = Path<(String, String, String)>;

fn name(Path((operator, player, number)): Named) -> String {
    format!("{operator}/{player}/{number}")
}

async fn get(visit: &Visit, round_id: String) -> Result<Round, Failure> {
    let answer = visit.api.ledger().get_round(GetRoundRequest { round_id }).await?;
    Ok(answer.into_inner().round.unwrap_or_default())
}

/// The page.
pub(crate) async fn page(named: Named, visit: Visit) -> Result<Response, Failure> {
    let round = get(&visit, name(named)).await?;
    let sections = picture::sections(&round, false);
    let content = html! {
        (head(&visit, &round, record(&visit, &round).await))
        (steps(&round, &sections))
        @for (at, section) in sections.iter().enumerate() { (part(at, section)) }
        (actions(&visit, &round)?)
    };
    Ok(layout::page(&visit, &format!("Round {}", round.round_id), content))
}

/// A link to the record of the bet, for who may see the log: in the player's partition.
async fn record(visit: &Visit, round: &Round) -> Option<Markup> {
    let (account, first) = (round.account.as_ref()?, round.steps.first()?);
    if !visit.may("FollowLog") {
        return Some(html! { (first.position) });
    }
    let status = visit.api.ledger().get_log_status(GetLogStatusRequest {}).await.ok()?.into_inner();
    let partitions = u32::try_from(status.partitions.len()).ok()?.max(1);
    let partition = StreamId::player(&account.operator_id, &account.player_id).partition(partitions);
    Some(position(visit, partition, first.position))
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
            div.tile { span { "Balance after" } b { (money(round.balance_after.as_ref())) } }
        }
        ul.links {
            li { a href={ "/player/" (account.operator_id) "/" (account.player_id) "?currency=" (account.currency_code) } {
                "Player " (account.player_id) } }
            li { a href={ "/games/" (round.game) "/" (round.rules_version) } { "Game " (round.game) " " (round.rules_version) } }
            li { a href={ (path) "/json" } { "Raw JSON" } }
            @if ended && visit.may("GetRoundProof") { li { a href={ (path) "/proof" } { "Download proof" } } }
            @if let Some(record) = record { li { "Log position " (record) } }
        }
    }
}

/// Links to every step.
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

/// A section by its place: the bet is 0, steps are counted from 1.
fn anchor(at: usize) -> String {
    match at {
        0 => "bet".to_owned(),
        at => format!("step-{at}"),
    }
}

fn part(at: usize, Section { title, drawing, picture, facts }: &Section) -> Markup {
    html! {
        section.part.drawn[!drawing.is_empty()] #(anchor(at)) {
            h2 { a.anchor href={ "#" (anchor(at)) } { (title) } }
            (drawn(picture))
            @if !drawing.is_empty() {
                details {
                    summary { "In words" }
                    div.scroll tabindex="0" role="region" aria-label={ (title) " in words" } { pre.drawing { (drawing.trim_matches('\n')) } }
                }
            }
            dl.facts-list {
                @for (what, value) in facts { dt { (what) } dd { (value) } }
            }
        }
    }
}

fn actions(visit: &Visit, round: &Round) -> Result<Markup, Failure> {
    let (open, voided) = (round.state() == RoundState::Open, round.state() == RoundState::Voided);
    let path = format!("/round/{}", round.round_id);
    let close = open && visit.may("CloseRound");
    let void = !voided && visit.may("VoidRound");
    Ok(html! {
        @if close || void {
            section {
                h2 { "Support" }
                @if close {
                    p { "To close the round finishes it for the player as the rule of its game chooses, and pays it." }
                    (act(visit, &format!("{path}/close"), "Close the round", true, &Markup::default())?)
                }
                @if void {
                    p { "To void the round is for a malfunction: the bet is given back, the win is taken back." }
                    (act(visit, &format!("{path}/void"), "Void the round", true, &Markup::default())?)
                }
            }
        }
    })
}

/// The round as the service says it.
pub(crate) async fn json(named: Named, visit: Visit) -> Result<Response, Failure> {
    let round = get(&visit, name(named)).await?;
    let text = told::pretty(&told::of("motherlode.round.v1.Round", &round));
    Ok(([(http::header::CONTENT_TYPE, "application/json; charset=utf-8")], text).into_response())
}

/// Its proof, as a file.
pub(crate) async fn proof(named: Named, visit: Visit) -> Result<Response, Failure> {
    let round_id = name(named);
    let file = format!("{round_id}.tlog-proof");
    let request = GetRoundProofRequest { round_id, without_seals: false };
    let proof = visit.api.proof().get_round_proof(request).await?.into_inner().proof;
    Ok(document::file("text/plain; charset=utf-8", &file, proof))
}

/// Voids it.
pub(crate) async fn void(named: Named, form: Form) -> Result<Redirect, Failure> {
    let round_id = name(named);
    let back = format!("/round/{round_id}");
    let get = |field: &str| form.fields.get(field).to_owned();
    let request = VoidRoundRequest { request_id: get("request"), round_id, reason: get("reason"), actor: get("actor") };
    form.visit.api.ledger().void_round(request).await?;
    Ok(Redirect::to(&back))
}

/// Closes it.
pub(crate) async fn close(named: Named, form: Form) -> Result<Redirect, Failure> {
    let round_id = name(named);
    let back = format!("/round/{round_id}");
    let get = |field: &str| form.fields.get(field).to_owned();
    let request =
        CloseRoundRequest { request_id: get("request"), round_id, reason: get("reason"), actor: get("actor") };
    form.visit.api.spin().close_round(request).await?;
    Ok(Redirect::to(&back))
}
