//! What gRPC itself refuses, with the details that every refusal has (PL-12).
//!
//! The services' refusals carry a `google.rpc.ErrorInfo`; a status without details is the transport's or the codec's.
//! INTERNAL of theirs is a message that cannot be read, which is its caller's fault: it becomes INVALID_ARGUMENT.

use crate::Refusal;
use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body::{Body as _, Frame, SizeHint};
use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};
use tonic::{Code, Status, body::Body};
use tower::{Layer, Service};

/// Where a status has its code, and its details.
const CODE: &str = "grpc-status";
const DETAILS: &str = "grpc-status-details-bin";

/// Gives details to refusals without any.
#[derive(Debug, Clone, Copy)]
pub struct Explained;

/// Services whose refusals all have details.
#[derive(Debug, Clone)]
pub struct Explaining<S>(S);

impl<S> Layer<S> for Explained {
    type Service = Explaining<S>;

    fn layer(&self, inner: S) -> Explaining<S> {
        Explaining(inner)
    }
}

impl<S, B> Service<Request<B>> for Explaining<S>
where
    S: Service<Request<B>, Response = Response<Body>>,
    S::Future: Unpin,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = Answer<S::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        Answer(self.0.call(request))
    }
}

/// The answer to a call.
pub struct Answer<F>(F);

impl<F, E> Future for Answer<F>
where
    F: Future<Output = Result<Response<Body>, E>> + Unpin,
{
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let answer = ready!(Pin::new(&mut self.0).poll(context));
        Poll::Ready(answer.map(|mut answer| {
            explain(answer.headers_mut());
            match answer.body().is_end_stream() {
                true => answer,
                false => answer.map(|body| Body::new(Explainable(body))),
            }
        }))
    }
}

/// A body whose trailers may need details.
struct Explainable(Body);

impl http_body::Body for Explainable {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let mut frame = ready!(Pin::new(&mut self.0).poll_frame(context));
        if let Some(Ok(frame)) = &mut frame
            && let Some(trailers) = frame.trailers_mut()
        {
            explain(trailers);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.size_hint()
    }
}

/// Explains a refusal that has no details.
fn explain(headers: &mut HeaderMap) {
    let Some(code) = headers.get(CODE).filter(|_| !headers.contains_key(DETAILS)) else { return };
    let (code, reason) = match Code::from_bytes(code.as_bytes()) {
        Code::Internal => (Code::InvalidArgument, "MESSAGE_MALFORMED"),
        Code::OutOfRange => (Code::OutOfRange, "MESSAGE_TOO_LONG"),
        Code::Unimplemented => (Code::Unimplemented, "METHOD_UNKNOWN"),
        _ => return,
    };
    let said = Status::from_header_map(headers).map(|status| status.message().to_owned()).unwrap_or_default();
    headers.remove("grpc-message");
    // What the headers cannot hold is left out: code and reason are ASCII, the message is encoded.
    let _ = Status::from(Refusal::new(code, reason, said)).add_header(headers);
}

#[cfg(test)]
mod tests {
    use super::*;
    use tonic_types::StatusExt;

    fn explained(status: &Status) -> (Code, String, String) {
        let mut headers = HeaderMap::new();
        status.add_header(&mut headers).unwrap();
        explain(&mut headers);
        let status = Status::from_header_map(&headers).unwrap();
        let reason = status.get_error_details().error_info().map(|info| info.reason.clone()).unwrap_or_default();
        (status.code(), reason, status.message().to_owned())
    }

    #[test]
    fn uf_09_what_cannot_be_read_is_the_callers_fault_and_what_has_details_stays_as_it_is() {
        let of = |code, reason: &str, message: &str| (code, reason.to_owned(), message.to_owned());
        let malformed = explained(&Status::internal("no protobuf: é"));
        assert_eq!(malformed, of(Code::InvalidArgument, "MESSAGE_MALFORMED", "no protobuf: é"));
        let long = explained(&Status::out_of_range("too long"));
        assert_eq!(long, of(Code::OutOfRange, "MESSAGE_TOO_LONG", "too long"));
        let unknown = explained(&Status::unimplemented(""));
        assert_eq!(unknown, of(Code::Unimplemented, "METHOD_UNKNOWN", ""));
        assert_eq!(explained(&Status::not_found("no such service")), of(Code::NotFound, "", "no such service"));
        let own = Refusal::new(Code::Internal, "BROKEN", "why").into();
        assert_eq!(explained(&own), of(Code::Internal, "BROKEN", "why"));
        let mut fine = HeaderMap::from_iter([(http::HeaderName::from_static(CODE), "0".parse().unwrap())]);
        explain(&mut fine);
        assert_eq!(fine.len(), 1);
    }
}
