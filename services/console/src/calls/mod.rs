//! Serves all calls as `POST /v1/<Service>/<Method>` in Protobuf's canonical JSON, for callers without gRPC.
//!
//! Before the body is read, the middleware checks permissions, deadline (`grpc-timeout`) and limits, as for gRPC calls.
//! A streaming method answers with one line `{"result": ...}` per message; after a failure, the last line is
//! `{"error": ...}`. Methods that take a stream of requests need gRPC. The body of a refusal is a `google.rpc.Status`,
//! and its HTTP status corresponds to the gRPC code.

mod body;
mod bounds;
mod contract;
pub(crate) mod gzip;
mod openapi;
mod refusal;
mod schema;

pub(crate) use openapi::document;
pub(crate) use refusal::answer;

use crate::app::App;
use axum::{
    body::Body as Answer,
    extract::{Path, Request, State},
    response::{IntoResponse, Response},
};
use body::{Bytes, Lines, Message, json};
use contract::METHODS;
use http::{HeaderValue, header};
use motherlode_runtime::{Reason, Refusal, access::OPERATOR, connections::Peer};
use prost_reflect::{MessageDescriptor, MethodDescriptor};
use refusal::refused;
use sha2::{Digest as _, Sha256};
use std::sync::Arc;
use tonic::{Code, Status, Streaming, body::Body};
use tower::ServiceExt;

const ANSWER_MAX: usize = 16 << 20;
const TAKEN_ALONG: [&str; 5] = ["authorization", OPERATOR, "grpc-timeout", "traceparent", "tracestate"];

pub(crate) async fn call(State(app): State<App>, Path(named): Path<(String, String)>, request: Request) -> Response {
    match make(&app, &named, request).await {
        Ok(answer) => answer,
        Err(status) => refused(&status),
    }
}

async fn make(app: &App, (service, method): &(String, String), request: Request) -> Result<Response, Status> {
    let known = METHODS.get(&(service.as_str(), method.as_str()));
    if known.is_some() && !is_json(&request) {
        let refusal = Refusal::new(
            Reason::ContentTypeUnknown,
            "the body must be a JSON message with `content-type: application/json`",
        );
        return Err(refusal::here(refusal));
    }
    let known = match known {
        Some(method) if !method.is_client_streaming() => method,
        // A caller without a credential gets the middleware's refusal, not the error for an unknown method.
        many => return Err(unknown(app, many, request).await),
    };
    let accepted = gzip::is_accepted(request.headers());
    let answers = send(app, known.parent_service().full_name(), known, request).await?;
    match known.is_server_streaming() {
        true => lines(answers, known.output()).await,
        false => one(answers, known.output(), accepted).await,
    }
}

async fn unknown(app: &App, many: Option<&MethodDescriptor>, request: Request) -> Status {
    let mut call = http::Request::post("/motherlode/Unknown").body(Body::empty()).unwrap_or_default();
    take_along(&request, &mut call);
    let answered = app.backend.route("", "").oneshot(call).await;
    let status = answered.ok().and_then(|answer| Status::from_header_map(answer.headers()));
    match (status, many) {
        (Some(status), _) if status.code() != Code::Unimplemented => status,
        (_, Some(method)) => {
            let message = format!("the method {} takes a stream of messages: call it over gRPC", method.name());
            Refusal::new(Reason::MethodNeedsGrpc, message).into()
        }
        _ => Refusal::new(Reason::MethodUnknown, "no such method").into(),
    }
}

async fn send(
    app: &App,
    service: &str,
    method: &MethodDescriptor,
    request: Request,
) -> Result<Streaming<bytes::Bytes>, Status> {
    let mut call = http::Request::new(Body::empty());
    let path = format!("/{service}/{}", method.name());
    *call.method_mut() = http::Method::POST;
    *call.version_mut() = http::Version::HTTP_2;
    *call.uri_mut() = path.parse().map_err(|_| Status::internal("failed to build the method's path"))?;
    call.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    call.headers_mut().insert(header::TE, HeaderValue::from_static("trailers"));
    take_along(&request, &mut call);
    let let_in = LetIn::new(&request);
    let packed = gzip::is_packed(request.headers()).map_err(refusal::here)?;
    *call.body_mut() = Body::new(Message::new(request.into_body(), packed, method.input(), app.message_bytes_max));
    let part = app.backend.route(service, method.name());
    let answer = part.oneshot(call).await.map_err(Status::from_error)?;
    let refused = Status::from_header_map(answer.headers()).filter(|status| status.code() != Code::Ok);
    if let Some(status) = refused {
        return Err(status);
    }
    let_in.note()?;
    let code = answer.status();
    Ok(Streaming::new_response(Bytes, answer.into_body(), code, None, Some(ANSWER_MAX)))
}

/// Connection and token of a call that the service has not accepted yet. A service in this process limits connections
/// per operator. For a service in another process, the console limits them per token.
struct LetIn {
    peer: Option<Arc<Peer>>,
    token: Option<String>,
}

impl LetIn {
    fn new(request: &Request) -> Self {
        let token = request.headers().get(header::AUTHORIZATION).map(|token| {
            let digest = Sha256::digest(token.as_bytes());
            motherlode_proto::convert::play::hex(&digest[..8])
        });
        Self { peer: request.extensions().get::<Arc<Peer>>().cloned(), token }
    }

    /// Counts the connection for the call's token. Must be called only after the service has accepted the call,
    /// because refused tokens do not count.
    fn note(&self) -> Result<(), Refusal> {
        let connection = self.peer.as_ref().and_then(|peer| peer.connection()).filter(|one| !one.is_known());
        match (connection, &self.token) {
            (Some(connection), Some(token)) => connection.belongs_to(Some((token, ""))),
            _ => Ok(()),
        }
    }
}

fn take_along(request: &Request, call: &mut http::Request<Body>) {
    for name in TAKEN_ALONG {
        // Repeated headers are copied too, so that the services refuse them.
        for value in request.headers().get_all(name) {
            call.headers_mut().append(name, value.clone());
        }
    }
    if let Some(peer) = request.extensions().get::<Arc<Peer>>() {
        call.extensions_mut().insert(Arc::clone(peer));
    }
}

async fn one(
    mut answers: Streaming<bytes::Bytes>,
    message: MessageDescriptor,
    accepted: bool,
) -> Result<Response, Status> {
    let first = answers.message().await?.ok_or_else(|| Status::internal("the service sent no answer"))?;
    while answers.message().await?.is_some() {}
    Ok(gzip::answer(json(message, &first)?, accepted))
}

async fn lines(mut answers: Streaming<bytes::Bytes>, message: MessageDescriptor) -> Result<Response, Status> {
    let first = answers.message().await?;
    let body = Answer::new(Lines::new(first, answers, message));
    Ok(([(header::CONTENT_TYPE, "application/jsonl")], body).into_response())
}

/// Browsers send JSON to another site only after a preflight request, which the console refuses.
fn is_json(request: &Request) -> bool {
    let told = request.headers().get(header::CONTENT_TYPE).and_then(|told| told.to_str().ok());
    let media_type = told.and_then(|told| told.split(';').next()).unwrap_or("");
    media_type.trim().eq_ignore_ascii_case("application/json")
}
