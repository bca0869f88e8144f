//! PlayStream: many calls over one connection, each with the same semantics as its unary call.
//!
//! Calls of one stream run at the same time, up to [`IN_FLIGHT_MAX`]; past that the stream is not read, which HTTP/2's
//! flow control passes on to the caller. Answers come as they are ready, each with its request's tag.
//!
//! A bet needs no task, no timer and no channel of its own: it's decided when it's read, those that came together are
//! handed to the writer together, and one channel a stream brings its verdicts, those of a group commit at once. What is
//! not plain (a choice, a refusal, a conflict, a jackpot) goes the way of the unary call.

use crate::{
    answer::Answer,
    api::{SpinApi, is_stale},
    bet::{Bet, DrawnFor},
    dealer::Undecided,
    decide::{self, Decided, Drawing},
    pace::Now,
    state::State,
};
use futures_util::{FutureExt, Stream, StreamExt, future::BoxFuture, stream};
use motherlode_books::Event;
use motherlode_ledger::{AppendError, Proposal, Verdict, Verdicts};
use motherlode_proto::spin::v1::{
    PlayStreamRequest, PlayStreamResponse, Played, play_stream_request::Call, play_stream_response::Answer as Said,
};
use motherlode_runtime::{Caller, Refusal};
use prost::Message;
use std::{
    collections::BTreeMap,
    future::ready,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    vec,
};
use tokio::{
    sync::mpsc,
    time::{Instant, Sleep, sleep_until},
};
use tonic::{Status, Streaming, metadata::MetadataMap};
use tonic_types::pb;

/// Calls of one stream that run at the same time.
const IN_FLIGHT_MAX: usize = 1024;

/// Bets handed to the writer together at the most: it has work while the next are decided.
const TOGETHER_MAX: usize = 64;

impl SpinApi {
    pub(crate) fn play_all(
        self,
        caller: Caller,
        calls: Streaming<PlayStreamRequest>,
    ) -> impl Stream<Item = Result<PlayStreamResponse, Status>> {
        let calls = calls.take_until(self.stop.clone().requested()).fuse().boxed();
        let (sender, verdicts) = mpsc::unbounded_channel();
        let mut playing = Playing {
            api: Arc::new(self),
            caller,
            calls,
            arrived: vec![],
            current: None,
            asking: 0,
            decided: Vec::with_capacity(TOGETHER_MAX),
            sender,
            verdicts,
            came: Verdicts::new().into_iter(),
            bets: BTreeMap::new(),
            tickets: 0,
            patience: None,
            others: stream::FuturesUnordered::new(),
        };
        stream::poll_fn(move |context| playing.poll(context))
    }
}

/// The calls of one stream.
struct Playing {
    api: Arc<SpinApi>,
    /// Who makes all of them: fixed at the start.
    caller: Caller,
    calls: stream::BoxStream<'static, Result<PlayStreamRequest, Status>>,
    /// Requests that came since the ledger was last asked to be current.
    arrived: Vec<PlayStreamRequest>,
    /// Calls that wait together until what they are decided on is as of now, and how many they are.
    current: Option<BoxFuture<'static, Came>>,
    asking: usize,
    /// Bets to be handed to the writer, by ticket.
    decided: Vec<(u64, Proposal)>,
    /// As long as the calls that run at the same time.
    sender: mpsc::UnboundedSender<Verdicts>,
    verdicts: mpsc::UnboundedReceiver<Verdicts>,
    /// Verdicts that are to be answered with next.
    came: vec::IntoIter<(u64, Verdict)>,
    /// Bets that wait for a verdict, by ticket: the oldest first.
    bets: BTreeMap<u64, Box<Waiting>>,
    tickets: u64,
    /// Set while bets wait, for the oldest of when it was set or earlier.
    patience: Option<Pin<Box<Sleep>>>,
    /// Answers that come another way.
    others: stream::FuturesUnordered<BoxFuture<'static, PlayStreamResponse>>,
}

