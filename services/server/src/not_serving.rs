//! Refusals of a process that does not serve yet: a standby, or one that waits for other partitions' writers.
//!
//! Calls are answered UNAVAILABLE, NOT_THE_WRITER, so that callers try another process. During a takeover the metadata
//! has `takeover`, and a spin process waits longer for a writer.

use crate::{
    error::ServeError,
    layers::refusals::Refusals,
    services::log_service,
    transport::{admission, buffers, tls},
};
use http::{Request, Response};
use motherlode_ledger::{Handle, not_the_writer, taking_over};
use motherlode_runtime::{
    Config,
    access::Access,
    connections::{self, Workers},
    stop::{self, Stopper},
};
use std::{
    convert::Infallible,
    net::TcpListener as StdListener,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};
use tokio::{net::TcpListener, task::JoinHandle};
use tonic::{Status, body::Body, service::Routes};
use tonic_health::ServingStatus;
use tower::{Layer, Service, ServiceBuilder, util::option_layer};

const LOG: &str = "/motherlode.log.v1.LogService/";

pub(crate) struct NotServing {
    stopper: Stopper,
    serving: JoinHandle<()>,
    pub(crate) takes_over: Arc<AtomicBool>,
}

impl NotServing {
    /// The log of `written` is already served.
    pub(crate) async fn start(
        listener: &StdListener,
        config: &Config,
        names: &[&'static str],
        written: &[Handle],
    ) -> Result<Self, ServeError> {
        let unbound = |source| ServeError::Bind { address: config.listen, source };
        let listener = listener.try_clone().and_then(TcpListener::from_std).map_err(unbound)?;
        let (mut reporter, health) = tonic_health::server::health_reporter();
        for service in names.iter().copied().chain([""]) {
            reporter.set_service_status(service, ServingStatus::NotServing).await;
        }
        let tls = config.tls.as_ref().map(tls).transpose()?;
        let (stopper, stop) = stop::channel();
        let clock = written.first().cloned();
        let access = clock.map(|clock| Access::new(&config.operators, Arc::new(move || clock.clock_ms())));
        let takes_over = Arc::<AtomicBool>::default();
        let mut routes = Routes::builder();
        routes.add_service(health);
        if !written.is_empty() {
            routes.add_service(log_service(written, config, stop.clone()));
        }
        let service = ServiceBuilder::new()
            .layer(Refusals)
            .layer(option_layer(access))
            .layer(buffers(config))
            .layer(Refusing { gives: !written.is_empty(), takes_over: Arc::clone(&takes_over) })
            .service(routes.routes().prepare());
        let admission = admission(config);
        let workers = Workers::start(1).map_err(ServeError::Threads)?;
        let serving = tokio::spawn(async move {
            let ended = async {
                stop.clone().requested().await;
                reporter.clear_service_status("").await;
            };
            tokio::join!(ended, connections::serve(listener, tls, workers, admission, service, None, stop.clone()));
        });
        Ok(Self { stopper, serving, takes_over })
    }

    pub(crate) fn stop(self) {
        self.stopper.stop();
        // Aborted, because callers that watch health can keep connections open.
        self.serving.abort();
    }
}

/// Layer that refuses calls except health, reflection and the local log.
#[derive(Clone)]
struct Refusing {
    gives: bool,
    takes_over: Arc<AtomicBool>,
}

#[derive(Clone)]
struct Refused<S> {
    inner: S,
    by: Refusing,
}

impl<S> Layer<S> for Refusing {
    type Service = Refused<S>;

    fn layer(&self, inner: S) -> Refused<S> {
        Refused { inner, by: self.clone() }
    }
}

impl<S, B> Service<Request<B>> for Refused<S>
where
    S: Service<Request<B>, Response = Response<Body>, Error = Infallible>,
    S::Future: Send + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let path = request.uri().path();
        match path.starts_with("/grpc.") || self.by.gives && path.starts_with(LOG) {
            true => Box::pin(self.inner.call(request)),
            false => {
                let refusal = if self.by.takes_over.load(Ordering::Relaxed) { taking_over() } else { not_the_writer() };
                Box::pin(async { Ok(Status::from(refusal).into_http()) })
            }
        }
    }
}
