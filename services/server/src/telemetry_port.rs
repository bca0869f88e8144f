//! Plain HTTP for Prometheus and probes: `/metrics`, `/healthz` (liveness) and `/readyz` (whether it is SERVING).

use crate::{
    error::ServeError,
    health::Readiness,
    setup::{Phase, bind_at},
};
use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;
use motherlode_runtime::{
    Config, apart,
    connections::{Admission, Bounds, serve_http1},
    stop, telemetry,
};
use parking_lot::Mutex;
use std::{convert::Infallible, future::pending, net::TcpListener as StdListener, sync::Arc};
use tokio::net::TcpListener;
use tower::service_fn;

/// Maximum connections of this port, in addition to the connections for calls.
const CONNECTIONS_MAX: usize = 32;
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";

#[derive(Debug, Clone, Default)]
enum State {
    #[default]
    NotServing,
    Serving(Readiness),
    Console,
}

#[derive(Default)]
pub(crate) struct TelemetryPort {
    listener: Mutex<Option<StdListener>>,
    state: Arc<Mutex<State>>,
}

impl TelemetryPort {
    pub(crate) fn bind(config: &Config) -> Result<Self, ServeError> {
        let listener = config.telemetry.listen.map(bind_at).transpose()?;
        Ok(Self { listener: Mutex::new(listener), ..Self::default() })
    }

    pub(crate) fn note(&self, phase: &Phase<'_>) {
        *self.state.lock() = match phase {
            Phase::Serving(server) => State::Serving(server.readiness.clone()),
            Phase::Standby(_) => State::NotServing,
            Phase::Console(_) => State::Console,
        };
    }

    pub(crate) fn is_ready(&self) -> impl Fn() -> bool + Send + Sync + 'static {
        let state = Arc::clone(&self.state);
        move || match &*state.lock() {
            State::NotServing => false,
            State::Serving(readiness) => readiness.is_ready(),
            State::Console => true,
        }
    }

    pub(crate) async fn serve(&self, config: &Config) -> Result<(), ServeError> {
        let Some(listener) = self.listener.lock().take() else { return pending().await };
        let unbound = |source| ServeError::Bind { address: config.telemetry.listen.unwrap_or(config.listen), source };
        let listener = TcpListener::from_std(listener).map_err(unbound)?;
        let address = listener.local_addr().map_err(unbound)?;
        tracing::info!(%address, "serving metrics and health");
        let bounds = Bounds { per_peer: CONNECTIONS_MAX, ..Bounds::new(&config.limits, CONNECTIONS_MAX) };
        let is_ready = Arc::new(self.is_ready());
        let service = service_fn(move |request: Request<Incoming>| {
            let is_ready = Arc::clone(&is_ready);
            async move { Ok::<_, Infallible>(answer(request.method(), request.uri().path(), &*is_ready).await) }
        });
        let (_stopper, stop) = stop::channel();
        serve_http1(listener, None, Admission::new(bounds), service, stop).await;
        Ok(())
    }
}

async fn answer(method: &Method, path: &str, is_ready: &(impl Fn() -> bool + Sync)) -> Response<Full<Bytes>> {
    if method != Method::GET && method != Method::HEAD {
        return text(StatusCode::METHOD_NOT_ALLOWED, TEXT, "read only\n");
    }
    match path {
        // Metric callbacks read state under locks, so they run on a thread that answers no bets.
        "/metrics" => match apart("telemetry", telemetry::prometheus).await {
            Ok(Some(metrics)) => text(StatusCode::OK, PROMETHEUS, metrics),
            _ => text(StatusCode::INTERNAL_SERVER_ERROR, TEXT, "the metrics cannot be read\n"),
        },
        "/healthz" => text(StatusCode::OK, TEXT, "live\n"),
        "/readyz" if is_ready() => text(StatusCode::OK, TEXT, "ready\n"),
        "/readyz" => text(StatusCode::SERVICE_UNAVAILABLE, TEXT, "not ready\n"),
        _ => text(StatusCode::NOT_FOUND, TEXT, "/metrics, /healthz or /readyz\n"),
    }
}

fn text(status: StatusCode, media_type: &'static str, content: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut answer = Response::new(Full::new(content.into()));
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    answer
}