/// Calls, and whether what they are decided on is as of now.
type Came = (Vec<PlayStreamRequest>, Result<(), Refusal>);

/// A bet that was proposed.
struct Waiting {
    request: PlayStreamRequest,
    answer: Answer,
    since: Instant,
}

impl Playing {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<PlayStreamResponse, Status>>> {
        loop {
            while let Some((ticket, verdict)) = self.came.next() {
                // A verdict that came too late was answered for.
                let bet = self.bets.remove(&ticket);
                if let Some(answer) = bet.and_then(|bet| self.conclude(*bet, verdict)) {
                    return Poll::Ready(Some(Ok(answer)));
                }
            }
            if let Poll::Ready(Some(verdicts)) = self.verdicts.poll_recv(context) {
                self.came = verdicts.into_iter();
                continue;
            }
            let ended = match self.read(context) {
                Poll::Ready(Err(status)) => return Poll::Ready(Some(Err(status))),
                read => read.is_ready(),
            };
            if let Poll::Ready(Some(answer)) = self.others.poll_next_unpin(context) {
                return Poll::Ready(Some(Ok(answer)));
            }
            if ended && self.in_flight() == 0 {
                return Poll::Ready(None);
            }
            return self.late(context).map_or(Poll::Pending, |answer| Poll::Ready(Some(Ok(answer))));
        }
    }

