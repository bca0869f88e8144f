//! Read-your-writes: a call begins only when this process's state is current. This is free at the writer; a replica
//! requests the log's end, once for concurrent calls ([`Ledgers::current`]).

use http::{Request, Response};
use motherlode_ledger::Ledgers;
use std::{
    pin::Pin,
    task::{Context, Poll},
};
use tonic::{Status, body::Body};
use tower::{Layer, Service};

const OF_THE_PROCESS: &str = "/grpc.";
/// Calls that do not wait for current state: two processes could otherwise wait for each other.
const OF_WHAT_IS_WRITTEN: &str = "/motherlode.log.v1.LogService/";

#[derive(Clone)]
pub struct Current(pub Ledgers);

#[derive(Clone)]
pub struct UpToDate<S> {
    ledgers: Ledgers,
    inner: S,
}

impl<S> Layer<S> for Current {
    type Service = UpToDate<S>;

    fn layer(&self, inner: S) -> UpToDate<S> {
        UpToDate { ledgers: self.0.clone(), inner }
    }
}

impl<S, B> Service<Request<B>> for UpToDate<S>
where
    S: Service<Request<B>, Response = Response<Body>> + Clone + Send + 'static,
    S::Future: Send + 'static,
    B: Send + 'static,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        if request.uri().path().starts_with(OF_THE_PROCESS) {
            return Box::pin(self.inner.call(request));
        }
        let clone = self.inner.clone();
        let (ledgers, mut inner) = (self.ledgers.clone(), std::mem::replace(&mut self.inner, clone));
        let written = request.uri().path().starts_with(OF_WHAT_IS_WRITTEN);
        Box::pin(async move {
            let current = if written { ledgers.current_here().await } else { ledgers.current().await };
            match current {
                Ok(()) => inner.call(request).await,
                Err(refusal) => Ok(Status::from(refusal).into_http()),
            }
        })
    }
}
