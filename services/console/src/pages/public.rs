//! Public page of a finished round, for anyone who has its link (`Round.check_url`). The page needs no session and
//! shows neither balances nor the player's session. The proof is made only when it is requested.

use super::{frames::part, round::award};
use crate::{
    api::Api,
    app::App,
    document,
    failure::Failure,
    fields::{Fields, query},
    public::{PAGE_COST, PROOF_COST, refused},
    text::money,
};
use axum::{
    extract::{Path, Request, State, rejection::PathRejection},
    response::Response,
};
use http::{HeaderName, HeaderValue, StatusCode};
use maud::{Markup, html};
use motherlode_picture::round::{self as picture, Section, info};
use motherlode_proto::{
    proof::v1::{GetPublicRoundRequest, GetPublicRoundResponse},
    round::v1::{Round, RoundState},
};
use motherlode_runtime::connections::Peer;
use std::{
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
};

/// A malformed path gets the same answer as an unknown round.
type Named = Result<Path<(String, String, String)>, PathRejection>;

const LETTERS_MAX: usize = 20_000;
/// Label of an amount that concerns only the operator, so the public page omits the amount.
const OPERATORS: &str = "Added to the jackpot";

struct Visitor {
    round_id: String,
    link_key: String,
    address: IpAddr,
}

impl Visitor {
    fn new(named: Named, request: &Request) -> Self {
        let round_id = named.map(|Path((operator, player, number))| format!("{operator}/{player}/{number}"));
        let fields = Fields::parse(request.uri().query().unwrap_or("").as_bytes());
        let peer = request.extensions().get::<Arc<Peer>>();
        Self {
            round_id: round_id.unwrap_or_default(),
            link_key: fields.get("key").to_owned(),
            address: peer.map_or(Ipv4Addr::UNSPECIFIED.into(), |peer| peer.address()),
        }
    }

    async fn get(&self, app: &App, with_proof: bool) -> Result<GetPublicRoundResponse, Failure> {
        let public = app.public.as_ref().ok_or(Failure::unknown(""))?;
        let _turn = public.admit(self.address, if with_proof { PROOF_COST } else { PAGE_COST })?;
        let api = Api::new(app.backend.clone(), None).ok_or(Failure::unknown(""))?;
        let (round_id, link_key) = (self.round_id.clone(), self.link_key.clone());
        let asked = GetPublicRoundRequest { round_id, link_key, with_proof };
        Ok(api.proof().get_public_round(asked).await?.into_inner())
    }
}

pub(crate) async fn page(State(app): State<App>, named: Named, request: Request) -> Response {
    let visitor = Visitor::new(named, &request);
    match visitor.get(&app, false).await {
        Ok(GetPublicRoundResponse { round: Some(round), verifier_key, .. }) => {
            unlisted(content(&visitor, &round, &verifier_key))
        }
        Ok(_) => refused(&Failure::unknown("")),
        Err(failure) => refused(&failure),
    }
}

pub(crate) async fn proof(State(app): State<App>, named: Named, request: Request) -> Response {
    let visitor = Visitor::new(named, &request);
    match visitor.get(&app, true).await {
        Ok(GetPublicRoundResponse { proof, .. }) => {
            let name = format!("{}.tlog-proof", visitor.round_id);
            unlisted(document::file("text/plain; charset=utf-8", &name, proof))
        }
        Err(failure) => refused(&failure),
    }
}

fn content(visitor: &Visitor, round: &Round, verifier_key: &str) -> Response {
    let number = visitor.round_id.rsplit('/').next().unwrap_or_default();
    let title = info(round).map_or(round.game.as_str(), |info| &info.title);
    let mut sections = picture::sections(round, false);
    sections.iter_mut().for_each(|section| section.facts.retain(|(what, _)| *what != OPERATORS));
    let content = html! {
        h1 { (title) ", round " (number) }
        (figures(round))
        (check(&visitor.round_id, &visitor.link_key, verifier_key))
        (steps(&sections))
        script type="module" src="/check.js" {}
    };
    let body = html! { body.console { main #main { (content) } } };
    document::answer(StatusCode::OK, document::document(&format!("Round {number}"), body))
}

fn unlisted(mut answer: Response) -> Response {
    answer.headers_mut().insert(HeaderName::from_static("x-robots-tag"), HeaderValue::from_static("noindex, nofollow"));
    answer
}

fn figures(round: &Round) -> Markup {
    let state = if round.state() == RoundState::Voided { "void" } else { "settled" };
    html! {
        div.tiles {
            div.tile { span { "State" } b { (state) } }
            div.tile { span { "Bet" } b { (money(round.bet.as_ref())) } }
            div.tile { span { "Win" } b { (money(round.win.as_ref())) } }
            @for won in &round.jackpots { div.tile { span { "Jackpot" } b { (award(won)) } } }
        }
    }
}

fn check(round_id: &str, link_key: &str, verifier_key: &str) -> Markup {
    let proof = query(&format!("/check/{round_id}/proof"), &[("key", link_key)]);
    html! {
        section #verify {
            h2 { "Verify this round" }
            p { "Each draw's random value was sealed in a signed log before your request. Your browser can check that the \
                 log contains the round, that each revealed value matches its seal, and that the round's seeds result \
                 from these values and your client seeds." }
            p.notice { "The proof contains the round's log records, with the player's id and balances. Share the proof \
                        and the address of this page only with people who may see this data." }
            noscript { p.notice { "Checking in the browser needs JavaScript, which is off." } }
            form #check data-round=(round_id) data-source=(proof) {
                label for="key" { "The log's public key" }
                input #key name="key" value=(verifier_key) required maxlength="400" autocomplete="off" spellcheck="false" aria-describedby="whose";
                p.soft #whose { "This key comes from the service. Replace it with a copy from a source that you trust." }
                label for="proof" { "The proof (loaded when you start the check)" }
                textarea #proof name="proof" rows="3" spellcheck="false" {}
                button type="submit" disabled { "Check it here" }
            }
            p #verdict role="status" {}
            ul #results {}
            p { "To check the round without this page, download the proof and run this command, which also computes each step again from \
                 its seed:" }
            pre.code { "motherlode verify round.tlog-proof --key '" (verifier_key) "'" }
            ul.links { li { a href=(proof) download="round.tlog-proof" { "Download proof" } } }
        }
    }
}

fn steps(sections: &[Section]) -> Markup {
    let letters: usize = sections.iter().map(|section| section.drawing.len()).sum();
    html! {
        @for (at, section) in sections.iter().enumerate() {
            (part(at, section, letters <= LETTERS_MAX, &|told| html! { (told) }))
        }
    }
}
