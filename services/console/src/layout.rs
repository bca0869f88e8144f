//! The frame around every page.

use crate::{sessions::Who, visit::Visit};
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use maud::{DOCTYPE, Markup, html};

/// The pages that can be gone to from everywhere, each with the call that it's made of.
const PAGES: [(&str, &str, &str); 7] = [
    ("/", "Now", "GetIdentity"),
    ("/find", "Find", "GetIdentity"),
    ("/jackpots", "Jackpots", "GetPool"),
    ("/games", "Games", "ListGames"),
    ("/reports", "Reports", "ListSignificantEvents"),
    ("/trust", "Trust", "GetCheckpoint"),
    ("/log", "Log", "FollowLog"),
];

/// A page within the frame.
pub(crate) fn page(visit: &Visit, title: &str, content: Markup) -> Response {
    answer(StatusCode::OK, document(title, frame(visit, title, content)))
}

/// A page outside of any session: to log in, or to say why there's no other.
pub(crate) fn alone(code: StatusCode, title: &str, content: Markup) -> Response {
    let body = html! {
        body {
            main.alone #main {
                p.brand { a href="/" { "Motherlode" } }
                h1 { (title) }
                (content)
            }
        }
    };
    answer(code, document(title, body))
}

fn document(title: &str, body: Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="robots" content="noindex";
                title { (title) " · Motherlode" }
                link rel="icon" href="/icon.svg" type="image/svg+xml";
                link rel="stylesheet" href="/console.css";
            }
            (body)
        }
    }
}

fn frame(visit: &Visit, title: &str, content: Markup) -> Markup {
    let here = |path: &str| match path {
        "/" => visit.path == "/",
        _ => visit.path.starts_with(path),
    };
    html! {
        body.console {
            a.skip href="#main" { "To the content" }
            header.top {
                p.brand { a href="/" { "Motherlode" } }
                nav aria-label="Pages" {
                    ul {
                        @for (path, name, call) in PAGES {
                            @if visit.may(call) {
                                li { a href=(path) aria-current=[here(path).then_some("page")] { (name) } }
                            }
                        }
                    }
                }
                form.find action="/find" role="search" {
                    label.hidden for="q" { "Find a round, a player or a position" }
                    input #q name="q" type="search" placeholder="operator/player/round" maxlength="200" autocomplete="off" spellcheck="false";
                    button type="submit" { "Find" }
                }
                (who(visit))
            }
            main #main {
                h1 { (title) }
                (content)
            }
        }
    }
}

fn who(visit: &Visit) -> Markup {
    let Who { operator, credential, roles } = &**visit.who();
    html! {
        div.who {
            @if operator.is_empty() {
                span { "Open: everybody may do everything" }
            } @else {
                span title={ "Roles: " (roles) } { (operator) " · " (credential) }
            }
            form method="post" action="/logout" {
                (word(visit))
                button.plain type="submit" { "Log out" }
            }
        }
    }
}

/// The word that says that a form is of this session.
pub(crate) fn word(visit: &Visit) -> Markup {
    html! { input type="hidden" name="word" value=(visit.session.word); }
}

fn answer(code: StatusCode, page: Markup) -> Response {
    let media_type = [(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"))];
    (code, media_type, page.into_string()).into_response()
}

/// A file to be kept.
pub(crate) fn file(media_type: &'static str, name: &str, content: String) -> Response {
    let safe: String = name.chars().map(|letter| if letter.is_ascii_alphanumeric() || ".-_".contains(letter) { letter } else { '-' }).collect();
    let as_file = HeaderValue::from_str(&format!("attachment; filename=\"{safe}\""));
    let as_file = as_file.unwrap_or(HeaderValue::from_static("attachment"));
    let headers = [(header::CONTENT_TYPE, HeaderValue::from_static(media_type)), (header::CONTENT_DISPOSITION, as_file)];
    (headers, content).into_response()
}
