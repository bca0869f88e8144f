use crate::calls::gzip;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use http_body_util::BodyExt;
use maud::{DOCTYPE, Markup, html};
use sha2::{Digest, Sha256};

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

/// Adds the page's digest as ETag, and compresses the page if the browser accepts gzip.
pub(crate) async fn tagged(asked: &HeaderMap, page: Response) -> Response {
    let (mut parts, body) = page.into_parts();
    let Ok(body) = body.collect().await else { return StatusCode::INTERNAL_SERVER_ERROR.into_response() };
    let body = body.to_bytes();
    let digest: String = Sha256::digest(&body).iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    let tag = format!("W/\"{digest}\"");
    let known = asked.get_all(header::IF_NONE_MATCH).iter().filter_map(|tags| tags.to_str().ok());
    let is_known = known.flat_map(|tags| tags.split(',')).any(|known| known.trim() == tag);
    let kept = [(header::CACHE_CONTROL, "private, no-cache"), (header::VARY, "accept-encoding, cookie")];
    for (name, value) in kept {
        parts.headers.insert(name, HeaderValue::from_static(value));
    }
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        parts.headers.insert(header::ETAG, tag);
    }
    if is_known {
        parts.status = StatusCode::NOT_MODIFIED;
        return Response::from_parts(parts, axum::body::Body::empty());
    }
    match gzip::is_accepted(asked).then(|| gzip::packed(&body)).flatten() {
        Some(packed) => {
            parts.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            Response::from_parts(parts, packed.into())
        }
        None => Response::from_parts(parts, body.into()),
    }
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

pub(crate) async fn asset(media_type: &'static str, content: impl Into<axum::body::Body>) -> Response {
    let headers = [(header::CONTENT_TYPE, media_type), (header::CACHE_CONTROL, "max-age=300")];
    (headers, content.into()).into_response()
}
