//! Answers frequent unary calls, such as bets, in the task of their connection, because a separate task and the
//! middleware layers would cost more than the bet itself. Direct calls bypass the layers, so [`DirectCalls`] makes the
//! same checks.

use super::{calls::UnderWay, peer::Peer};
use bytes::Bytes;
use h2::server::SendResponse;
use http::{HeaderMap, HeaderName, HeaderValue, Response, header::CONTENT_TYPE, request::Parts};
use std::{sync::Arc, task::Context};
use tonic::Status;

pub type Direct = Arc<dyn Fn(Arc<Peer>) -> Box<dyn DirectCalls> + Send + Sync>;

pub trait DirectCalls: Send {
    fn answers(&self, path: &str) -> bool;

    fn begin(&mut self, head: Parts, message: Bytes, responder: Responder);

    fn hand_in(&mut self);

    /// Sends all ready answers and returns whether there were any.
    fn answer(&mut self, context: &mut Context<'_>) -> bool;
}

pub struct Responder {
    pub(super) respond: SendResponse<Bytes>,
    pub(super) under_way: UnderWay,
}

impl Responder {
    pub fn send(self, answer: Result<Bytes, Status>) {
        let Self { respond, mut under_way } = self;
        under_way.answered = send(respond, answer).is_ok();
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
