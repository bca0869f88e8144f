//! Standing by: what a process answers while another one writes the log that it could write.
//!
//! Its address takes calls and answers each UNAVAILABLE, NOT_THE_WRITER, so that whoever asks goes on to the next; its
//! health says NOT_SERVING. When the writer is heard no more the log is opened, which fences whoever wrote it, however
//! late that one wakes up.

use crate::server::{ServeError, tls};
use http::{Request, Response};
use motherlode_ledger::not_the_writer;
use motherlode_runtime::{
    Config,
    stop::{self, Stopper},
};
use std::{
    convert::Infallible,
    net::TcpListener as StdListener,
    pin::Pin,
    task::{Context, Poll},
};
use tokio::{net::TcpListener, task::JoinHandle};
use tonic::{
    Status,
    body::Body,
    transport::{Server as Grpc, server::TcpIncoming},
};
use tonic_health::ServingStatus;
use tower::{Layer, Service};

/// A server of a process that stands by.
pub struct Standby {
    stopper: Stopper,
    serving: JoinHandle<Result<(), tonic::transport::Error>>,
}

impl Standby {
    /// Answers at an address.
    ///
    /// # Errors
    /// [`ServeError`]: it can't be listened on.
    pub async fn start(listener: &StdListener, config: &Config) -> Result<Self, ServeError> {
        let unbound = |source| ServeError::Bind { address: config.listen, source };
        let listener = listener.try_clone().and_then(TcpListener::from_std).map_err(unbound)?;
        let (mut reporter, health) = tonic_health::server::health_reporter();
        for service in crate::server::services(config.role).into_iter().chain([""]) {
            reporter.set_service_status(service, ServingStatus::NotServing).await;
        }
        let mut builder = Grpc::builder();
        if let Some(files) = &config.tls {
            builder = builder.tls_config(tls(files)?)?;
        }
        let (stopper, stop) = stop::channel();
        let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
        let serving = builder.layer(Refusing).add_service(health);
        let serving = tokio::spawn(serving.serve_with_incoming_shutdown(incoming, async move {
            stop.requested().await;
            // Those who watch get the end of their stream, which else would never come.
            reporter.clear_service_status("").await;
        }));
        Ok(Self { stopper, serving })
    }

    /// Ends: the address is another's to answer at.
    pub fn stop(self) {
        self.stopper.stop();
        // Its connections may be held by those who watch: they are let go of.
        self.serving.abort();
    }
}

/// Refuses all but questions about the process.
#[derive(Clone)]
struct Refusing;

/// A service that is asked only about the process.
#[derive(Clone)]
struct Refused<S>(S);

impl<S> Layer<S> for Refusing {
    type Service = Refused<S>;

    fn layer(&self, inner: S) -> Refused<S> {
        Refused(inner)
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
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        match request.uri().path().starts_with("/grpc.") {
            true => Box::pin(self.0.call(request)),
            false => Box::pin(async { Ok(Status::from(not_the_writer()).into_http()) }),
        }
    }
}
