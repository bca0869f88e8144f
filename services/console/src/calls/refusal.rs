use crate::{failure::Failure, json};
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use motherlode_runtime::{
    Reason, Refusal,
    refusals::{self, Refused},
};
use serde_json::{Value, json};
use tonic::{Code, Status};
use tonic_types::StatusExt as _;

pub(super) fn refused(status: &Status) -> Response {
    let headers = [(header::CONTENT_TYPE, "application/json")];
    let code = match status.get_details_error_info().map(|info| info.reason) {
        Some(reason) if reason == Reason::ContentTypeUnknown.name() => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        _ => http_status(status.code()),
    };
    let mut answer = (code, headers, json(status).to_string()).into_response();
    if status.code() == Code::Unauthenticated {
        answer.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    answer
}

pub(crate) fn answer(failure: Failure, path: &str) -> Response {
    match path.starts_with("/v1/") || path == "/openapi.json" {
        true => of_failure(failure),
        false => failure.into_response(),
    }
}

fn of_failure(failure: Failure) -> Response {
    let (code, why) = match failure {
        Failure::Refused(status) => return refused(&status),
        Failure::Form(form) => return refused(&form.why),
        Failure::LoggedOut(_) => (Code::Unauthenticated, "the call needs the header `authorization: Bearer <token>`"),
        Failure::Said(StatusCode::NOT_FOUND, why) => (Code::Unimplemented, why),
        Failure::Said(StatusCode::FORBIDDEN, why) => (Code::PermissionDenied, why),
        Failure::Said(StatusCode::GATEWAY_TIMEOUT, why) => (Code::DeadlineExceeded, why),
        Failure::Said(StatusCode::BAD_REQUEST, why) => (Code::InvalidArgument, why),
        Failure::Said(StatusCode::METHOD_NOT_ALLOWED, why) => {
            let refusal = Refusal::new(Reason::HttpRefused, why).with_code(Code::Unimplemented);
            let mut answer = refused(&here(refusal));
            *answer.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
            return answer;
        }
        Failure::Said(_, why) => (Code::Unavailable, why),
    };
    refused(&here(Refusal::new(Reason::HttpRefused, why).with_code(code)))
}

/// Logs the console's own refusal; the middleware logs the refusals of services.
pub(super) fn here(refusal: Refusal) -> Status {
    refusals::note(&Refused::new(&refusal, "_OTHER"));
    refusal.into()
}

pub(super) fn json(status: &Status) -> Value {
    let plain = || json!({ "code": i32::from(status.code()), "message": status.message(), "details": [] });
    match status.details() {
        [] => plain(),
        details => json::canonical("google.rpc.Status", details).unwrap_or_else(plain),
    }
}

fn http_status(code: Code) -> StatusCode {
    match code {
        Code::Ok => StatusCode::OK,
        Code::Cancelled => StatusCode::from_u16(499).unwrap_or(StatusCode::BAD_REQUEST),
        Code::InvalidArgument | Code::FailedPrecondition | Code::OutOfRange => StatusCode::BAD_REQUEST,
        Code::DeadlineExceeded => StatusCode::GATEWAY_TIMEOUT,
        Code::NotFound => StatusCode::NOT_FOUND,
        Code::AlreadyExists | Code::Aborted => StatusCode::CONFLICT,
        Code::PermissionDenied => StatusCode::FORBIDDEN,
        Code::Unauthenticated => StatusCode::UNAUTHORIZED,
        Code::ResourceExhausted => StatusCode::TOO_MANY_REQUESTS,
        Code::Unimplemented => StatusCode::NOT_IMPLEMENTED,
        Code::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        Code::Unknown | Code::Internal | Code::DataLoss => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pl_12_a_refusal_in_json_has_all_its_details() {
        let refusal = Refusal::field("stake.lines", "must be 1 to 15").with("lines_max", 15);
        let told = json(&refusal.retry_after(std::time::Duration::from_millis(1_500)).into());
        assert_eq!((&told["code"], &told["message"]), (&3.into(), &"stake.lines: must be 1 to 15".into()));
        let of = |name: &str| {
            let named = format!("type.googleapis.com/google.rpc.{name}");
            told["details"].as_array().unwrap().iter().find(|detail| detail["@type"] == named.as_str()).unwrap()
        };
        assert_eq!(of("ErrorInfo")["metadata"]["lines_max"], "15");
        assert_eq!(of("BadRequest")["fieldViolations"][0]["field"], "stake.lines");
        assert_eq!(of("RetryInfo")["retryDelay"], "1.500s");
    }
}
