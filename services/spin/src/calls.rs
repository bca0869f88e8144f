//! Concurrent calls of a stream or connection.
//!
//! A bet is decided when it begins, without its own task or timer. Bets that arrive together are proposed together, and
//! one channel returns all verdicts. Other calls (choices, conflicts, jackpots, operators' wallets) run as separate
//! futures.

use crate::{
    answer::{Answer, PlayedBytes},
    api::{SpinApi, is_stale},
    bet::{Bet, DrawnFor},
    dealer::Undecided,
    decide::{self, Drawing, PlayDecision},
    pace::Now,
    played::hit_pool,
    state::State,
};
use futures_util::{FutureExt, StreamExt, future::BoxFuture, stream::FuturesUnordered};
use motherlode_ledger::{AppendError, Proposal, Verdict, Verdicts};
use motherlode_proto::spin::v1::{ChooseRequest, SpinRequest};
use motherlode_runtime::{Caller, Refusal, until::within};
use motherlode_slots::Outcome;
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
use tonic::metadata::MetadataMap;

/// Small, so that the writer works while the next bets are decided.
const TOGETHER_MAX: usize = 64;

pub struct PlayQueue {
    api: Arc<SpinApi>,
    decided: Vec<(u64, Proposal, Option<Instant>)>,
    sender: mpsc::UnboundedSender<Verdicts>,
    verdicts: mpsc::UnboundedReceiver<Verdicts>,
    came: vec::IntoIter<(u64, Verdict)>,
    bets: BTreeMap<u64, Box<Waiting>>,
    tickets: u64,
    outcome: Outcome,
    /// Timer of the oldest waiting bet, or of one before it.
    patience: Option<Pin<Box<Sleep>>>,
    others: FuturesUnordered<BoxFuture<'static, Answered>>,
}

pub enum Play {
    Spin(SpinRequest),
    Choose(ChooseRequest),
}

pub struct Call {
    pub number: u64,
    pub caller: Caller,
    pub play: Play,
    /// `None` on a stream.
    pub metadata: Option<Box<MetadataMap>>,
    pub until: Option<Instant>,
}

pub type Answered = (u64, Result<PlayedBytes, Refusal>);

struct Waiting {
    number: u64,
    bet: Bet,
    until: Option<Instant>,
    answer: Answer,
    since: Instant,
}

impl PlayQueue {
    #[must_use]
    pub fn new(api: Arc<SpinApi>) -> Self {
        let (sender, verdicts) = mpsc::unbounded_channel();
        Self {
            api,
            decided: Vec::with_capacity(TOGETHER_MAX),
            sender,
            verdicts,
            came: Verdicts::new().into_iter(),
            bets: BTreeMap::new(),
            tickets: 0,
            outcome: Outcome::default(),
            patience: None,
            others: FuturesUnordered::new(),
        }
    }

    #[must_use]
    pub fn count(&self) -> usize {
        self.bets.len() + self.others.len()
    }

    pub fn begin(&mut self, call: Call) {
        // Only test scripts read metadata.
        let Play::Spin(spin) = &call.play else { return self.play(call) };
        if self.api.dealer.is_scripted() && call.metadata.is_some() {
            return self.play(call);
        }
        let bet = match Bet::parse(&call.caller, &self.api.ledgers, &self.api.ladders, spin) {
            Ok(bet) => bet,
            Err(refusal) => return self.refuse(call.number, refusal.of_request(&spin.request_id)),
        };
        // The operator's wallet must be called first.
        if self.api.wallets.for_stream(&bet.account.stream).is_some() {
            return self.play(call);
        }
        let Ok(PlayDecision { proposal, answer }) = self.decide(&bet) else { return self.play(call) };
        let Call { number, until, .. } = call;
        self.tickets += 1;
        self.decided.push((self.tickets, proposal, until));
        self.bets.insert(self.tickets, Box::new(Waiting { number, bet, until, answer, since: Instant::now() }));
        if self.decided.len() == TOGETHER_MAX {
            self.hand_in();
        }
    }

    pub fn refuse(&mut self, number: u64, refusal: Refusal) {
        self.others.push(ready((number, Err(refusal))).boxed());
    }

    pub fn hand_in(&mut self) {
        if !self.decided.is_empty() {
            self.api.ledgers.propose(self.decided.drain(..), &self.sender);
        }
    }

