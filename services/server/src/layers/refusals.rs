//! Adds details to each refusal (PL-12), counts it and logs it.
//!
//! A status without details comes from the transport or the codec. If such a status is INTERNAL, the message could not be
//! decoded, so INTERNAL is replaced with INVALID_ARGUMENT.

use super::call_metrics::method;
use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body::{Body as _, Frame, SizeHint};
use motherlode_proto::wire::RequestOf;
use motherlode_runtime::{
    Caller, Reason, Refusal,
    connections::Peer,
    refusals::{self, Refused},
};
use std::{
    net::IpAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};
use tonic::{Code, Status, body::Body};
use tonic_types::StatusExt as _;

const CODE: &str = "grpc-status";
const DETAILS: &str = "grpc-status-details-bin";

pub(crate) struct RequestInfo {
    path: String,
    request: RequestOf,
    peer: Option<IpAddr>,
    pub(crate) caller: Caller,
}

struct NotedBody(Body, RequestInfo);

impl http_body::Body for NotedBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let mut frame = ready!(Pin::new(&mut self.0).poll_frame(context));
        if let Some(Ok(frame)) = &mut frame
            && let Some(trailers) = frame.trailers_mut()
        {
            self.1.ended(trailers);
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

impl RequestInfo {
    pub(crate) fn new<B>(request: &mut Request<B>) -> Self {
        let peer = request.extensions().get::<Arc<Peer>>().map(|peer| peer.address());
        let path = request.uri().path().to_owned();
        let asked = Self { path, request: RequestOf::default(), peer, caller: Caller::ANYONE };
        request.extensions_mut().insert(asked.request.clone());
        asked
    }

    pub(crate) fn note(self, mut answer: Response<Body>) -> Response<Body> {
        if answer.headers().contains_key(CODE) || answer.body().is_end_stream() {
            self.ended(answer.headers_mut());
            return answer;
        }
        answer.map(|body| Body::new(NotedBody(body, self)))
    }

    fn ended(&self, headers: &mut HeaderMap) {
        add_details(headers);
        let Some(status) = Status::from_header_map(headers).filter(|status| status.code() != Code::Ok) else { return };
        let reason = status.get_error_details().error_info().and_then(|info| Reason::from_name(&info.reason));
        refusals::note(&Refused {
            reason,
            code: status.code(),
            message: status.message(),
            method: method(&self.path),
            caller: &self.caller,
            request_id: &self.request.id().unwrap_or_default(),
            player: &self.request.player().unwrap_or_default(),
            peer: self.peer,
        });
    }
}

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
