use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use maud::{DOCTYPE, Markup, html};

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

pub(crate) fn document(title: &str, body: Markup) -> Markup {
    with_head(title, Markup::default(), body)
}

pub(crate) fn with_script(title: &str, script: &str, body: Markup) -> Markup {
    with_head(title, html! { script src=(script) defer {} }, body)
}

fn with_head(title: &str, more: Markup, body: Markup) -> Markup {
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
                script src="/keys.js" defer {}
                (more)
            }
            (body)
        }
    }
}

pub(crate) fn answer(code: StatusCode, page: Markup) -> Response {
    let media_type = [(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"))];
    (code, media_type, page.into_string()).into_response()
}

pub(crate) fn file(media_type: &'static str, name: &str, content: impl Into<axum::body::Bytes>) -> Response {
    let safe: String = name
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() || ".-_".contains(letter) { letter } else { '-' })
        .collect();
    let as_file = HeaderValue::from_str(&format!("attachment; filename=\"{safe}\""));
    let as_file = as_file.unwrap_or(HeaderValue::from_static("attachment"));
    let headers =
        [(header::CONTENT_TYPE, HeaderValue::from_static(media_type)), (header::CONTENT_DISPOSITION, as_file)];
    (headers, content.into()).into_response()
}
