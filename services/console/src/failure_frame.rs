use crate::{
    app::App,
    failure::FailurePage,
    layout,
    visit::{OF_PARTS, Visit},
};
use axum::{
    extract::{FromRequestParts, Request, State},
    middleware::Next,
    response::Response,
};
use http::{HeaderMap, header};
use maud::{Markup, html};

pub(crate) async fn framed(State(app): State<App>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let mut asked = parts.clone();
    let answer = next.run(Request::from_parts(parts, body)).await;
    let (mut head, body) = answer.into_parts();
    let page = head.extensions.remove::<FailurePage>().filter(|_| !asked.uri.path().starts_with(OF_PARTS));
    let Some(FailurePage(title, content)) = page else { return Response::from_parts(head, body) };
    let Ok(visit) = Visit::from_request_parts(&mut asked, &app).await else {
        return Response::from_parts(head, body);
    };
    let content = html! { (content) (ways(&visit, &asked.headers)) };
    let page = layout::failed(&visit, title, &sought(&visit.path), content).await;
    Response::from_parts(head, page.into_string().into())
}

fn ways(visit: &Visit, headers: &HeaderMap) -> Markup {
    let mut parts = visit.path.split('/').skip(1);
    let player = match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some("round"), Some(operator), Some(player), Some(_)) if visit.owns(operator) => {
            Some(format!("{operator}/{player}"))
        }
        _ => None,
    };
    html! {
        ul.links {
            @if let Some(back) = page_before(headers).filter(|back| *back != visit.asked) { li { a href=(back) { "Back" } } }
            @if let Some(player) = player { li { a href={ "/player/" (player) } { "Player " (player) } } }
            li { a href="/" { "Front page" } }
        }
    }
}

fn page_before(headers: &HeaderMap) -> Option<&str> {
    let (host, before) = (headers.get(header::HOST)?.to_str().ok()?, headers.get(header::REFERER)?.to_str().ok()?);
    let path = before.split_once("://")?.1.strip_prefix(host)?;
    (path.starts_with('/') && !path.starts_with("//")).then_some(path)
}

fn sought(path: &str) -> String {
    match path.split('/').skip(1).collect::<Vec<_>>().as_slice() {
        ["round", operator, player, number, ..] => format!("{operator}/{player}/{number}"),
        ["player", operator, player, ..] => format!("{operator}/{player}"),
        ["log", partition, position] => format!("{partition}:{position}"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pl_20_a_failures_page_keeps_the_id_and_leads_back_only_to_this_console() {
        assert_eq!(sought("/round/acme/alice/7/void"), "acme/alice/7");
        assert_eq!(sought("/player/acme/alice/statement"), "acme/alice");
        assert_eq!((sought("/log/2/42"), sought("/trust")), ("2:42".into(), String::new()));
        let before = |referrer: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, "localhost:1".parse().unwrap());
            headers.insert(header::REFERER, referrer.parse().unwrap());
            page_before(&headers).map(str::to_owned)
        };
        assert_eq!(
            before("http://localhost:1/player/acme/alice?currency=EUR").as_deref(),
            Some("/player/acme/alice?currency=EUR")
        );
        for other in
            ["http://localhost:12/x", "http://evil.example/x", "http://localhost:1//evil.example", "localhost:1/x", ""]
        {
            assert_eq!(before(other), None, "{other}");
        }
    }
}
