//! Exported spans of calls, children of the trace in the caller's `traceparent`.

use super::call_metrics::method;
use http::{HeaderMap, Request, Response};
use motherlode_runtime::trace::{TRACEPARENT, join};
use std::task::{Context, Poll};
use tonic::body::Body;
use tower::{Layer, Service};
use tracing::{Instrument, Span, instrument::Instrumented};

#[derive(Debug, Clone, Copy)]
pub struct CallSpans;

#[derive(Debug, Clone)]
pub struct Spanned<S>(S);

impl<S> Layer<S> for CallSpans {
    type Service = Spanned<S>;

    fn layer(&self, inner: S) -> Spanned<S> {
        Spanned(inner)
    }
}

impl<S, B> Service<Request<B>> for Spanned<S>
where
    S: Service<Request<B>, Response = Response<Body>>,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = Instrumented<S::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let span = span(request.uri().path(), request.headers());
        self.0.call(request).instrument(span)
    }
}

pub(crate) fn span(path: &str, headers: &HeaderMap) -> Span {
    let span = tracing::debug_span!("call", rpc.method = method(path));
    if let Some(parent) = headers.get(TRACEPARENT).and_then(|parent| parent.to_str().ok()) {
        join(&span, parent);
    }
    span
}
