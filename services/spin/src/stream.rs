//! PlayStream: many calls over one stream; each call behaves like a unary call.
//!
//! Up to [`IN_FLIGHT_MAX`] calls run concurrently. At this limit the stream is not read, so HTTP/2 flow control slows
//! the caller. Answers arrive in any order, each with its request's tag.

use crate::{
    answer::PlayedBytes,
    api::SpinApi,
    calls::{self, Answered, PlayQueue},
};
use futures_util::{FutureExt, Stream, StreamExt, future::BoxFuture, stream};
use motherlode_proto::{play_stream::StreamAnswer, spin::v1::PlayStreamRequest};
use motherlode_runtime::{
    Caller, Refusal,
    connections::{Connection, Peer},
    refusals::{self, Refused},
};
use prost::Message;
use std::{
    net::IpAddr,
    sync::Arc,
    task::{Context, Poll},
};
use tonic::{Status, Streaming, metadata::MetadataMap};
use tonic_types::pb;

const IN_FLIGHT_MAX: usize = 1024;
const PLAY_STREAM: &str = "motherlode.spin.v1.SpinService/PlayStream";

impl SpinApi {
    pub(crate) fn play_all(
        self,
        caller: Caller,
        peer: Option<Arc<Peer>>,
        calls: Streaming<PlayStreamRequest>,
    ) -> impl Stream<Item = Result<StreamAnswer, Status>> {
        let requests = calls.take_until(self.stop.clone().requested()).fuse().boxed();
        let api = Arc::new(self);
        let calls = PlayQueue::new(Arc::clone(&api));
        let connection = peer.as_ref().and_then(|peer| peer.connection()).cloned();
        let turn = Turn { connection, left: None };
        let peer = peer.map(|peer| peer.address());
        let mut playing =
            Playing { api, caller, peer, turn, requests, arrived: vec![], current: None, asking: 0, calls };
        stream::poll_fn(move |context| playing.poll(context))
    }
}

struct Playing {
    api: Arc<SpinApi>,
    caller: Caller,
    peer: Option<IpAddr>,
    turn: Turn,
    requests: stream::BoxStream<'static, Result<PlayStreamRequest, Status>>,
    arrived: Vec<PlayStreamRequest>,
    current: Option<BoxFuture<'static, Came>>,
    asking: usize,
    calls: PlayQueue<u64>,
}

struct Turn {
    connection: Option<Arc<Connection>>,
    left: Option<usize>,
}

impl Turn {
    fn left(&mut self) -> &mut usize {
        let all = || self.connection.as_ref().map_or(IN_FLIGHT_MAX, |connection| connection.turn(IN_FLIGHT_MAX));
        self.left.get_or_insert_with(all)
    }

    fn count(&mut self) {
        let left = self.left();
        *left = left.saturating_sub(1);
        if let Some(connection) = &self.connection {
            connection.spend(1);
        }
    }

    fn is_over(&mut self) -> bool {
        *self.left() == 0
    }
}

type Came = (Vec<PlayStreamRequest>, Result<(), Refusal>);

impl Playing {
    /// After a number of answers, returns `Pending` once even if another answer is ready, so that other tasks run.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<StreamAnswer, Status>>> {
        let polled = if self.turn.is_over() { Poll::Pending } else { self.poll_in_turn(context) };
        if polled.is_pending() {
            if self.turn.is_over() {
                context.waker().wake_by_ref();
            }
            self.turn.left = None;
        } else {
            self.turn.count();
        }
        polled
    }

    fn poll_in_turn(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<StreamAnswer, Status>>> {
        if let Poll::Ready(answered) = self.calls.poll_answer(context) {
            return Poll::Ready(Some(Ok(self.answer(answered))));
        }
        let ended = match self.read(context) {
            Poll::Ready(Err(status)) => return Poll::Ready(Some(Err(status))),
            read => read.is_ready(),
        };
        match self.calls.poll_answer(context) {
            Poll::Ready(answered) => Poll::Ready(Some(Ok(self.answer(answered)))),
            Poll::Pending if ended && self.in_flight() == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    }

    fn read(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Status>> {
        let mut read = Poll::Pending;
        self.begin_current(context);
        while read.is_pending() && self.in_flight() < IN_FLIGHT_MAX && !self.turn.is_over() {
            match self.requests.poll_next_unpin(context) {
                Poll::Ready(Some(Ok(request))) if !self.api.ledgers.is_current() => self.arrived.push(request),
                Poll::Ready(Some(Ok(request))) => self.begin(request),
                Poll::Ready(Some(Err(status))) => read = Poll::Ready(Err(status)),
                Poll::Ready(None) => read = Poll::Ready(Ok(())),
                Poll::Pending => break,
            }
        }
        if self.current.is_none() && !self.arrived.is_empty() {
            let (ledgers, calls) = (self.api.ledgers.clone(), std::mem::take(&mut self.arrived));
            self.asking = calls.len();
            self.current = Some(async move { (calls, ledgers.current().await) }.boxed());
            self.begin_current(context);
        }
        self.calls.hand_in();
        read
    }

    fn in_flight(&self) -> usize {
        self.arrived.len() + self.asking + self.calls.count()
    }

    fn begin_current(&mut self, context: &mut Context<'_>) {
        let Some(current) = &mut self.current else { return };
        let Poll::Ready((calls, verdict)) = current.poll_unpin(context) else { return };
        (self.current, self.asking) = (None, 0);
        for call in calls {
            match &verdict {
                Ok(()) => self.begin(call),
                Err(refusal) => self.calls.refuse(call.tag, named(refusal.clone(), &call)),
            }
        }
    }

    fn begin(&mut self, request: PlayStreamRequest) {
        self.turn.count();
        if let Some(connection) = &self.turn.connection {
            connection.called();
        }
        if let Err(refusal) = self.caller.count_call(|| self.api.ledgers.clock_ms()) {
            return self.calls.refuse(request.tag, named(refusal, &request));
        }
        let PlayStreamRequest { tag: owner, call: Some(asked) } = request else {
            return self.calls.refuse(request.tag, Refusal::field("call", "is required"));
        };
        self.calls.begin(owner, &self.caller, &asked, MetadataMap::new(), None);
    }

    fn answer(&self, (tag, played): (u64, Answered)) -> StreamAnswer {
        let answer = played.map(PlayedBytes::into_bytes).map_err(|refusal| {
            refusals::note(&Refused { caller: &self.caller, peer: self.peer, ..Refused::new(&refusal, PLAY_STREAM) });
            status_message(&refusal.into())
        });
        StreamAnswer { tag, answer }
    }
}

fn named(refusal: Refusal, request: &PlayStreamRequest) -> Refusal {
    match &request.call {
        Some(asked) => refusal.of_request(calls::request_id(asked)).of_player(calls::player(asked)),
        None => refusal,
    }
}

pub(crate) fn status_message(status: &Status) -> pb::Status {
    pb::Status::decode(status.details()).unwrap_or_else(|_| pb::Status {
        code: status.code().into(),
        message: status.message().to_owned(),
        details: vec![],
    })
}
