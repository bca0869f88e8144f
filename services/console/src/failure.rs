use crate::{
    document,
    fields::{Fields, query},
};
use axum::response::{IntoResponse, Redirect, Response};
use http::StatusCode;
use maud::{Markup, html};
use tonic::{Code, Status};
use tonic_types::StatusExt;

#[derive(Debug)]
pub(crate) enum Failure {
    /// The request has no valid session. Contains the path to which the user returns after the log-in.
    LoggedOut(String),
    Refused(Box<Status>),
    Said(StatusCode, &'static str),
    Form(Box<RefusedForm>),
}

#[derive(Debug)]
pub(crate) struct RefusedForm {
    /// HTTP status of the page; `None` to derive it from the error `why`.
    pub(crate) code: Option<StatusCode>,
    pub(crate) why: Box<Status>,
    pub(crate) action: String,
    pub(crate) fields: Fields,
}

impl Failure {
    pub(crate) fn bad(why: &'static str) -> Self {
        Self::Said(StatusCode::BAD_REQUEST, why)
    }

    pub(crate) fn forbidden(why: &'static str) -> Self {
        Self::Said(StatusCode::FORBIDDEN, why)
    }

    pub(crate) fn unknown(why: &'static str) -> Self {
        Self::Said(StatusCode::NOT_FOUND, why)
    }

    pub(crate) fn late() -> Self {
        Self::Said(StatusCode::GATEWAY_TIMEOUT, "The service took too long to answer. Try again.")
    }
}

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        Self::Refused(Box::new(status))
    }
}

impl From<getrandom::Error> for Failure {
    fn from(_: getrandom::Error) -> Self {
        Self::Said(StatusCode::SERVICE_UNAVAILABLE, "The operating system returned no random bytes. Try again.")
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        match self {
            Self::LoggedOut(next) => Redirect::to(&query("/login", &[("next", &next)])).into_response(),
            Self::Refused(status) if status.code() == Code::Unauthenticated => {
                Redirect::to(&query("/login", &[("why", &reason(&status))])).into_response()
            }
            Self::Refused(status) => {
                let code = http_status(status.code());
                page(code, &refusal(&status))
            }
            Self::Said(code, why) => page(code, &html! { p { (why) } }),
            Self::Form(form) => {
                let code = form.code.unwrap_or_else(|| http_status(form.why.code()));
                page(code, &html! { (refusal(&form.why)) (again(&form)) })
            }
        }
    }
}

#[derive(Clone)]
pub(crate) struct FailurePage(pub(crate) &'static str, pub(crate) Markup);

fn page(code: StatusCode, content: &Markup) -> Response {
    let page = FailurePage(title(code), content.clone());
    let content = html! {
        (content)
        form.row action="/find" role="search" {
            p { label for="search" { "Round, player or position" }
                input #search name="q" type="search" maxlength="200" autocomplete="off" spellcheck="false"; }
            p { button type="submit" { "Find" } }
        }
        p { a href="/" { "Front page" } }
    };
    let mut answer = document::alone(code, title(code), content);
    answer.extensions_mut().insert(page);
    answer
}

fn refusal(status: &Status) -> Markup {
    html! {
        p { (capital(status.message())) "." }
        @if let Some(roles) = needed(status) { p { "Needed: " (roles) "." } }
        p.note { "Reason: " code { (reason(status)) } }
    }
}

pub(crate) fn needed(status: &Status) -> Option<String> {
    let info = status.get_details_error_info().filter(|info| info.reason == "ROLE_MISSING")?;
    info.metadata.get("roles").cloned()
}

fn again(form: &RefusedForm) -> Markup {
    let typed = |name: &str| TYPED.iter().find(|(typed, _)| *typed == name).map(|(_, label)| *label);
    html! {
        form.act method="post" action=(form.action) {
            @for (name, value) in form.fields.iter() {
                @match typed(name) {
                    Some(label) => { label for=(name) { (label) } input id=(name) name=(name) value=(value) maxlength="256"; }
                    None => { input type="hidden" name=(name) value=(value); }
                }
            }
            button type="submit" { "Try again" }
        }
    }
}

const TYPED: [(&str, &str); 6] = [
    ("reason", "Reason"),
    ("actor", "Ticket"),
    ("incident", "Incident"),
    ("from", "Start of the period in which the bets were placed (inclusive), UTC"),
    ("until", "End of the period in which the bets were placed (exclusive), UTC"),
    ("rounds", "Rounds"),
];

pub(crate) fn reason(status: &Status) -> String {
    let told = status.get_details_error_info().map(|info| info.reason);
    told.unwrap_or_else(|| format!("{:?}", status.code()))
}

pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.trim_end_matches('.').chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    first + letters.as_str()
}

fn title(code: StatusCode) -> &'static str {
    match code {
        StatusCode::NOT_FOUND => "Not found",
        StatusCode::FORBIDDEN => "Not allowed",
        StatusCode::CONFLICT => "Not possible now",
        StatusCode::BAD_REQUEST => "Invalid request",
        StatusCode::TOO_MANY_REQUESTS => "Too many requests",
        StatusCode::GATEWAY_TIMEOUT => "Timeout",
        _ => "Not available",
    }
}

fn http_status(code: Code) -> StatusCode {
    match code {
        Code::NotFound => StatusCode::NOT_FOUND,
        Code::PermissionDenied => StatusCode::FORBIDDEN,
        Code::InvalidArgument | Code::OutOfRange => StatusCode::BAD_REQUEST,
        Code::FailedPrecondition | Code::AlreadyExists | Code::Aborted => StatusCode::CONFLICT,
        Code::ResourceExhausted => StatusCode::TOO_MANY_REQUESTS,
        Code::DeadlineExceeded => StatusCode::GATEWAY_TIMEOUT,
        Code::Unimplemented => StatusCode::NOT_IMPLEMENTED,
        Code::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}
