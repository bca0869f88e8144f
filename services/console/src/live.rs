//! Parts of pages that go on by themselves: figures that count, the log's end, work under way.
//!
//! htmx asks for a part of a page again and puts it in its place; that is all it does here. Without a script the page is loaded again
//! as a whole, every few seconds, where somebody asks for that. What moves can be stopped (WCAG 2.2.2). A part that is asked for by
//! itself is no use of a session: who has gone away is logged out in time.

use crate::{failure::Failure, fields::query, shared::FRESH, visit::Visit};
use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use http::{HeaderName, HeaderValue, StatusCode, header};
use maud::{Markup, PreEscaped, html};
use motherlode_proto::report::v1::GetIdentityRequest;
use std::time::Instant;

/// The script, in the binary as all others.
pub(crate) const SCRIPT: &str = "/htmx.js";
/// Seconds from one load of a page to the next, where it has no script.
const EVERY: &str = "5";

/// A part that is asked for again at an address after so many seconds; it stands as it is where there is none, or where somebody has
/// stopped what moves.
pub(crate) fn part(visit: &Visit, address: Option<&str>, seconds: u32, content: Markup) -> Markup {
    match address.filter(|_| visit.query.get("live") != "off") {
        Some(address) => html! {
            div.live hx-get=(address) hx-trigger={ "every " (seconds) "s" } hx-swap="outerHTML" { (content) }
        },
        None => html! { div.live { (content) } },
    }
}

/// Ways to stop what moves and to have it go on; without a script, to have the page loaded again.
pub(super) fn ways(visit: &Visit) -> Markup {
    let (off, again) = (visit.query.get("live") == "off", visit.query.get("every") == EVERY);
    html! {
        p.ways {
            @if off { a href=(visit.path) { "Go on by itself" } }
            @else { a href=(query(&visit.path, &[("live", "off")])) { "Stop what changes by itself" } }
            @if again { " · This page is loaded again every 5 seconds. " a href=(visit.path) { "Stop" } }
        }
        noscript {
            p.ways { a href=(query(&visit.path, &[("every", EVERY)])) { "Load this page again every 5 seconds" } }
        }
    }
}

/// Has the browser load the page again, where somebody asked for that.
pub(super) fn again(visit: &Visit, mut answer: Response) -> Response {
    if visit.query.get("every") == EVERY {
        answer.headers_mut().insert(HeaderName::from_static("refresh"), HeaderValue::from_static(EVERY));
    }
    answer
}

/// A part as an answer.
pub(crate) fn answer(part: Markup) -> Response {
    ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], part.into_string()).into_response()
}

/// A part as an answer: as it was made for somebody with the same rights, or made now.
pub(crate) async fn shared(
    visit: &Visit,
    made: impl Future<Output = Result<Markup, Failure>>,
) -> Result<Response, Failure> {
    let who = visit.who();
    // The word and the forms of a session are in no part that is shared: two with the same rights are shown the same.
    let name = format!("{} {} {}", who.operator, who.roles, visit.asked);
    let Some(part) = visit.app.shared.part(name) else { return Ok(answer(made.await?)) };
    visit.api.report().get_identity(GetIdentityRequest {}).await?;
    let mut held = part.lock().await;
    let fresh = held.as_ref().filter(|(made, _)| made.elapsed() < FRESH).map(|(_, text)| text.clone());
    let text = match fresh {
        Some(text) => text,
        None => {
            let text = made.await?.into_string();
            *held = Some((Instant::now(), text.clone()));
            text
        }
    };
    Ok(answer(PreEscaped(text)))
}

/// The answer in place of a part that can't be had: whoever is logged out is led to the log-in as a whole, and a refusal says that
/// the part is not up to date.
pub(crate) async fn of_part(answer: Response) -> Response {
    if answer.status().is_redirection() {
        let mut led = StatusCode::OK.into_response();
        if let Some(to) = answer.headers().get(header::LOCATION) {
            led.headers_mut().insert(HeaderName::from_static("hx-redirect"), to.clone());
        }
        return led;
    }
    if answer.status().is_success() {
        return answer;
    }
    let told = html! { p.notice role="status" { "This part is not up to date: the service did not answer. Load the page again." } };
    let mut refused = Response::new(Body::from(told.into_string()));
    *refused.status_mut() = answer.status();
    refused.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    refused
}