    pub fn poll_answer(&mut self, context: &mut Context<'_>) -> Poll<Answered> {
        loop {
            while let Some((ticket, verdict)) = self.came.next() {
                // A late bet is already answered.
                let bet = self.bets.remove(&ticket);
                if let Some(answer) = bet.and_then(|bet| self.conclude(*bet, verdict)) {
                    return Poll::Ready(answer);
                }
            }
            match self.verdicts.poll_recv(context) {
                Poll::Ready(Some(verdicts)) => self.came = verdicts.into_iter(),
                _ => break,
            }
        }
        if let Poll::Ready(Some(answer)) = self.others.poll_next_unpin(context) {
            return Poll::Ready(answer);
        }
        self.late(context).map_or(Poll::Pending, Poll::Ready)
    }

    fn decide(&mut self, bet: &Bet) -> Result<PlayDecision, Undecided> {
        let Self { api, outcome, .. } = self;
        let rules = api.rules_for(bet)?;
        let stream = &bet.account.stream;
        let ledger = api.ledgers.for_stream(stream)?;
        let state = ledger.books_of(stream, |books| State::of_bet(books, bet)).map_err(Refusal::from)?;
        let DrawnFor { client_seed, sealed } = &bet.drawn;
        let from = Drawing { dealer: &api.dealer, client_seed, sealed: *sealed };
        decide::spin(&state, bet, &rules, (&api.pace, Now::read(ledger)), &from, outcome)
    }

    /// `None` if a separate future answers.
    fn conclude(&mut self, waiting: Waiting, verdict: Verdict) -> Option<Answered> {
        let Waiting { number, bet, until, answer, .. } = waiting;
        let refused = |refusal: Refusal, bet: &Bet| refusal.of_request(&bet.request_id);
        match verdict {
            Ok(logged) => {
                self.api.pace.taken(&logged.commit, || self.api.ledgers.ticks_ms());
                if hit_pool(&logged.commit).is_none() {
                    let answer = self.api.answer_to(&logged, Some(answer), None);
                    return Some((number, answer.map_err(|refusal| refused(refusal, &bet))));
                }
                let api = Arc::clone(&self.api);
                let played = async move {
                    let played = api.played(&logged, Some(answer)).await;
                    (number, played.map_err(|refusal| refused(refusal, &bet)))
                };
                self.others.push(played.boxed());
                None
            }
            Err(error) if is_stale(&error) => {
                let api = Arc::clone(&self.api);
                self.wait_for(until, async move {
                    let played = api.bet(&bet, &MetadataMap::new()).await;
                    (number, played.map_err(|refusal| refused(refusal, &bet)))
                });
                None
            }
            Err(error) => Some((number, Err(refused(error.into(), &bet)))),
        }
    }

    fn play(&mut self, call: Call) {
        let api = Arc::clone(&self.api);
        self.wait_for(call.until, async move {
            let metadata = call.metadata.map_or_else(MetadataMap::new, |metadata| *metadata);
            let (played, request_id) = match &call.play {
                Play::Spin(spin) => (api.spin(&call.caller, spin, &metadata).await, &spin.request_id),
                Play::Choose(choose) => (api.choose(&call.caller, choose, &metadata).await, &choose.request_id),
            };
            (call.number, played.map_err(|refusal| refusal.of_request(request_id)))
        });
    }

    fn wait_for(&mut self, until: Option<Instant>, answered: impl Future<Output = Answered> + Send + 'static) {
        self.others.push(match until {
            Some(until) => within(until, answered).boxed(),
            None => answered.boxed(),
        });
    }

    fn late(&mut self, context: &mut Context<'_>) -> Option<Answered> {
        let wait = self.api.ledgers.home().answer_wait_max()?;
        loop {
            let (ticket, oldest) = self.bets.first_key_value()?;
            let (ticket, due) = (*ticket, oldest.since + wait);
            let patience = self.patience.get_or_insert_with(|| Box::pin(sleep_until(due)));
            if patience.as_mut().poll(context).is_pending() {
                return None;
            }
            if due <= Instant::now() {
                let bet = self.bets.remove(&ticket)?;
                let late = Refusal::from(AppendError::Late).of_request(&bet.bet.request_id);
                return Some((bet.number, Err(late)));
            }
            patience.as_mut().reset(due);
        }
    }
}
