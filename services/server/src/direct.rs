//! Bets and choices as direct calls: they bypass the middleware stack, and [`Layers::admit`] makes its checks.

use crate::layers::{
    Layers,
    call_metrics::{CallMetrics, span},
};
use bytes::{BufMut, Bytes};
use http::{HeaderMap, request::Parts};
use motherlode_ledger::Ledgers;
use motherlode_proto::{
    convert::asked::read_spin,
    spin::v1::{ChooseRequest, SpinRequest, play_stream_request::Call as Asked},
    wire::RequestOf,
};
use motherlode_runtime::{
    Caller, Reason, Refusal,
    buffers::CallBytes,
    connections::{Direct, DirectCalls, Peer, Responder},
    refusals::{self, Refused},
};
use motherlode_spin::{Answered, PlayQueue, SpinApi};
use prost::{
    Message,
    encoding::{WireType, encode_key, encode_varint, encoded_len_varint, key_len},
};
use std::{
    sync::Arc,
    task::{Context, Poll},
    time::Instant,
};
use tokio::time::Instant as Deadline;
use tonic::{Code, Status, metadata::MetadataMap};
use tracing::Span;

const SPIN: &str = "/motherlode.spin.v1.SpinService/Spin";
const CHOOSE: &str = "/motherlode.spin.v1.SpinService/Choose";

pub(crate) struct DirectPlay {
    pub(crate) api: Arc<SpinApi>,
    pub(crate) ledgers: Ledgers,
    pub(crate) layers: Arc<Layers>,
    pub(crate) message_bytes_max: usize,
    pub(crate) metrics: CallMetrics,
}

impl DirectPlay {
    pub(crate) fn direct(self) -> Direct {
        let play = Arc::new(self);
        Arc::new(move |peer| {
            let (play, calls) = (Arc::clone(&play), PlayQueue::new(Arc::clone(&play.api)));
            Box::new(Playing { play, peer, calls })
        })
    }
}

struct Playing {
    play: Arc<DirectPlay>,
    peer: Arc<Peer>,
    calls: PlayQueue<Asker>,
}

struct Asker {
    responder: Responder,
    method: &'static str,
    begun: Instant,
    bytes: Option<CallBytes>,
    caller: Caller,
    message: Bytes,
    _span: Option<Span>,
}

impl DirectCalls for Playing {
    fn answers(&self, path: &str) -> bool {
        // If a ledger is a replica, or its authority was not confirmed recently, the call uses the middleware stack,
        // which waits for the current state.
        (path == SPIN || path == CHOOSE) && self.play.ledgers.is_current()
    }

    fn begin(&mut self, head: Parts, message: Bytes, responder: Responder) {
        let method = if head.uri.path() == SPIN { SPIN } else { CHOOSE };
        let span = self.play.metrics.exports().then(|| span(method, &head.headers));
        let _within = span.clone().map(Span::entered);
        let (begun, caller) = (Instant::now(), Caller::ANYONE);
        let mut owner = Asker { responder, method, begun, bytes: None, caller, message, _span: span };
        match self.admit(&head.headers, &mut owner) {
            Ok((asked, until)) => {
                let (caller, metadata) = (owner.caller.clone(), MetadataMap::from_headers(head.headers));
                self.calls.begin(owner, &caller, &asked, metadata, until);
            }
            Err(refusal) => self.calls.refuse(owner, refusal),
        }
    }

    fn hand_in(&mut self) {
        self.calls.hand_in();
    }

    fn answer(&mut self, context: &mut Context<'_>) -> bool {
        let mut any = false;
        while let Poll::Ready((asker, played)) = self.calls.poll_answer(context) {
            any = true;
            self.send(asker, played);
        }
        any
    }
}

impl Playing {
    /// Admits and decodes a call; stores its caller, message and reserved buffer space in `asker`.
    fn admit(&self, headers: &HeaderMap, asker: &mut Asker) -> Result<(Asked, Option<Deadline>), Refusal> {
        let DirectPlay { ledgers, layers, message_bytes_max, .. } = &*self.play;
        let message = std::mem::take(&mut asker.message);
        let (bytes, until) = layers.admit(asker.method, headers, Some(&self.peer), &message, &mut asker.caller)?;
        asker.bytes = Some(bytes);
        ledgers.written()?;
        if message.len() > *message_bytes_max {
            let long = format!("the message has {} bytes; the limit is {message_bytes_max}", message.len());
            return Err(Refusal::new(Reason::MessageTooLong, long));
        }
        let malformed = |error: prost::DecodeError| Refusal::new(Reason::MessageMalformed, error.to_string());
        asker.message = message.clone();
        let asked = match asker.method {
            SPIN => Asked::Spin(read_spin(&message).map_err(malformed)?),
            _ => Asked::Choose(ChooseRequest::decode(message).map_err(malformed)?),
        };
        Ok((asked, until))
    }

    fn send(&self, asker: Asker, played: Answered) {
        let Asker { responder, method, begun, bytes, caller, message, .. } = asker;
        let answer = played.and_then(|played| {
            let answer = framed(&played.into_bytes());
            bytes.map_or(Ok(answer.clone()), |bytes| bytes.answer(answer))
        });
        if let Err(refusal) = &answer {
            let request = match method {
                SPIN => RequestOf::message::<SpinRequest>(message),
                _ => RequestOf::message::<ChooseRequest>(message),
            };
            refusals::note(&Refused {
                caller: &caller,
                request_id: &request.id().unwrap_or_default(),
                player: &request.player().unwrap_or_default(),
                peer: Some(self.peer.address()),
                ..Refused::new(refusal, &method[1..])
            });
        }
        let answer = answer.map_err(Status::from);
        self.play.metrics.record(&method[1..], begun, answer.as_ref().map_or_else(Status::code, |_| Code::Ok));
        responder.send(answer);
    }
}

/// Encodes a gRPC frame with a [`SpinResponse`](motherlode_proto::spin::v1::SpinResponse) or
/// [`ChooseResponse`](motherlode_proto::spin::v1::ChooseResponse), whose only field (1) contains the answer.
fn framed(played: &[u8]) -> Bytes {
    let length = key_len(1) + encoded_len_varint(played.len() as u64) + played.len();
    let mut framed = Vec::with_capacity(5 + length);
    framed.put_u8(0);
    framed.put_u32(u32::try_from(length).unwrap_or(u32::MAX));
    encode_key(1, WireType::LengthDelimited, &mut framed);
    encode_varint(played.len() as u64, &mut framed);
    framed.put_slice(played);
    framed.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use motherlode_proto::spin::v1::{ChooseResponse, Played, SpinResponse};

    #[test]
    fn what_is_framed_is_either_answer() {
        for round_id in ["", "acme/alice/7", &"x".repeat(300)] {
            let played = Played { round_id: round_id.into(), ..Played::default() };
            let framed = framed(&played.encode_to_vec());
            let (head, message) = framed.split_at(5);
            assert_eq!(head, [&[0], &(u32::try_from(message.len()).unwrap()).to_be_bytes()[..]].concat());
            assert_eq!(message, SpinResponse { played: Some(played.clone()) }.encode_to_vec());
            assert_eq!(message, ChooseResponse { played: Some(played) }.encode_to_vec());
        }
    }
}
