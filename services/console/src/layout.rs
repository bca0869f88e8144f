use crate::{
    document::{answer, document, with_script},
    live,
    sessions::Who,
    stops,
    visit::Visit,
};
use axum::response::Response;
use http::StatusCode;
use maud::{Markup, html};
use motherlode_runtime::config::PLATFORM;

/// Navigation entries: path, title and required call. An entry is shown only if the session may make the required call.
const PAGES: [(&str, &str, &str); 9] = [
    ("/", "Now", "GetIdentity"),
    ("/find", "Find", "GetIdentity"),
    ("/players", "Players", "ListPlayers"),
    ("/rounds", "Rounds", "ListOperatorRounds"),
    ("/jackpots", "Jackpots", "GetPool"),
    ("/games", "Games", "ListGames"),
    ("/reports", "Reports", "ListSignificantEvents"),
    ("/trust", "Trust", "GetCheckpoint"),
    ("/log", "Log", "FollowLog"),
];

const OF_OPERATORS: [&str; 2] = ["/players", "/rounds"];

pub(crate) async fn page(visit: &Visit, title: &str, content: Markup) -> Response {
    answer(StatusCode::OK, document(title, frame(visit, title, content).await))
}

pub(crate) async fn live_page(visit: &Visit, title: &str, content: Markup) -> Response {
    let moves = content.0.contains(" hx-get=\"");
    if !moves && visit.query.get("live").is_empty() && visit.query.get("every").is_empty() {
        return page(visit, title, content).await;
    }
    let content = html! { (live::ways(visit)) (content) };
    let page = with_script(title, live::SCRIPT, frame(visit, title, content).await);
    live::again(visit, answer(StatusCode::OK, page))
}

pub(crate) async fn failed(visit: &Visit, title: &str, sought: &str, content: Markup) -> Markup {
    document(title, frame_of(visit, title, sought, content).await)
}

async fn frame(visit: &Visit, title: &str, content: Markup) -> Markup {
    frame_of(visit, title, "", content).await
}

async fn frame_of(visit: &Visit, title: &str, sought: &str, content: Markup) -> Markup {
    let banner = stops::banner(visit).await;
    let (notice, searches) = (visit.session.take_notice(), visit.session.searches());
    let here = |path: &str| match path {
        "/" => visit.path == "/",
        _ => visit.path == path || visit.path.strip_prefix(path).is_some_and(|rest| rest.starts_with('/')),
    };
    html! {
        body.console {
            a.skip href="#main" { "Skip to content" }
            header.top {
                p.brand { a href="/" { "Motherlode" } }
                nav aria-label="Pages" {
                    ul {
                        @for (path, name, call) in PAGES {
                            @if visit.may(call) && (!OF_OPERATORS.contains(&path) || visit.who().operator != PLATFORM) {
                                li { a href=(path) aria-current=[here(path).then_some("page")] { (name) } }
                            }
                        }
                    }
                }
                form.find action="/find" role="search" {
                    label.hidden for="search" { "Find a round, a player or a position" }
                     input #search name="q" type="search" value=[(!sought.is_empty()).then_some(sought)] size="24" list="searches" placeholder="operator/player/round" maxlength="200" autocomplete="off" spellcheck="false" aria-keyshortcuts="/";
                    datalist #searches data-from=[visit.may("ListPlayers").then_some("/live/suggestions")] { @for search in &searches { option value=(search) {} } }
                    button type="submit" { "Find" }
                }
                (who(visit))
            }
            (banner)
            main #main {
                h1 { (named(title)) }
                @if let Some(notice) = notice { p.notice role="status" { (notice) } }
                (content)
            }
        }
    }
}

fn named(title: &str) -> Markup {
    match title.rsplit_once(' ') {
        Some((before, id)) if id.contains('/') => html! { (before) " " span.copy { (id) } },
        _ => html! { (title) },
    }
}

fn who(visit: &Visit) -> Markup {
    let Who { operator, credential, roles } = &**visit.who();
    html! {
        div.who {
            @if operator.is_empty() {
                span { "No access control: everyone has all permissions" }
            } @else {
                span title={ "Roles: " (roles) } { (operator) " · " (credential) }
            }
            form method="post" action="/logout" {
                (word(visit))
                button.plain type="submit" { "Log out" }
                button.plain type="submit" name="everywhere" value="yes" title="Ends every session of this credential" {
                    "Log out everywhere"
                }
            }
        }
    }
}

pub(crate) fn word(visit: &Visit) -> Markup {
    html! { input type="hidden" name="word" value=(visit.session.word); }
}
