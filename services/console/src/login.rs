use crate::{
    api::Api,
    app::App,
    document,
    failure::Failure,
    fields::{Fields, query},
    sessions::Who,
    visit::{Form, cookie, cookie_name, filled_in},
};
use axum::{
    extract::{Request, State},
    response::{IntoResponse, Redirect, Response},
};
use http::{HeaderValue, StatusCode, header};
use maud::html;
use motherlode_proto::report::v1::{Caller, GetIdentityRequest};
use motherlode_runtime::access::Roles;
use serde_json::Value;
use tonic::Code;

pub(crate) async fn page(State(app): State<App>, request: Request) -> Result<Response, Failure> {
    let fields = Fields::parse(request.uri().query().unwrap_or("").as_bytes());
    let next = local(fields.get("next"));
    let open = is_open(&app).await?;
    let known = cookie(&app, request.headers()).and_then(|id| app.sessions.find(id)).is_some();
    let code = if known { StatusCode::OK } else { StatusCode::UNAUTHORIZED };
    let code = if fields.get("next").is_empty() { StatusCode::OK } else { code };
    let why = match fields.get("why") {
        "" => None,
        "TOKEN_EXPIRED" => Some("The token has expired. Log in with a newer token."),
        "TOKEN_UNKNOWN" => Some("No operator's credential has this token."),
        _ => Some("Your session has ended. Log in again."),
    };
    Ok(document::alone(
        code,
        "Log in",
        html! {
            @if let Some(why) = why { p.notice role="status" { (why) } }
            @if known { p { "You are logged in. " a href=(next) { "Continue to the page" } "." } }
            form.login method="post" action="/login" {
                input type="hidden" name="next" value=(next);
                @if open {
                    p.notice {
                        "No operators are configured, so no token is checked: anyone who can reach this address has all "
                        "permissions. The console listens on this machine only."
                    }
                    button type="submit" { "Open the console" }
                } @else {
                    p {
                        label for="token" { "Token" }
                        input #token type="password" name="token" required maxlength="512" autocomplete="off" autofocus spellcheck="false";
                    }
                    button type="submit" { "Log in" }
                    p.note {
                        "The token of one of your operator's credentials. The credential's roles are your permissions. "
                        "The token is kept in the service's memory until you log out or are idle for 15 minutes."
                    }
                }
            }
        },
    ))
}

pub(crate) async fn log_in(State(app): State<App>, request: Request) -> Result<Response, Failure> {
    let before = cookie(&app, request.headers()).map(str::to_owned);
    let fields = filled_in(request.into_body()).await?;
    let next = local(fields.get("next"));
    let token = Some(fields.get("token")).filter(|token| !token.is_empty());
    let who = match who(&app, token).await {
        Ok(who) => who,
        Err(Failure::Refused(status)) if status.code() == Code::Unauthenticated => {
            let again = query("/login", &[("next", next), ("why", &crate::failure::reason(&status))]);
            return Ok(Redirect::to(&again).into_response());
        }
        Err(failure) => return Err(failure),
    };
    // Each log-in gets a new session id, and ends the browser's earlier sessions.
    before.iter().for_each(|id| app.sessions.end(id));
    let id = app.sessions.open(token, who)?;
    tracing::info!("a user logged in to the console");
    Ok(with_cookie(Redirect::to(next).into_response(), &app, &id, ""))
}

pub(crate) async fn log_out(State(app): State<App>, headers: http::HeaderMap, form: Form) -> Response {
    if form.fields.get("everywhere").is_empty() {
        cookie(&app, &headers).into_iter().for_each(|id| app.sessions.end(id));
    } else {
        app.sessions.end_all(form.visit.who());
    }
    with_cookie(Redirect::to("/login").into_response(), &app, "", "; Max-Age=0")
}

fn with_cookie(mut answer: Response, app: &App, id: &str, more: &str) -> Response {
    let secure = if app.secure { "; Secure" } else { "" };
    let name = cookie_name(app);
    let cookie = format!("{name}={id}; Path=/; HttpOnly; SameSite=Strict{secure}{more}");
    if let Ok(mut cookie) = HeaderValue::from_str(&cookie) {
        cookie.set_sensitive(true);
        answer.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    answer
}

async fn is_open(app: &App) -> Result<bool, Failure> {
    match who(app, None).await {
        Ok(_) => Ok(true),
        Err(Failure::Refused(status)) if status.code() == Code::Unauthenticated => Ok(false),
        Err(failure) => Err(failure),
    }
}

async fn who(app: &App, token: Option<&str>) -> Result<Who, Failure> {
    let api = Api::new(app.backend.clone(), token);
    let api = api.ok_or(Failure::bad("The token contains characters that are not allowed in a header."))?;
    let identity = api.report().get_identity(GetIdentityRequest {}).await?.into_inner();
    let Some(Caller { operator_id, credential, roles }) = identity.caller else {
        if !app.near {
            let why = "No operators are configured, so there is no log-in. This console refuses access because it can be reached from other machines.";
            return Err(Failure::forbidden(why));
        }
        return Ok(Who { operator: String::new(), credential: String::new(), roles: Roles::ANY });
    };
    let roles = roles.into_iter().map(Value::from).collect::<Value>();
    let roles = serde_json::from_value(roles).unwrap_or(Roles::NONE);
    Ok(Who { operator: operator_id, credential, roles })
}

fn local(next: &str) -> &str {
    let plain = |byte: u8| byte.is_ascii_graphic() && byte != b'\\';
    let own = next.starts_with('/') && !next.starts_with("//") && next.bytes().all(plain) && next.len() <= 512;
    let entrance = next.starts_with("/login") || next.starts_with("/logout");
    if own && !entrance { next } else { "/" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pl_27_a_log_in_goes_on_to_no_other_place() {
        for own in ["/", "/round/acme/alice/1", "/reports?kind=2&page=x", "/log/0/7"] {
            assert_eq!(local(own), own);
        }
        for other in [
            "",
            "//evil.example",
            "/\\evil.example",
            "https://evil.example",
            "evil",
            "/a\nb",
            "/a b",
            "/login",
            "/logout",
            "\u{e9}",
        ] {
            assert_eq!(local(other), "/", "{other}");
        }
    }
}
