//! Direct calls: unary calls that a connection answers in its own task, since the task and layers of an ordinary call
//! cost more than a bet. Those that arrive together are answered together. A [`Direct`] implementation makes the
//! layers' checks itself.

use super::{calls::UnderWay, peer::Peer};
use bytes::Bytes;
use h2::server::SendResponse;
use http::{HeaderMap, HeaderName, HeaderValue, Response, header::CONTENT_TYPE, request::Parts};
use std::{
    collections::BTreeMap,
    sync::Arc,
    task::{Context, Poll},
};
use tonic::Status;

pub trait Direct: Send + Sync {
    fn answers(&self, path: &str) -> bool;

    fn connect(self: Arc<Self>, peer: Arc<Peer>) -> Box<dyn DirectCalls>;
}

pub trait DirectCalls: Send {
    /// Begins a call. It must not wait.
    fn begin(&mut self, number: u64, head: Parts, message: Bytes);

    fn hand_in(&mut self);

    /// Returns the next answer and its call number: a length-prefixed message or a refusal.
    fn poll_answer(&mut self, context: &mut Context<'_>) -> Poll<(u64, Result<Bytes, Status>)>;
}

pub(super) struct Answering {
    direct: Arc<dyn Direct>,
    calls: Box<dyn DirectCalls>,
    waiting: BTreeMap<u64, (SendResponse<Bytes>, UnderWay)>,
    last: u64,
}

impl Answering {
    pub(super) fn new(direct: Arc<dyn Direct>, peer: Arc<Peer>) -> Self {
        let calls = Arc::clone(&direct).connect(peer);
        Self { direct, calls, waiting: BTreeMap::new(), last: 0 }
    }

    pub(super) fn answers(&self, path: &str) -> bool {
        self.direct.answers(path)
    }

    pub(super) fn begin(&mut self, head: Parts, message: Bytes, respond: SendResponse<Bytes>, under_way: UnderWay) {
        self.last += 1;
        self.waiting.insert(self.last, (respond, under_way));
        self.calls.begin(self.last, head, message);
    }

    pub(super) fn hand_in(&mut self) {
        self.calls.hand_in();
    }

    pub(super) fn send(&mut self, context: &mut Context<'_>) -> bool {
        let mut any = false;
        while let Poll::Ready((number, answer)) = self.calls.poll_answer(context) {
            any = true;
            if let Some((respond, mut under_way)) = self.waiting.remove(&number) {
                // An error means that the caller has cancelled the call.
                under_way.answered = send(respond, answer).is_ok();
            }
        }
        any
    }
}

const GRPC: HeaderValue = HeaderValue::from_static("application/grpc");
const STATUS: HeaderName = HeaderName::from_static("grpc-status");

fn send(mut respond: SendResponse<Bytes>, answer: Result<Bytes, Status>) -> Result<(), h2::Error> {
    match answer {
        Ok(message) => {
            let mut response = Response::new(());
            response.headers_mut().insert(CONTENT_TYPE, GRPC);
            let mut body = respond.send_response(response, false)?;
            body.send_data(message, false)?;
            let mut trailers = HeaderMap::with_capacity(1);
            trailers.insert(STATUS, HeaderValue::from_static("0"));
            body.send_trailers(trailers)
        }
        Err(status) => {
            respond.send_response(status.into_http(), true)?;
            Ok(())
        }
    }
}
