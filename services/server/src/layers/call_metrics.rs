//! Number, duration and result of calls. Streams are measured until they open. Unknown methods share the label
//! `_OTHER`.

use http::{Request, Response};
use motherlode_report::CallCounters;
use motherlode_runtime::access::CALLS;
use opentelemetry::{KeyValue, global, metrics::Histogram};
use std::{
    pin::Pin,
    task::{Context, Poll, ready},
    time::Instant,
};
use tonic::{Code, body::Body};
use tower::{Layer, Service};

#[derive(Debug, Clone)]
pub struct CallMetrics {
    counts: CallCounters,
    duration: Option<Histogram<f64>>,
}

impl CallMetrics {
    #[must_use]
    pub fn new(counts: CallCounters, exports: bool) -> Self {
        let duration = exports.then(|| {
            let meter = global::meter("motherlode");
            let duration = meter.f64_histogram("rpc.server.call.duration").with_unit("s");
            let described = duration.with_description("Time from a call's arrival to its answer.");
            // OpenTelemetry's boundaries begin at 5 ms, longer than most calls.
            let boundaries =
                [2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2, 2.5e-2, 5e-2, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];
            described.with_boundaries(boundaries.to_vec()).build()
        });
        Self { counts, duration }
    }

    pub(crate) fn exports(&self) -> bool {
        self.duration.is_some()
    }

    pub(crate) fn record(&self, method: &'static str, begun: Instant, code: Code) {
        self.ended(method, begun, name(code));
    }

    fn ended(&self, method: &'static str, begun: Instant, status: &'static str) {
        let took = begun.elapsed();
        self.counts.add(took);
        if let Some(duration) = &self.duration {
            let attributes = [
                KeyValue::new("rpc.system.name", "grpc"),
                KeyValue::new("rpc.method", method),
                KeyValue::new("rpc.response.status_code", status),
            ];
            duration.record(took.as_secs_f64(), &attributes);
        }
    }
}

#[derive(Debug, Clone)]
pub struct Stopwatch<S> {
    metrics: CallMetrics,
    inner: S,
}

impl<S> Layer<S> for CallMetrics {
    type Service = Stopwatch<S>;

    fn layer(&self, inner: S) -> Stopwatch<S> {
        Stopwatch { metrics: self.clone(), inner }
    }
}

impl<S, B> Service<Request<B>> for Stopwatch<S>
where
    S: Service<Request<B>, Response = Response<Body>>,
    S::Future: Unpin,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = Running<S::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let method = if self.metrics.exports() { method(request.uri().path()) } else { "" };
        let (begun, metrics) = (Instant::now(), self.metrics.clone());
        Running { begun, method, metrics, answer: self.inner.call(request) }
    }
}

pub struct Running<F> {
    begun: Instant,
    method: &'static str,
    metrics: CallMetrics,
    answer: F,
}

impl<F, E> Future for Running<F>
where
    F: Future<Output = Result<Response<Body>, E>> + Unpin,
{
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let answer = ready!(Pin::new(&mut self.answer).poll(context));
        self.metrics.ended(self.method, self.begun, status(answer.as_ref().ok()));
        Poll::Ready(answer)
    }
}

pub(crate) fn method(path: &str) -> &'static str {
    CALLS.iter().find(|call| call.path == path).map_or("_OTHER", |call| &call.path[1..])
}

/// Returns an answer's status; without a body it is in the headers.
fn status(answer: Option<&Response<Body>>) -> &'static str {
    let Some(answer) = answer else { return "UNKNOWN" };
    name(answer.headers().get("grpc-status").map_or(Code::Ok, |code| Code::from_bytes(code.as_bytes())))
}

fn name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}
