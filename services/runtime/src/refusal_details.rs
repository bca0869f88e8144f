//! Details for refusals by the transport and the codec, so that every refusal has some (PL-12).
//!
//! The services' refusals carry a `google.rpc.ErrorInfo`; a status without details comes from the transport or the
//! codec. Their INTERNAL means a message that cannot be decoded, which is the caller's fault: it becomes
//! INVALID_ARGUMENT.

use crate::{reason::Reason, refusal::Refusal};
use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body::{Body as _, Frame, SizeHint};
use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};
use tonic::{Code, Status, body::Body};
use tower::{Layer, Service};

/// The headers of a status: its code, and its details.
const CODE: &str = "grpc-status";
const DETAILS: &str = "grpc-status-details-bin";

/// A layer that adds details to refusals without any.
#[derive(Debug, Clone, Copy)]
pub struct RefusalDetails;

/// A service whose refusals all have details.
#[derive(Debug, Clone)]
pub struct WithRefusalDetails<S>(S);

impl<S> Layer<S> for RefusalDetails {
    type Service = WithRefusalDetails<S>;

    fn layer(&self, inner: S) -> WithRefusalDetails<S> {
        WithRefusalDetails(inner)
    }
}

impl<S, B> Service<Request<B>> for WithRefusalDetails<S>
where
    S: Service<Request<B>, Response = Response<Body>>,
    S::Future: Unpin,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = ResponseFuture<S::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        ResponseFuture(self.0.call(request))
    }
}

/// The future of an answer.
pub struct ResponseFuture<F>(F);

impl<F, E> Future for ResponseFuture<F>
where
    F: Future<Output = Result<Response<Body>, E>> + Unpin,
{
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let answer = ready!(Pin::new(&mut self.0).poll(context));
        Poll::Ready(answer.map(|mut answer| {
            add_details(answer.headers_mut());
            match answer.body().is_end_stream() {
                true => answer,
                false => answer.map(|body| Body::new(DetailedBody(body))),
            }
        }))
    }
}

/// A body whose trailers may need details.
struct DetailedBody(Body);

impl http_body::Body for DetailedBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let mut frame = ready!(Pin::new(&mut self.0).poll_frame(context));
        if let Some(Ok(frame)) = &mut frame
            && let Some(trailers) = frame.trailers_mut()
        {
            add_details(trailers);
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

/// Adds details to a refusal that has none.
fn add_details(headers: &mut HeaderMap) {
    let Some(code) = headers.get(CODE).filter(|_| !headers.contains_key(DETAILS)) else { return };
    let reason = match Code::from_bytes(code.as_bytes()) {
        Code::Internal => Reason::MessageMalformed,
        Code::OutOfRange => Reason::MessageTooLong,
        Code::Unimplemented => Reason::MethodUnknown,
        _ => return,
    };
    let message = Status::from_header_map(headers).map(|status| status.message().to_owned()).unwrap_or_default();
    headers.remove("grpc-message");
    // What the headers cannot hold is left out: code and reason are ASCII, the message is encoded.
    let _ = Status::from(Refusal::new(reason, message)).add_header(headers);
}

#[cfg(test)]
mod tests {
    use super::*;
    use tonic_types::StatusExt;

    fn detailed(status: &Status) -> (Code, String, String) {
        let mut headers = HeaderMap::new();
        status.add_header(&mut headers).unwrap();
        add_details(&mut headers);
        let status = Status::from_header_map(&headers).unwrap();
        let reason = status.get_error_details().error_info().map(|info| info.reason.clone()).unwrap_or_default();
        (status.code(), reason, status.message().to_owned())
    }

    #[test]
    fn uf_09_what_cannot_be_read_is_the_callers_fault_and_what_has_details_stays_as_it_is() {
        let of = |code, reason: &str, message: &str| (code, reason.to_owned(), message.to_owned());
        let malformed = detailed(&Status::internal("no protobuf: é"));
        assert_eq!(malformed, of(Code::InvalidArgument, "MESSAGE_MALFORMED", "no protobuf: é"));
        let long = detailed(&Status::out_of_range("too long"));
        assert_eq!(long, of(Code::OutOfRange, "MESSAGE_TOO_LONG", "too long"));
        let unknown = detailed(&Status::unimplemented(""));
        assert_eq!(unknown, of(Code::Unimplemented, "METHOD_UNKNOWN", ""));
        assert_eq!(detailed(&Status::not_found("no such service")), of(Code::NotFound, "", "no such service"));
        let own = Refusal::new(Reason::Internal, "why").into();
        assert_eq!(detailed(&own), of(Code::Internal, "INTERNAL", "why"));
        let mut fine = HeaderMap::from_iter([(http::HeaderName::from_static(CODE), "0".parse().unwrap())]);
        add_details(&mut fine);
        assert_eq!(fine.len(), 1);
    }
}
