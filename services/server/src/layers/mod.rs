//! Layers around the services, outermost first: metrics, span, refusals, permissions, buffers, deadline, state.

pub(crate) mod call_metrics;
pub(crate) mod deadline;
pub(crate) mod refusals;

use call_metrics::{CallMetrics, span, status};
use deadline::until;
use http::{HeaderMap, Request, Response};
use motherlode_ledger::Ledgers;
use motherlode_runtime::{
    Caller, Refusal,
    access::Access,
    buffers::{Buffers, CallBytes},
    connections::Peer,
    until::{time_is_up, within},
};
use refusals::RequestInfo;
use std::{convert::Infallible, sync::Arc};
use tokio::time::{Instant, sleep_until};
use tonic::{Status, body::Body, service::Routes};
use tower::{Service, ServiceExt, service_fn};
use tracing::{Instrument, Span};

const OF_THE_PROCESS: &str = "/grpc.";
const OF_WHAT_IS_WRITTEN: &str = "/motherlode.log.v1.LogService/";

pub(crate) struct Layers {
    pub(crate) metrics: Option<CallMetrics>,
    pub(crate) access: Option<Access>,
    pub(crate) buffers: Buffers,
    pub(crate) state: State,
}

pub(crate) enum State {
    Serving(Ledgers),
    NotServing { log: bool, refusal: Box<dyn Fn() -> Refusal + Send + Sync> },
}

impl Layers {
    pub(crate) fn around(
        self: Arc<Self>,
        routes: Routes,
    ) -> impl Service<Request<Body>, Response = Response<Body>, Error = Infallible, Future: Send> + Clone + Send + Sync
    {
        let (layers, routes) = (self, routes.prepare());
        service_fn(move |request| {
            let (layers, routes) = (Arc::clone(&layers), routes.clone());
            async move { Ok(layers.measured(request, routes).await) }
        })
    }

    async fn measured(&self, request: Request<Body>, routes: Routes) -> Response<Body> {
        let Some(metrics) = &self.metrics else { return self.noted(request, routes).await };
        let (begun, path) = (std::time::Instant::now(), request.uri().path());
        let (method, span) = match metrics.exports() {
            true => (call_metrics::method(path), span(path, request.headers())),
            false => ("", Span::none()),
        };
        let answer = self.noted(request, routes).instrument(span).await;
        metrics.record(method, begun, status(&answer));
        answer
    }

    async fn noted(&self, mut request: Request<Body>, routes: Routes) -> Response<Body> {
        let mut asked = RequestInfo::new(&mut request);
        let answer = self.admitted(request, routes, &mut asked.caller).await;
        asked.note(answer.unwrap_or_else(|refusal| Status::from(refusal).into_http()))
    }

    async fn admitted(
        &self,
        mut request: Request<Body>,
        routes: Routes,
        caller: &mut Caller,
    ) -> Result<Response<Body>, Refusal> {
        let peer = request.extensions().get::<Arc<Peer>>().map(AsRef::as_ref);
        let (bytes, until) = self.admit(request.uri().path(), request.headers(), peer, &[], caller)?;
        request.extensions_mut().insert(caller.clone());
        let request = self.buffers.read(request, &bytes)?;
        let answer = match until {
            None => self.current(request, routes).await?,
            Some(until) => tokio::select! {
                biased;
                answer = within(until, self.current(request, routes)) => answer?,
                () = sleep_until(until) => return Err(time_is_up()),
            },
        };
        let answer = bytes.respond(answer).await;
        Ok(match &self.access {
            Some(access) => access.expiring(caller, answer),
            None => answer,
        })
    }

    /// Checks permissions, free buffer space and deadline. Stores an identified caller in `caller` even if the call is
    /// refused. `message` is the part of the request's body that was already read; it takes buffer space.
    pub(crate) fn admit(
        &self,
        path: &str,
        headers: &HeaderMap,
        peer: Option<&Peer>,
        message: &[u8],
        caller: &mut Caller,
    ) -> Result<(CallBytes, Option<Instant>), Refusal> {
        if let Some(access) = &self.access {
            access.admit(path, headers, peer, caller)?;
        }
        Ok((self.buffers.take(caller, headers, message)?, until(headers)?))
    }

    /// Read-your-writes: a call begins only when this process's state is current.
    async fn current(&self, request: Request<Body>, routes: Routes) -> Result<Response<Body>, Refusal> {
        let path = request.uri().path();
        let of_log = path.starts_with(OF_WHAT_IS_WRITTEN);
        if !path.starts_with(OF_THE_PROCESS) {
            match &self.state {
                State::Serving(ledgers) if of_log => ledgers.current_here().await?,
                State::Serving(ledgers) => ledgers.current().await?,
                State::NotServing { log, .. } if *log && of_log => {}
                State::NotServing { refusal, .. } => return Err(refusal()),
            }
        }
        Ok(routes.oneshot(request).await.unwrap_or_else(|never| match never {}))
    }
}
