//! Live parts of pages. htmx replaces them regularly; without JavaScript, the user reloads the page. Updates can be paused
//! (WCAG 2.2.2) and do not extend a session.

use crate::{failure::Failure, fields::query, section_cache::FRESH, visit::Visit};
use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use http::{HeaderName, HeaderValue, StatusCode, header};
use maud::{Markup, PreEscaped, html};
use motherlode_proto::report::v1::GetIdentityRequest;
use std::time::Instant;

pub(crate) const SCRIPT: &str = "/htmx.js";
const EVERY: &str = "5";

pub(crate) fn part(visit: &Visit, address: Option<&str>, seconds: u32, content: Markup) -> Markup {
    match address.filter(|_| visit.query.get("live") != "off") {
        Some(address) => html! {
            div.live hx-get=(address) hx-trigger={ "every " (seconds) "s" } hx-swap="outerHTML" { (content) }
        },
        None => html! { div.live { (content) } },
    }
}

pub(super) fn ways(visit: &Visit) -> Markup {
    let (off, again) = (visit.query.get("live") == "off", visit.query.get("every") == EVERY);
    html! {
        p.ways {
            @if off { a href=(visit.path) { "Resume live updates" } }
            @else { a href=(query(&visit.path, &[("live", "off")])) { "Pause live updates" } }
            @if again { " · This page reloads every 5 seconds. " a href=(visit.path) { "Stop" } }
        }
        noscript {
            p.ways { a href=(query(&visit.path, &[("every", EVERY)])) { "Reload this page every 5 seconds" } }
        }
    }
}

pub(super) fn again(visit: &Visit, mut answer: Response) -> Response {
    if visit.query.get("every") == EVERY {
        answer.headers_mut().insert(HeaderName::from_static("refresh"), HeaderValue::from_static(EVERY));
    }
    answer
}

pub(crate) fn answer(part: Markup) -> Response {
    ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], part.into_string()).into_response()
}

pub(crate) async fn shared(
    visit: &Visit,
    made: impl Future<Output = Result<Markup, Failure>>,
) -> Result<Response, Failure> {
    let who = visit.who();
    // An operator's users with the same roles can share a cached part, because it has no session data.
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

/// Adapts an answer for htmx: a redirect to the log-in applies to the whole page, and a refusal becomes a notice.
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
    let told = html! { p.notice role="status" { "This part is not up to date, because the service did not answer. Reload the page." } };
    let mut refused = Response::new(Body::from(told.into_string()));
    *refused.status_mut() = answer.status();
    refused.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    refused
}
