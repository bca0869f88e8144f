//! Concurrent calls on a stream or connection.
//!
//! A bet or choice is decided as soon as its call begins, without a separate task or timer. Calls that arrive together
//! are proposed together, and one channel returns all results. After a version conflict or a jackpot hit, or if an
//! operator's wallet must be called, a call continues as a separate future.

use crate::{
    answer::{Answer, PlayedBytes},
    api::{SpinApi, is_stale},
    bet::{Named, Play},
    dealer::Undecided,
    played::hit_pool,
    state::State,
};
use futures_util::{FutureExt, StreamExt, future::BoxFuture, stream::FuturesUnordered};
use motherlode_ledger::{AppendError, Proposal, Verdict, Verdicts};
use motherlode_proto::spin::v1::play_stream_request::Call as Asked;
use motherlode_runtime::{
    Caller, Refusal,
    until::{time_is_up, within},
};
use motherlode_slots::Outcome;
use motherlode_state::StreamId;
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    vec,
};
use tokio::{
    sync::mpsc,
    time::{Instant, Sleep, sleep_until},
};
use tonic::metadata::MetadataMap;

/// Maximum number of plays proposed together, small enough that the writer can work while the next bets are decided.
const TOGETHER_MAX: usize = 64;

pub struct PlayQueue<T> {
    api: Arc<SpinApi>,
    in_flight: BTreeMap<u64, InFlight<T>>,
    tickets: u64,
    due: BTreeSet<(Instant, u64)>,
    alarm: Option<Pin<Box<Sleep>>>,
    decided: Vec<(u64, Proposal, Option<Instant>)>,
    sender: mpsc::UnboundedSender<Verdicts>,
    verdicts: mpsc::UnboundedReceiver<Verdicts>,
    came: vec::IntoIter<(u64, Verdict)>,
    outcome: Outcome,
    apart: FuturesUnordered<BoxFuture<'static, (u64, Answered)>>,
    refused: VecDeque<(T, Refusal)>,
}

pub type Answered = Result<PlayedBytes, Refusal>;

struct InFlight<T> {
    owner: T,
    until: Option<Instant>,
    due: Option<Instant>,
    /// Proposed play; `None` if a separate future answers the call.
    proposed: Option<Box<(Play, Answer)>>,
}

impl<T> PlayQueue<T> {
    #[must_use]
    pub fn new(api: Arc<SpinApi>) -> Self {
        let (sender, verdicts) = mpsc::unbounded_channel();
        Self {
            api,
            in_flight: BTreeMap::new(),
            tickets: 0,
            due: BTreeSet::new(),
            alarm: None,
            decided: Vec::with_capacity(TOGETHER_MAX),
            sender,
            verdicts,
            came: Verdicts::new().into_iter(),
            outcome: Outcome::default(),
            apart: FuturesUnordered::new(),
            refused: VecDeque::new(),
        }
    }

    #[must_use]
    pub fn count(&self) -> usize {
        self.in_flight.len() + self.refused.len()
    }

    pub fn begin(&mut self, owner: T, caller: &Caller, asked: &Asked, metadata: MetadataMap, until: Option<Instant>) {
        let play = match Play::parse(caller, &self.api.ledgers, &self.api.ladders, asked) {
            Ok(play) => play,
            Err(refusal) => return self.refuse(owner, refusal.of_request(request_id(asked)).of_player(player(asked))),
        };
        self.tickets += 1;
        let ticket = self.tickets;
        // Only test scripts read metadata.
        let is_scripted = self.api.dealer.is_scripted() && !metadata.is_empty();
        let is_apart = is_scripted || self.api.debits(&play);
        let decided = (!is_apart).then(|| self.decide(&play));
        let (proposal, answer) = match decided {
            Some(Ok(decided)) => decided,
            Some(Err(Undecided::Refused(refusal))) if self.api.is_new(&play) => {
                return self.refuse(owner, with_names(refusal, play.named()));
            }
            _ => {
                let api = Arc::clone(&self.api);
                let played = |play: Play| async move { api.play(&play, &metadata).await };
                return self.answer_apart((ticket, owner, until), play, played);
            }
        };
        self.decided.push((ticket, proposal, until));
        let late = self.api.ledgers.home().answer_wait_max().map(|wait| Instant::now() + wait);
        let due = [until, late].into_iter().flatten().min();
        self.insert(ticket, InFlight { owner, until, due, proposed: Some(Box::new((play, answer))) });
        if self.decided.len() == TOGETHER_MAX {
            self.hand_in();
        }
    }

    pub fn refuse(&mut self, owner: T, refusal: Refusal) {
        self.refused.push_back((owner, refusal));
    }

    pub fn hand_in(&mut self) {
        if !self.decided.is_empty() {
            self.api.ledgers.propose(self.decided.drain(..), &self.sender);
        }
    }

