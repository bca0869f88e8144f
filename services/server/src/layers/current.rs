//! Currency: a call is begun when what this process holds is as of now.
//!
//! Where the log is, that costs nothing, but that a process whose log another one writes by now answers nothing. A replica
//! asks where the log ends, once for the calls of a moment: see [`Ledgers::current`]. A caller who was answered by any
//! process of the installation finds that answer's effects at every other.

use http::{Request, Response};
use motherlode_ledger::Ledgers;
use std::{
    pin::Pin,
    task::{Context, Poll},
};
use tonic::{Status, body::Body};
use tower::{Layer, Service};

/// How health and reflection begin: they are about the process, not about the log.
const OF_THE_PROCESS: &str = "/grpc.";
/// How the log service begins: it's about what is written here, and who asks may be asked in turn for what isn't.
const OF_WHAT_IS_WRITTEN: &str = "/motherlode.log.v1.LogService/";

/// Keeps calls from what is old.
#[derive(Clone)]
pub struct Current(pub Ledgers);

/// A service whose calls are begun when the ledger is current.
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
        // The one that is ready is used, its clone is left.
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
