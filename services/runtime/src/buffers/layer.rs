use super::{
    budget::{Budget, CALL_BYTES, Full, Share},
    inward::Inward,
    outward::{Outward, counted},
};
use crate::{access::caller::Caller, config::Config, refusal::Refusal};
use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use std::{collections::BTreeSet, sync::Arc, time::Duration};
use tonic::body::Body;

/// The access layer runs before this layer.
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
    /// Reserves buffer bytes for a call, including its `message`, which is already read.
    pub fn take(&self, caller: &Caller, headers: &HeaderMap, message: &[u8]) -> Result<CallBytes, Refusal> {
        let bytes = CALL_BYTES + length(headers) + message.len();
        self.budget.take(&caller.operator(), bytes).map(CallBytes).map_err(Full::refused)
    }

    /// Limits the size of the request's messages and the time for each to arrive.
    pub fn read(&self, request: Request<Body>, call: &CallBytes) -> Result<Request<Body>, Refusal> {
        let inward = call.0.take_more(0).map_err(Full::refused)?;
        let first = !self.streams.contains(request.uri().path());
        Ok(request.map(|body| Body::new(Inward::new(body, inward, self.message, first))))
    }
}

impl CallBytes {
    pub async fn respond(self, answer: Response<Body>) -> Response<Body> {
        let (head, body) = answer.into_parts();
        Response::from_parts(head, Outward::begin(body, self.0).await)
    }

    /// Releases the call's reserved bytes when the answer is written. An answer longer than the reservation is refused
    /// if too few bytes are free.
    pub fn answer(mut self, answer: Bytes) -> Result<Bytes, Refusal> {
        let longer = answer.len().saturating_sub(self.0.bytes);
        if longer > 0 {
            self.0.grow(longer).map_err(Full::unsent)?;
        }
        Ok(counted(answer, self.0))
    }
}

fn length(headers: &HeaderMap) -> usize {
    headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum()
}
