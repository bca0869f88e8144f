//! Checks the host name of each request and the origin of each form, and adds security headers.

use crate::{
    app::App,
    calls,
    failure::Failure,
    public::{self, Public},
};
use axum::{
    extract::{Request, State},
    middleware::Next,
    response::Response,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Version, header};
use std::time::Duration;

const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self' data:; script-src 'self'; connect-src 'self'; form-action 'self'; \
                      frame-ancestors 'none'; base-uri 'none'";
const TLS_ONLY: &str = "max-age=31536000";
const NO_PAGE: &str = "This host name serves only the public pages of rounds.";
const PAGE_MAX: Duration = Duration::from_secs(30);

pub(crate) async fn guard(State(app): State<App>, request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    let is_public = path.starts_with(public::PREFIX);
    let mut answer = match check(&app, &request) {
        Err(failure @ Failure::Said(_, NO_PAGE)) => public::refused(&failure),
        Err(failure) => calls::answer(failure, &path),
        Ok(()) => match tokio::time::timeout(PAGE_MAX, next.run(request)).await {
            Ok(answer) => answer,
            Err(_) => calls::answer(Failure::late(), &path),
        },
    };
    let headers = answer.headers_mut();
    let fixed = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        // No referrer is sent from a public page, because the page's address contains the round's key.
        (header::REFERRER_POLICY, if is_public { "no-referrer" } else { "same-origin" }),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if app.secure {
        headers.insert(header::STRICT_TRANSPORT_SECURITY, HeaderValue::from_static(TLS_ONLY));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    answer
}

fn check(app: &App, request: &Request) -> Result<(), Failure> {
    let host = host(request);
    if app.public.as_ref().is_some_and(|public| public.has_host(host)) && !app.names.lists(host) {
        let served = Public::serves(request.uri().path()) && matches!(*request.method(), Method::GET | Method::HEAD);
        return if served { Ok(()) } else { Err(Failure::unknown(NO_PAGE)) };
    }
    if !app.names.allow(host) {
        return Err(Failure::bad(
            "The console does not accept this host name. Use the address printed by the console at startup.",
        ));
    }
    match *request.method() {
        Method::GET | Method::HEAD => Ok(()),
        Method::POST if from_here(request.headers(), host, app.secure) => Ok(()),
        Method::POST => Err(Failure::forbidden("This form was not sent from a page of the console.")),
        _ => Ok(()),
    }
}

fn host(request: &Request) -> &str {
    let of_target = || request.uri().authority().map(http::uri::Authority::as_str);
    let told = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    match request.version() {
        Version::HTTP_2 => of_target().or(told),
        _ => told.or_else(of_target),
    }
    .unwrap_or("")
}

fn from_here(headers: &HeaderMap, host: &str, secure: bool) -> bool {
    let said = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let site = said("sec-fetch-site").is_none_or(|site| site == "same-origin");
    let scheme = if secure { "https" } else { "http" };
    let origin = said("origin").is_none_or(|origin| origin.eq_ignore_ascii_case(&format!("{scheme}://{host}")));
    site && origin
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pl_27_a_form_from_another_page_is_told_by_what_the_browser_says() {
        let from = |name: &'static str, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            from_here(&headers, "localhost:1", false)
        };
        assert!(from_here(&HeaderMap::new(), "localhost:1", false));
        assert!(from("origin", "http://localhost:1") && from("sec-fetch-site", "same-origin"));
        for origin in ["null", "http://localhost:2", "https://localhost:1", "http://evil.example", ""] {
            assert!(!from("origin", origin), "{origin}");
        }
        for site in ["cross-site", "same-site", "none", "\u{e9}"] {
            assert!(!from("sec-fetch-site", site), "{site}");
        }
    }
}
