use super::{
    jobs,
    parts::{changes, events, facts, section, switches, table},
    switches::choice,
};
use crate::{
    failure::Failure,
    layout,
    text::{count, when},
    visit::{Form, Visit},
};
use axum::{
    extract::Path,
    response::{Redirect, Response},
};
use maud::{Markup, html};
use motherlode_proto::{
    ledger::v1::{ApproveChangeRequest, GetLogStatusRequest, RejectChangeRequest},
    proof::v1::GetCheckpointRequest,
    report::v1::{
        GetIdentityRequest, GetIdentityResponse, ListSignificantEventsRequest, RunSelfCheckRequest, SignificantKind,
    },
};

pub(crate) async fn page(visit: Visit) -> Result<Response, Failure> {
    show(&visit, Markup::default()).await
}

pub(crate) async fn check(form: Form) -> Result<Response, Failure> {
    let found = form.visit.api.report().run_self_check(RunSelfCheckRequest {}).await?.into_inner();
    let told = html! {
        div.notice role="status" {
            p { "Checked at " (when(found.time.as_ref())) ". "
                @if found.failures.is_empty() { "No faults were found in the program or the books." } @else { strong.bad { "Faults were found." } } }
            ul { @for failure in &found.failures { li { (failure) } } }
        }
    };
    show(&form.visit, told).await
}

async fn show(visit: &Visit, told: Markup) -> Result<Response, Failure> {
    let identity = visit.api.report().get_identity(GetIdentityRequest {}).await?.into_inner();
    let content = html! {
        (told)
        (program(visit, &identity))
        @for partition in 0..partitions(visit).await { (checkpoint(visit, partition).await?) }
        (jobs::audits(visit).await?)
        (resealed(visit).await?)
        (switches(visit).await?)
        (choice(visit, &identity).await?)
        (changes(visit).await?)
    };
    Ok(layout::live_page(visit, "Trust", content).await)
}

fn program(visit: &Visit, identity: &GetIdentityResponse) -> Markup {
    let rows = identity
        .models
        .iter()
        .map(|of| vec![html! { (of.game) }, html! { (of.rules_version) }, html! { code { (of.model_sha256) } }]);
    html! {
        section {
            h2 { "The program" }
            (facts(&[
                ("Version", html! { (identity.version) }),
                ("SHA-256 of the executable", html! { code { (identity.executable_sha256) } }),
                ("SHA-256 of the configuration", html! { code { (identity.configuration_sha256) } }),
                ("Dealer", html! { (if identity.test_build { "test script: not for play" } else { "sealed draws" }) }),
            ]))
            details { summary { "Data files of the games in this program" }
                (table("Models", &["Game", "Rules", "SHA-256 of the data file"], rows.collect())) }
            @if visit.may("RunSelfCheck") {
                form.act method="post" action="/trust/check" { (layout::word(visit)) button type="submit" { "Check the executable and the books now" } }
            }
        }
    }
}

async fn partitions(visit: &Visit) -> u32 {
    let status = visit.api.ledger().get_log_status(GetLogStatusRequest {}).await;
    status.map_or(1, |status| status.into_inner().partition_count.max(1))
}

async fn checkpoint(visit: &Visit, partition: u32) -> Result<Markup, Failure> {
    let answer = visit.api.proof().get_checkpoint(GetCheckpointRequest { partition }).await;
    section(&format!("Checkpoint of partition {partition}"), answer, |told| {
        html! {
            p.note { (format!("The signature covers the first {} records. ", count(told.size))) "A copy of this checkpoint, \
                 kept elsewhere, reveals any later change to these records." }
            pre.code { (told.checkpoint) }
            @match cosigners(&told.checkpoint).as_slice() {
                [] => p { "No witness has cosigned this checkpoint." },
                names => p { "Cosigned by " (names.join(", ")) "." },
            }
            (facts(&[("Verifier key, to compare with a copy from a trusted source", html! { code { (told.verifier_key) } })]))
        }
    })
}

fn cosigners(checkpoint: &str) -> Vec<&str> {
    let signed = checkpoint.split_once("\n\n").map_or("", |(_, signatures)| signatures);
    let names = signed.lines().filter_map(|line| line.strip_prefix("\u{2014} ")?.split(' ').next());
    names.skip(1).collect()
}

async fn resealed(visit: &Visit) -> Result<Markup, Failure> {
    if !visit.may("ListSignificantEvents") {
        return Ok(Markup::default());
    }
    let request = ListSignificantEventsRequest {
        kinds: vec![SignificantKind::DrawKeyLost.into(), SignificantKind::SealsEnded.into()],
        page_size: 8,
        ..Default::default()
    };
    let answer = visit.api.report().list_significant_events(request).await;
    section("Reseals", answer, |answer| {
        html! {
            p.note { "A draw gets a new value and seal if its key is lost, or if the service could not rule out a loss of records when it started. The log records each such draw, and the audit counts them." }
            (events(visit, &answer.events))
        }
    })
}

pub(crate) async fn approve(Path(change_id): Path<u64>, form: Form) -> Result<Redirect, Failure> {
    let award_cost = form.fields.get("award_cost").parse().unwrap_or_default();
    let get = |field: &str| form.fields.get(field).to_owned();
    let (request_id, actor) = (get("request"), get("actor"));
    let request = ApproveChangeRequest { request_id, change_id, award_cost, actor };
    let answer = form.visit.api.ledger().approve_change(request).await.map_err(|status| form.refused(status))?;
    let position = answer.into_inner().position;
    Ok(form.done("/trust", format!("Change {change_id} was approved and took effect at log position {position}.")))
}

pub(crate) async fn reject(Path(change_id): Path<u64>, form: Form) -> Result<Redirect, Failure> {
    let get = |field: &str| form.fields.get(field).to_owned();
    let request =
        RejectChangeRequest { request_id: get("request"), change_id, reason: get("reason"), actor: get("actor") };
    form.visit.api.ledger().reject_change(request).await.map_err(|status| form.refused(status))?;
    Ok(form.done("/trust", format!("Change {change_id} was rejected. Nothing has changed.")))
}