    pub fn poll_answer(&mut self, context: &mut Context<'_>) -> Poll<(T, Answered)> {
        if let Some((owner, refusal)) = self.refused.pop_front() {
            return Poll::Ready((owner, Err(refusal)));
        }
        loop {
            while let Some((ticket, verdict)) = self.came.next() {
                if let Some(answer) = self.remove(ticket).and_then(|call| self.conclude(ticket, call, verdict)) {
                    return Poll::Ready(answer);
                }
            }
            match self.verdicts.poll_recv(context) {
                Poll::Ready(Some(verdicts)) => self.came = verdicts.into_iter(),
                _ => break,
            }
        }
        while let Poll::Ready(Some((ticket, answered))) = self.apart.poll_next_unpin(context) {
            if let Some(call) = self.remove(ticket) {
                return Poll::Ready((call.owner, answered));
            }
        }
        self.late(context).map_or(Poll::Pending, Poll::Ready)
    }

    fn decide(&mut self, play: &Play) -> Result<(Proposal, Answer), Undecided> {
        let named = play.named();
        let ledger = self.api.ledgers.for_stream(named.stream)?;
        let state = ledger.books_of(named.stream, |books| State::of_play(books, play)).map_err(Refusal::from)?;
        self.api.decide(play, named, &state, &mut self.outcome)
    }

    fn conclude(&mut self, ticket: u64, call: InFlight<T>, verdict: Verdict) -> Option<(T, Answered)> {
        let InFlight { owner, until, proposed, .. } = call;
        let (play, answer) = *proposed?;
        let api = Arc::clone(&self.api);
        let answered = match verdict {
            Ok(logged) => {
                api.pace.taken(&logged.commit, || api.ledgers.ticks_ms());
                if hit_pool(&logged.commit).is_some() {
                    let played = |_: Play| async move { api.played(&logged, Some(answer)).await };
                    self.answer_apart((ticket, owner, until), play, played);
                    return None;
                }
                api.answer_to(&logged, Some(answer), None)
            }
            Err(error) if is_stale(&error) => {
                let played = |play: Play| async move { api.play(&play, &MetadataMap::new()).await };
                self.answer_apart((ticket, owner, until), play, played);
                return None;
            }
            Err(error) => Err(error.into()),
        };
        Some((owner, answered.map_err(|refusal| with_names(refusal, play.named()))))
    }

    fn answer_apart<F: Future<Output = Answered> + Send + 'static>(
        &mut self,
        (ticket, owner, until): (u64, T, Option<Instant>),
        play: Play,
        answer: impl FnOnce(Play) -> F,
    ) {
        let (request_id, stream) = (play.named().request_id.clone(), play.named().stream.clone());
        let answered = answer(play).map(move |answered| {
            let answered =
                answered.map_err(|refusal| refusal.of_request(&request_id).of_player(stream_player(&stream)));
            (ticket, answered)
        });
        self.insert(ticket, InFlight { owner, until, due: until, proposed: None });
        self.apart.push(match until {
            Some(until) => within(until, answered).boxed(),
            None => answered.boxed(),
        });
    }

    fn insert(&mut self, ticket: u64, call: InFlight<T>) {
        self.due.extend(call.due.map(|due| (due, ticket)));
        self.in_flight.insert(ticket, call);
    }

    fn remove(&mut self, ticket: u64) -> Option<InFlight<T>> {
        let call = self.in_flight.remove(&ticket)?;
        if let Some(due) = call.due {
            self.due.remove(&(due, ticket));
        }
        Some(call)
    }

    fn late(&mut self, context: &mut Context<'_>) -> Option<(T, Answered)> {
        loop {
            let (due, ticket) = *self.due.first()?;
            let alarm = self.alarm.get_or_insert_with(|| Box::pin(sleep_until(due)));
            if alarm.deadline() > due {
                alarm.as_mut().reset(due);
            }
            if alarm.as_mut().poll(context).is_pending() {
                return None;
            }
            if due > Instant::now() {
                alarm.as_mut().reset(due);
                continue;
            }
            let InFlight { owner, until, proposed, .. } = self.remove(ticket)?;
            let refusal = match proposed {
                Some(proposed) if until != Some(due) => with_names(AppendError::Late.into(), proposed.0.named()),
                _ => time_is_up(),
            };
            return Some((owner, Err(refusal)));
        }
    }
}

fn with_names(refusal: Refusal, named: Named<'_>) -> Refusal {
    refusal.of_request(named.request_id).of_player(stream_player(named.stream))
}

fn stream_player(stream: &StreamId) -> &str {
    match stream {
        StreamId::Player { player, .. } => player,
        _ => "",
    }
}

pub(crate) fn player(asked: &Asked) -> &str {
    match asked {
        Asked::Spin(spin) => spin.account.as_ref().map_or("", |account| &account.player_id),
        Asked::Choose(choose) => choose.round_id.split('/').nth(1).unwrap_or_default(),
    }
}

pub(crate) fn request_id(asked: &Asked) -> &str {
    match asked {
        Asked::Spin(spin) => &spin.request_id,
        Asked::Choose(choose) => &choose.request_id,
    }
}
