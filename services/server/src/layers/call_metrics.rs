//! Number, duration and result of calls. The duration of a streaming call ends when its stream opens. Unknown methods share
//! the label `_OTHER`.

use http::{HeaderMap, Response};
use motherlode_report::CallCounters;
use motherlode_runtime::{
    access::CALLS,
    reason::code_name,
    trace::{TRACEPARENT, join},
};
use opentelemetry::{KeyValue, global, metrics::Histogram};
use std::time::Instant;
use tonic::{Code, body::Body};
use tracing::Span;

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
            // OpenTelemetry's default buckets begin at 5 ms, but most calls are shorter.
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
        let took = begun.elapsed();
        self.counts.add(took);
        if let Some(duration) = &self.duration {
            let attributes = [
                KeyValue::new("rpc.system.name", "grpc"),
                KeyValue::new("rpc.method", method),
                KeyValue::new("rpc.response.status_code", code_name(code)),
            ];
            duration.record(took.as_secs_f64(), &attributes);
        }
    }
}

pub(crate) fn method(path: &str) -> &'static str {
    CALLS.iter().find(|call| call.path == path).map_or("_OTHER", |call| &call.path[1..])
}

/// Returns the gRPC status in an answer's headers, or OK for an answer with a body, whose headers have no status.
pub(crate) fn status(answer: &Response<Body>) -> Code {
    answer.headers().get("grpc-status").map_or(Code::Ok, |code| Code::from_bytes(code.as_bytes()))
}

pub(crate) fn span(path: &str, headers: &HeaderMap) -> Span {
    let span = tracing::debug_span!("call", rpc.method = method(path));
    if let Some(parent) = headers.get(TRACEPARENT).and_then(|parent| parent.to_str().ok()) {
        join(&span, parent);
    }
    span
}
