use crate::{document, fields::query};
use axum::response::{IntoResponse, Redirect, Response};
use http::StatusCode;
use maud::html;
use tonic::{Code, Status};
use tonic_types::StatusExt;

#[derive(Debug)]
pub(crate) enum Failure {
    /// Path to return to after the log-in.
    LoggedOut(String),
    Refused(Box<Status>),
    Said(StatusCode, &'static str),
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
        Self::Said(StatusCode::SERVICE_UNAVAILABLE, "The operating system's random generator failed.")
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
                let why = capital(status.message());
                document::alone(
                    code,
                    title(code),
                    html! {
                        p { (why) "." }
                        p.note { "Reason: " code { (reason(&status)) } }
                    },
                )
            }
            Self::Said(code, why) => document::alone(code, title(code), html! { p { (why) } }),
        }
    }
}

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
        StatusCode::BAD_REQUEST => "Not understood",
        StatusCode::TOO_MANY_REQUESTS => "Too much at once",
        StatusCode::GATEWAY_TIMEOUT => "Too late",
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
