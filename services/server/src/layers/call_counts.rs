//! How many calls there are and how long they take, counted for [`Vitals`](motherlode_report::Vitals) whether or not a collector is there.

use http::{Request, Response};
use motherlode_report::Calls;
use std::{
    pin::Pin,
    task::{Context, Poll, ready},
    time::Instant,
};
use tonic::body::Body;
use tower::{Layer, Service};

/// Counts every call.
#[derive(Debug, Clone)]
pub struct CallCounts(pub Calls);

/// A service whose calls are counted.
#[derive(Debug, Clone)]
pub struct Counted<S> {
    calls: Calls,
    inner: S,
}

impl<S> Layer<S> for CallCounts {
    type Service = Counted<S>;

    fn layer(&self, inner: S) -> Counted<S> {
        Counted { calls: self.0.clone(), inner }
    }
}

impl<S, B> Service<Request<B>> for Counted<S>
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
        Running { begun: Instant::now(), calls: self.calls.clone(), answer: self.inner.call(request) }
    }
}

/// A call under way.
pub struct Running<F> {
    begun: Instant,
    calls: Calls,
    answer: F,
}

impl<F, E> Future for Running<F>
where
    F: Future<Output = Result<Response<Body>, E>> + Unpin,
{
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let answer = ready!(Pin::new(&mut self.answer).poll(context));
        self.calls.add(self.begun.elapsed());
        Poll::Ready(answer)
    }
}
