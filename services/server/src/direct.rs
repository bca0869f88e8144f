//! Bets and choices as direct calls, which bypass the middleware stack but make its checks in the same order. All
//! pending calls of a connection are decided before any is proposed, and one group commit answers them.

use crate::layers::{
    call_metrics::CallMetrics,
    call_spans::span,
    deadline::{time_is_up, until},
};
use bytes::{BufMut, Bytes};
use http::request::Parts;
use motherlode_ledger::Ledgers;
use motherlode_proto::{
    convert::asked::read_spin,
    spin::v1::{ChooseRequest, SpinRequest},
    wire::RequestOf,
};
use motherlode_runtime::{
    Caller, Reason, Refusal,
    access::{Access, Denied},
    buffers::{Buffers, CallBytes},
    connections::{Direct, DirectCalls, Peer},
    refusals::{self, Refused},
};
use motherlode_spin::{Call, Play, PlayQueue, SpinApi};
use prost::{
    Message,
    encoding::{WireType, encode_key, encode_varint, encoded_len_varint, key_len},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};
use tokio::time::{Instant, Sleep, sleep_until};
use tonic::{Code, Status, metadata::MetadataMap};
use tracing::Span;

const SPIN: &str = "/motherlode.spin.v1.SpinService/Spin";
const CHOOSE: &str = "/motherlode.spin.v1.SpinService/Choose";

pub(crate) struct DirectPlay {
    pub(crate) api: Arc<SpinApi>,
    pub(crate) ledgers: Ledgers,
    pub(crate) access: Access,
    pub(crate) buffers: Buffers,
    pub(crate) message_bytes_max: usize,
    pub(crate) metrics: CallMetrics,
}

impl Direct for DirectPlay {
    fn answers(&self, path: &str) -> bool {
        // If state is not current, the call goes through the layers, which wait for it.
        (path == SPIN || path == CHOOSE) && self.ledgers.is_current()
    }

    fn connect(self: Arc<Self>, peer: Arc<Peer>) -> Box<dyn DirectCalls> {
        Box::new(Playing {
            calls: PlayQueue::new(Arc::clone(&self.api)),
            play: self,
            peer,
            waiting: BTreeMap::new(),
            deadlines: BTreeSet::new(),
            alarm: None,
        })
    }
}

struct Playing {
    play: Arc<DirectPlay>,
    peer: Arc<Peer>,
    calls: PlayQueue,
    waiting: BTreeMap<u64, Waiting>,
    deadlines: BTreeSet<(Instant, u64)>,
    alarm: Option<Pin<Box<Sleep>>>,
}

struct Waiting {
    method: &'static str,
    begun: std::time::Instant,
    bytes: Option<CallBytes>,
    until: Option<Instant>,
    /// Caller, for the log line of a refusal.
    caller: Caller,
    message: Bytes,
    _span: Option<Span>,
}

impl DirectCalls for Playing {
    fn begin(&mut self, number: u64, head: Parts, message: Bytes) {
        let method = if head.uri.path() == SPIN { SPIN } else { CHOOSE };
        let span = self.play.metrics.exports().then(|| span(method, &head.headers));
        let _within = span.clone().map(Span::entered);
        let mut waiting = Waiting {
            method,
            begun: std::time::Instant::now(),
            bytes: None,
            until: None,
            caller: Caller::ANYONE,
            message: Bytes::new(),
            _span: span,
        };
        match self.admit(number, head, message, &mut waiting) {
            Ok(call) => self.calls.begin(call),
            Err(refusal) => self.calls.refuse(number, refusal),
        }
        if let Some(until) = waiting.until {
            self.deadlines.insert((until, number));
        }
        self.waiting.insert(number, waiting);
    }

    fn hand_in(&mut self) {
        self.calls.hand_in();
    }

    fn poll_answer(&mut self, context: &mut Context<'_>) -> Poll<(u64, Result<Bytes, Status>)> {
        loop {
            let (number, played) = match self.calls.poll_answer(context) {
                Poll::Ready(answered) => answered,
                Poll::Pending => match self.late(context) {
                    Some(number) => (number, Err(time_is_up())),
                    None => return Poll::Pending,
                },
            };
            let Some(waiting) = self.waiting.remove(&number) else { continue };
            if let Some(until) = waiting.until {
                self.deadlines.remove(&(until, number));
            }
            let Waiting { method, begun, bytes, caller, message, .. } = waiting;
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
                    peer: Some(self.peer.address()),
                    ..Refused::new(refusal, &method[1..])
                });
            }
            let answer = answer.map_err(Status::from);
            self.play.metrics.record(&method[1..], begun, answer.as_ref().map_or_else(Status::code, |_| Code::Ok));
            return Poll::Ready((number, answer));
        }
    }
}

impl Playing {
    /// Admits and decodes a call. `waiting` receives its resources and deadline.
    fn admit(&self, number: u64, head: Parts, message: Bytes, waiting: &mut Waiting) -> Result<Call, Refusal> {
        let DirectPlay { ledgers, access, buffers, message_bytes_max, .. } = &*self.play;
        let admitted = access.admit(waiting.method, &head.headers, Some(&self.peer));
        let caller = admitted.map_err(|Denied { refusal, caller }| {
            waiting.caller = caller;
            refusal
        })?;
        waiting.caller = caller.clone();
        waiting.bytes = Some(buffers.take(&caller, &head.headers, &message)?);
        let until = until(&head.headers)?;
        ledgers.written()?;
        if message.len() > *message_bytes_max {
            let long = format!("the message has {} bytes; the limit is {message_bytes_max}", message.len());
            return Err(Refusal::new(Reason::MessageTooLong, long));
        }
        let malformed = |error: prost::DecodeError| Refusal::new(Reason::MessageMalformed, error.to_string());
        waiting.message = message.clone();
        let play = match waiting.method {
            SPIN => Play::Spin(read_spin(&message).map_err(malformed)?),
            _ => Play::Choose(ChooseRequest::decode(message).map_err(malformed)?),
        };
        waiting.until = until;
        Ok(Call { number, caller, play, metadata: Some(Box::new(MetadataMap::from_headers(head.headers))), until })
    }

    /// Returns a call whose deadline has passed.
    fn late(&mut self, context: &mut Context<'_>) -> Option<u64> {
        loop {
            let (due, number) = *self.deadlines.first()?;
            let alarm = self.alarm.get_or_insert_with(|| Box::pin(sleep_until(due)));
            if alarm.deadline() > due {
                alarm.as_mut().reset(due);
            }
            if alarm.as_mut().poll(context).is_pending() {
                return None;
            }
            if due <= Instant::now() {
                return Some(number);
            }
            alarm.as_mut().reset(due);
        }
    }
}

/// Frames an answer: [`SpinResponse`](motherlode_proto::spin::v1::SpinResponse) and
/// [`ChooseResponse`](motherlode_proto::spin::v1::ChooseResponse) have only this field 1.
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
