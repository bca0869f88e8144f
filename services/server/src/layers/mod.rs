//! Layers around the services, outermost first: metrics, span, refusals, permissions, buffers, deadline, state.

pub(crate) mod call_metrics;
pub(crate) mod deadline;
pub(crate) mod refusals;

use call_metrics::{CallMetrics, span, status};
use deadline::until;
use http::{Request, Response};
use motherlode_ledger::Ledgers;
use motherlode_runtime::{
    Caller, Refusal,
    access::{Access, Denied},
    buffers::Buffers,
    until::{time_is_up, within},
};
use refusals::RequestInfo;
use std::{convert::Infallible, sync::Arc, time::Instant};
use tokio::time::sleep_until;
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
        self,
        routes: Routes,
    ) -> impl Service<Request<Body>, Response = Response<Body>, Error = Infallible, Future: Send> + Clone + Send + Sync
    {
        let (layers, routes) = (Arc::new(self), routes.prepare());
        service_fn(move |request| {
            let (layers, routes) = (Arc::clone(&layers), routes.clone());
            async move { Ok(layers.measured(request, routes).await) }
        })
    }

    async fn measured(&self, request: Request<Body>, routes: Routes) -> Response<Body> {
        let Some(metrics) = &self.metrics else { return self.noted(request, routes).await };
        let (begun, path) = (Instant::now(), request.uri().path());
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
        let Some(access) = &self.access else { return self.buffered(request, routes).await };
        match access.enter(&mut request) {
            Ok(admitted) => *caller = admitted,
            Err(Denied { refusal, caller: denied }) => {
                *caller = denied;
                return Err(refusal);
            }
        }
        let answer = self.buffered(request, routes).await?;
        Ok(access.expiring(caller, answer))
    }

    async fn buffered(&self, request: Request<Body>, routes: Routes) -> Result<Response<Body>, Refusal> {
        let (request, call) = self.buffers.enter(request)?;
        let answer = self.timed(request, routes).await?;
        Ok(call.respond(answer).await)
    }

    async fn timed(&self, request: Request<Body>, routes: Routes) -> Result<Response<Body>, Refusal> {
        let Some(until) = until(request.headers())? else { return self.current(request, routes).await };
        let out_of_time = sleep_until(until);
        tokio::select! {
            biased;
            answer = within(until, self.current(request, routes)) => answer,
            () = out_of_time => Err(time_is_up()),
        }
    }

    /// Read-your-writes: a call begins only when this process's state is current. The writer's state is always current; a
    /// replica requests the log's end, with one request for concurrent calls ([`Ledgers::current`]).
    async fn current(&self, request: Request<Body>, routes: Routes) -> Result<Response<Body>, Refusal> {
        let path = request.uri().path();
        let of_log = path.starts_with(OF_WHAT_IS_WRITTEN);
        if !path.starts_with(OF_THE_PROCESS) {
            match &self.state {
                // If calls of the log service waited for other processes, two processes could block each other.
                State::Serving(ledgers) if of_log => ledgers.current_here().await?,
                State::Serving(ledgers) => ledgers.current().await?,
                State::NotServing { log, .. } if *log && of_log => {}
                State::NotServing { refusal, .. } => return Err(refusal()),
            }
        }
        Ok(routes.oneshot(request).await.unwrap_or_else(|never| match never {}))
    }
}
