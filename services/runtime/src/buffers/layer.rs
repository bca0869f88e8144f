use super::{
    budget::{Budget, CALL_BYTES, Full, Share},
    inward::Inward,
    outward::{Outward, counted},
};
use crate::{access::caller::Caller, config::Config, refusal::Refusal};
use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use std::{
    collections::BTreeSet,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use tonic::{Status, body::Body};
use tower::{Layer, Service};

/// Layer that limits buffered bytes, inside the access layer.
#[derive(Clone)]
pub struct Buffers {
    budget: Arc<Budget>,
    streams: Arc<BTreeSet<String>>,
    message: Duration,
}

impl Buffers {
    /// `streams` are the paths of calls with a stream of requests.
    #[must_use]
    pub fn new(config: &Config, streams: impl IntoIterator<Item = String>) -> Self {
        let limits = &config.limits;
        // Unidentified callers count as one operator.
        let (operators, most) = match config.operators.len() {
            0 => (1, limits.buffer_bytes_max),
            operators => (operators + 1, limits.buffer_bytes_per_operator_max),
        };
        let budget = Budget::new(limits.buffer_bytes_max, most, operators);
        let message = Duration::from_millis(limits.request_ms_max);
        Self { budget, streams: Arc::new(streams.into_iter().collect()), message }
    }
}

pub struct CallBytes(Share);

impl Buffers {
    pub fn take(&self, caller: &Caller, headers: &HeaderMap, message: &[u8]) -> Result<CallBytes, Refusal> {
        let bytes = CALL_BYTES + length(headers) + message.len();
        self.budget.take(&caller.operator(), bytes).map(CallBytes).map_err(Full::refused)
    }
}

impl CallBytes {
    /// Releases the bytes once the answer is written; refuses a long answer without free bytes.
    pub fn answer(mut self, answer: Bytes) -> Result<Bytes, Refusal> {
        let longer = answer.len().saturating_sub(self.0.bytes);
        if longer > 0 {
            self.0.grow(longer).map_err(Full::unsent)?;
        }
        Ok(counted(answer, self.0))
    }
}

impl<S> Layer<S> for Buffers {
    type Service = Buffered<S>;

    fn layer(&self, inner: S) -> Buffered<S> {
        Buffered { buffers: self.clone(), inner }
    }
}

#[derive(Clone)]
pub struct Buffered<S> {
    buffers: Buffers,
    inner: S,
}

impl<S> Service<Request<Body>> for Buffered<S>
where
    S: Service<Request<Body>, Response = Response<Body>>,
    S::Future: Send + 'static,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let Buffers { budget, streams, message } = &self.buffers;
        let caller = request.extensions().get::<Caller>();
        let operator = caller.map_or_else(|| Arc::from(""), Caller::operator);
        let taken = budget.take(&operator, CALL_BYTES + length(request.headers()));
        let (call, inward) = match taken.and_then(|call| Ok((budget.take(&operator, 0)?, call))) {
            Ok((inward, call)) => (call, inward),
            Err(full) => return Box::pin(async move { Ok(Status::from(full.refused()).into_http()) }),
        };
        let first = !streams.contains(request.uri().path());
        let (head, body) = request.into_parts();
        let body = Inward::new(body, inward, *message, first);
        let answer = self.inner.call(Request::from_parts(head, Body::new(body)));
        Box::pin(async move {
            let (head, body) = answer.await?.into_parts();
            let body = Outward::begin(body, call).await;
            Ok(Response::from_parts(head, body))
        })
    }
}

fn length(headers: &HeaderMap) -> usize {
    headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum()
}