    /// Begins the calls that have come, as many as may run; ready when no more will come, or with the reason.
    fn read(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Status>> {
        let mut read = Poll::Pending;
        self.begin_current(context);
        while read.is_pending() && self.in_flight() < IN_FLIGHT_MAX {
            match self.calls.poll_next_unpin(context) {
                Poll::Ready(Some(Ok(request))) if self.api.ledgers.is_replica() => self.arrived.push(request),
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
        self.hand_in();
        read
    }

    /// Calls of this stream that are not answered yet.
    fn in_flight(&self) -> usize {
        self.arrived.len() + self.asking + self.bets.len() + self.others.len()
    }

    /// Begins the calls that waited for the ledger, once it's current.
    fn begin_current(&mut self, context: &mut Context<'_>) {
        let Some(current) = &mut self.current else { return };
        let Poll::Ready((calls, verdict)) = current.poll_unpin(context) else { return };
        (self.current, self.asking) = (None, 0);
        for call in calls {
            match &verdict {
                Ok(()) => self.begin(call),
                Err(refusal) => self.refuse(call.tag, refusal.clone()),
            }
        }
    }

    /// Begins a call. Nothing is answered here, so that what was decided before is not kept waiting.
    fn begin(&mut self, request: PlayStreamRequest) {
        if let Err(refusal) = self.caller.count_call(|| self.api.ledgers.clock_ms()) {
            return self.refuse(request.tag, refusal);
        }
        let Some(Call::Spin(spin)) = &request.call else { return self.other(request) };
        let bet = match Bet::parse(&self.caller, &self.api.ledgers, &self.api.ladders, spin) {
            Ok(bet) => bet,
            Err(refusal) => return self.refuse(request.tag, refusal),
        };
        // The operator's wallet is asked first: that takes a task of its own.
        if self.api.wallets.of(&bet.account.stream).is_some() {
            return self.other(request);
        }
        let Ok(Decided { proposal, answer }) = self.decide(&bet) else { return self.other(request) };
        self.tickets += 1;
        self.decided.push((self.tickets, proposal));
        self.bets.insert(self.tickets, Box::new(Waiting { request, answer, since: Instant::now() }));
        if self.decided.len() == TOGETHER_MAX {
            self.hand_in();
        }
    }

    fn refuse(&mut self, tag: u64, refusal: Refusal) {
        self.others.push(ready(answer(tag, Err(refusal))).boxed());
    }

    fn hand_in(&mut self) {
        if !self.decided.is_empty() {
            self.api.ledgers.propose(self.decided.drain(..), &self.sender);
        }
    }

    fn decide(&self, bet: &Bet) -> Result<Decided, Undecided> {
        let rules = self.api.rules_for(bet)?;
        let ledger = self.api.ledgers.of(&bet.account.stream);
        let now = Now::of(ledger);
        let stream = &bet.account.stream;
        let state = ledger.books_of(stream, |books| State::of_bet(books, bet)).map_err(Refusal::from)?;
        let DrawnFor { client_seed, sealed } = &bet.drawn;
        let from = Drawing { dealer: &self.api.dealer, client_seed, sealed: *sealed };
        decide::spin(&state, bet, &rules, (&self.api.pace, now), &from)
    }

    /// Makes the answer to a bet from its verdict; `None` if the bet takes the way of the unary call.
    fn conclude(&mut self, bet: Waiting, verdict: Verdict) -> Option<PlayStreamResponse> {
        let tag = bet.request.tag;
        match verdict {
            Ok(logged) => {
                self.api.pace.taken(&logged.commit, || self.api.ledgers.ticks_ms());
                let (api, made) = (Arc::clone(&self.api), Some(bet.answer));
                if !logged.commit.events.iter().any(|event| matches!(event, Event::JackpotHit { .. })) {
                    // Nothing to wait for.
                    return api.played(&logged, made).now_or_never().map(|played| answer(tag, played));
                }
                self.others.push(async move { answer(tag, api.played(&logged, made).await) }.boxed());
                None
            }
            Err(error) if is_stale(&error) => {
                self.other(bet.request);
                None
            }
            Err(error) => Some(answer(tag, Err(error.into()))),
        }
    }

    /// A call that goes the way of the unary call.
    fn other(&mut self, request: PlayStreamRequest) {
        let (api, caller) = (Arc::clone(&self.api), self.caller.clone());
        self.others.push(async move { api.answer(&caller, &request).await }.boxed());
    }

    /// The answer to the oldest bet, if it has waited for the writer too long.
    fn late(&mut self, context: &mut Context<'_>) -> Option<PlayStreamResponse> {
        let wait = self.api.ledgers.home().answer_wait_max()?;
        loop {
            let (ticket, oldest) = self.bets.first_key_value()?;
            let (ticket, due) = (*ticket, oldest.since + wait);
            let patience = self.patience.get_or_insert_with(|| Box::pin(sleep_until(due)));
            if patience.poll_unpin(context).is_pending() {
                return None;
            }
            if due <= Instant::now() {
                let bet = self.bets.remove(&ticket)?;
                return Some(answer(bet.request.tag, Err(AppendError::Late.into())));
            }
            patience.as_mut().reset(due);
        }
    }
}

impl SpinApi {
    async fn answer(&self, caller: &Caller, request: &PlayStreamRequest) -> PlayStreamResponse {
        // The stream's own metadata says nothing of its calls.
        let none = MetadataMap::new();
        let played = match &request.call {
            Some(Call::Spin(spin)) => self.spin(caller, spin, &none).await,
            Some(Call::Choose(choose)) => self.choose(caller, choose, &none).await,
            None => Err(Refusal::field("call", "is required")),
        };
        answer(request.tag, played)
    }
}

fn answer(tag: u64, played: Result<Played, Refusal>) -> PlayStreamResponse {
    let answer = match played {
        Ok(played) => Said::Played(Box::new(played)),
        Err(refusal) => Said::Error(status_message(&refusal.into())),
    };
    PlayStreamResponse { tag, answer: Some(answer) }
}

/// A status as the message that gRPC itself carries in its trailers.
pub(crate) fn status_message(status: &Status) -> pb::Status {
    pb::Status::decode(status.details()).unwrap_or_else(|_| pb::Status {
        code: status.code().into(),
        message: status.message().to_owned(),
        details: vec![],
    })
}
