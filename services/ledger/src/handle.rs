mod reads;

use crate::{
    append::{AppendError, Proposal},
    chain::ChainHead,
    core::{Appended, LedgerCore},
    draws::DrawKeys,
    error::FetchError,
    index::Index,
    options::Options,
    page::Page,
    past::PastRecords,
    queue::{Message, Proposed, QueueSlot, QueueSlots, Reply, Verdict, Verdicts, answer, repeated},
    readers::{LogReader, ReaderKind, Reading},
    requests::Name,
    standing::Standing,
    upstream::{Upstream, not_current},
    verifier::Verification,
    writer::Writer,
};
use bytes::Bytes;
use motherlode_log::{Authority, Position};
use motherlode_proto::convert::record::{Logged, Proposer};
use motherlode_runtime::{Reason, Refusal, trace::traceparent, until::until};
use motherlode_state::{Books, Generations, PlayerState, Restores, SettledRound, StreamId};
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    sync::{Arc, atomic::Ordering},
    thread::JoinHandle,
    time::Duration,
};
use tokio::{
    runtime,
    sync::{
        broadcast,
        mpsc::{self, error::TrySendError},
        oneshot, watch,
    },
    time::Instant,
};

const LOOK: Duration = Duration::from_millis(50);
/// Maximum age of the store's confirmation that this process is the writer; with an older confirmation, the writer
/// answers no reads. A confirmed writer also answers standbys, and a standby takes over no sooner than 2.5 s after the
/// last such answer. Before this age is reached, therefore, no other process can acknowledge a commit. The exception is
/// a process with all roles, which can take over at its start.
pub const AUTHORITY_AGE_MAX: Duration = Duration::from_secs(2);
const CONFIRMATION_WAIT_MAX: Duration = Duration::from_secs(2);

const TAKEOVER: &str = "takeover";

#[must_use]
pub fn not_the_writer() -> Refusal {
    Refusal::new(Reason::NotTheWriter, "another process writes the log: send the call to that process")
}

#[must_use]
pub fn taking_over() -> Refusal {
    not_the_writer().with(TAKEOVER, true)
}

pub(crate) fn is_taking_over(reason: &str, metadata: &HashMap<String, String>) -> bool {
    reason == Reason::NotTheWriter.name() && metadata.contains_key(TAKEOVER)
}

#[derive(Clone)]
pub struct Handle {
    shared: Arc<LedgerCore>,
    way: Way,
    slots: QueueSlots,
    threads: Arc<Mutex<Vec<JoinHandle<()>>>>,
    /// Archived records that were downloaded for one read.
    past: Option<Arc<PastRecords>>,
}

#[derive(Clone)]
pub(crate) enum Way {
    Here(Arc<Desk>),
    There { inbox: mpsc::Sender<Message>, upstream: Upstream },
}

pub(crate) struct Desk(pub(crate) Arc<Writer>);

impl Drop for Desk {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Handle {
    pub(crate) fn new(shared: Arc<LedgerCore>, way: Way, options: &Options, threads: Vec<JoinHandle<()>>) -> Self {
        let (slots, threads) = (QueueSlots::new(options), Arc::new(Mutex::new(threads)));
        Self { shared, way, slots, threads, past: None }
    }

    pub(crate) fn with_past(&self, past: Arc<PastRecords>) -> Self {
        Self { past: Some(past), ..self.clone() }
    }

    fn past_record(&self, position: Position) -> Option<&(Bytes, Arc<Logged>)> {
        self.past.as_ref()?.get(position)
    }

    /// Sets the runtime that publishes durable groups of commits; calls on it get their answers faster. Only the first
    /// setting has an effect.
    pub fn publish_on(&self, runtime: &runtime::Handle) {
        if let Way::Here(desk) = &self.way {
            desk.0.publish_on(runtime);
        }
    }

    /// Waits until the state includes every commit acknowledged before this call. A replica asks the writer for the end
    /// of the log, with one request for all waiting calls. If another process can take over, and the log's store last
    /// confirmed the writer more than [`AUTHORITY_AGE_MAX`] ago, the writer waits for a new confirmation. Fails with
    /// NOT_THE_WRITER, or with NOT_CURRENT after a timeout.
    pub async fn current(&self) -> Result<(), Refusal> {
        self.written()?;
        match &self.way {
            Way::There { upstream, .. } => upstream.current(&self.shared).await,
            Way::Here(_) if self.is_current() => Ok(()),
            Way::Here(_) => self.confirmed().await,
        }
    }

    pub fn is_current(&self) -> bool {
        let is_young = |authority: &Arc<Authority>| authority.age() <= AUTHORITY_AGE_MAX;
        !self.is_replica() && self.authority().is_none_or(is_young)
    }

    pub fn authority(&self) -> Option<&Arc<Authority>> {
        self.shared.authority.get()
    }

    async fn confirmed(&self) -> Result<(), Refusal> {
        let until = Instant::now() + CONFIRMATION_WAIT_MAX;
        while Instant::now() < until {
            tokio::time::sleep(LOOK).await;
            self.written()?;
            if self.is_current() {
                return Ok(());
            }
        }
        Err(not_current("the log's store has not confirmed in time that this process is the writer: retry"))
    }

    pub(crate) fn written(&self) -> Result<(), Refusal> {
        match &*self.shared.standings.borrow() {
            Standing::Fenced(_) => Err(not_the_writer()),
            Standing::Unconfirmed(why) => Err(not_current(why)),
            Standing::Failed(why) if self.is_replica() => Err(not_current(why)),
            Standing::Takes | Standing::Stalled(_) | Standing::Failed(_) | Standing::Damaged(_) => Ok(()),
        }
    }

    pub fn readers(&self) -> Vec<LogReader> {
        self.shared.readers.all()
    }

    pub fn reading(&self, kind: ReaderKind, name: String, after: Position) -> Reading {
        self.shared.readers.enter(kind, name, self.shared.time.now_ms(), after)
    }

    pub fn copied(&self) -> Position {
        self.shared.readers.copied()
    }

    pub fn is_replica(&self) -> bool {
        matches!(self.way, Way::There { .. })
    }

    pub fn step_down(&self, why: impl Into<String>) {
        self.shared.standings.fail(Standing::Fenced(why.into()));
    }

    pub(crate) async fn fenced(&self) {
        let mut standing = self.shared.standings.subscribe();
        let _ = standing.wait_for(|standing| matches!(standing, Standing::Fenced(_))).await;
    }

    pub fn standing(&self) -> watch::Receiver<Standing> {
        self.shared.standings.subscribe()
    }

    pub fn verification(&self) -> watch::Receiver<Verification> {
        self.shared.verification.subscribe()
    }

    pub async fn thread_ended(&self) -> String {
        let mut ended = self.shared.threads.ended();
        let why = ended.wait_for(Option::is_some).await;
        why.ok().and_then(|why| why.clone()).unwrap_or_default()
    }

    pub fn distrust(&self, why: &str) {
        self.shared.standings.fail(Standing::Failed(why.to_owned()));
    }

    pub fn distrust_log(&self, why: &str) {
        self.shared.standings.fail(Standing::Damaged(why.to_owned()));
    }

    pub async fn failed(&self) -> Standing {
        let mut standing = self.shared.standings.subscribe();
        let over =
            |standing: &Standing| matches!(standing, Standing::Failed(_) | Standing::Damaged(_) | Standing::Fenced(_));
        let failed = standing.wait_for(over).await;
        failed.map_or(Standing::Takes, |standing| standing.clone())
    }

    /// Appends a proposal and returns the commit of its request. For a repeated request, returns the existing commit.
    /// [`AppendError::Unknown`] and [`AppendError::Late`] mean that the request may have been applied; after any other
    /// error it was not applied.
    pub async fn append(&self, proposal: Proposal) -> Verdict {
        self.append_recalling(proposal, None).await
    }

    /// Appends a void; `recalled` is the settled round that it voids, as read from the log (PL-04).
    pub(crate) async fn append_recalling(&self, proposal: Proposal, recalled: Option<Box<SettledRound>>) -> Verdict {
        let (reply, verdict) = oneshot::channel();
        self.submit([(proposal, recalled, until(), Reply::One(reply))], None);
        let verdict = match self.shared.answer_wait_max {
            Some(wait) => tokio::time::timeout(wait, verdict).await.map_err(|_| AppendError::Late)?,
            None => verdict.await,
        };
        verdict.map_err(|_| AppendError::Closing)?
    }

    /// Proposes a batch of commits, which can share disk syncs. Expired proposals are answered with
    /// [`AppendError::Late`].
    pub fn propose(
        &self,
        proposals: impl IntoIterator<Item = (u64, Proposal, Option<Instant>)>,
        verdicts: &mpsc::UnboundedSender<Verdicts>,
    ) {
        let proposals = proposals.into_iter().map(|(ticket, proposal, until)| (ticket, proposal, until, None));
        self.propose_for(None, proposals, verdicts);
    }

    /// Makes proposals for another process, whose name is recorded in their commits (PL-44).
    pub(crate) fn propose_for(
        &self,
        proposer: Option<&Arc<Proposer>>,
        proposals: impl IntoIterator<Item = (u64, Proposal, Option<Instant>, Option<Box<SettledRound>>)>,
        verdicts: &mpsc::UnboundedSender<Verdicts>,
    ) {
        let proposals = proposals.into_iter().map(|(ticket, proposal, until, recalled)| {
            let reply = Reply::Many(ticket, verdicts.clone());
            (proposal, recalled, until, reply)
        });
        self.submit(proposals, proposer);
    }

    pub fn answer_wait_max(&self) -> Option<Duration> {
        self.shared.answer_wait_max
    }

    #[must_use]
    pub fn draws(&self) -> &DrawKeys {
        &self.shared.draws
    }

    #[must_use]
    pub fn generations(&self) -> Arc<Generations> {
        Arc::clone(self.shared.books.read().generations())
    }

    #[must_use]
    pub fn restores(&self) -> Arc<Restores> {
        Arc::clone(self.shared.books.read().restores())
    }

    pub(crate) fn was_followed(&self) -> bool {
        self.shared.followed.load(Ordering::Relaxed)
    }

    pub(crate) fn keep_page(&self, page: Page) {
        page.write(*self.shared.head.borrow());
        if self.shared.page.set(page).is_err() {
            tracing::error!(
                partition = self.partition(),
                "ignored a second page file (copy of the log's end in memory) for this partition: the first one stays in use"
            );
        }
    }

    pub fn change_lapse_ms(&self) -> i64 {
        self.shared.change_lapse_ms
    }

    fn submit(
        &self,
        proposals: impl IntoIterator<Item = (Proposal, Option<Box<SettledRound>>, Option<Instant>, Reply)>,
        proposer: Option<&Arc<Proposer>>,
    ) {
        let proposals = proposals.into_iter();
        let (mut known, mut proposed) = (vec![], Vec::with_capacity(proposals.size_hint().0));
        for (proposal, recalled, until, reply) in proposals {
            match self.look(&proposal, proposer.is_some()) {
                Ok((name, checked_to, slot)) => {
                    let traceparent = None;
                    let proposer = proposer.cloned();
                    proposed.push(Proposed {
                        proposal,
                        name,
                        checked_to,
                        recalled,
                        proposer,
                        until,
                        traceparent,
                        slot,
                        reply,
                    });
                }
                Err(verdict) => known.push((reply, verdict)),
            }
        }
        if !proposed.is_empty() {
            known.extend(match &self.way {
                Way::Here(desk) => desk.0.judge(proposed),
                Way::There { inbox, .. } => forward(inbox, proposed),
            });
        }
        answer(known.into_iter());
    }

    /// Checks a proposal before it is queued. Returns the verdict as an error if the durable commits already decide it.
    fn look(&self, proposal: &Proposal, is_remote: bool) -> Result<(Name, Position, QueueSlot), Verdict> {
        let failed = |why: &str| AppendError::Unknown { reason: format!("the log accepts no writes: {why}") };
        let refusal = match &*self.shared.standings.borrow() {
            Standing::Takes | Standing::Stalled(_) | Standing::Unconfirmed(_) => None,
            Standing::Failed(why) => Some(failed(why)),
            Standing::Damaged(why) => Some(AppendError::Damaged { reason: why.clone() }),
            Standing::Fenced(why) => return Err(Err(failed(why))),
        };
        let name = self.shared.requests.name(&proposal.stream, &proposal.request_id);
        // The position is read before the lookup, so that the lookup covers all requests up to it.
        let checked_to = self.durable();
        match self.shared.committed(name, &proposal.stream, &proposal.request_id) {
            Ok(None) => {}
            Ok(Some(logged)) => return Err(repeated(logged, proposal.fingerprint)),
            Err(error) => return Err(Err(error)),
        }
        if let Some(barrier) = proposal.barrier(self.partition())
            && let Some(logged) = self.committed(&barrier.stream, &barrier.request_id).map_err(Err)?
            && let Some(refusal) = barrier.refusal(&logged)
        {
            return Err(Err(refusal));
        }
        let hindered = || match &self.way {
            Way::Here(_) => self.shared.standings.refusal().map(|reason| AppendError::Unavailable { reason }),
            Way::There { .. } => None,
        };
        if let Some(refusal) = refusal.or_else(hindered) {
            return Err(Err(match (refusal, &self.way) {
                // An earlier proposal of this request may still be appended, so the outcome is unknown.
                (AppendError::Damaged { reason } | AppendError::Unavailable { reason }, Way::Here(desk))
                    if desk.0.is_under_way(name, &proposal.stream, &proposal.request_id)
                        || desk.0.is_in_doubt(name) =>
                {
                    AppendError::Unknown { reason }
                }
                (refusal, _) => refusal,
            }));
        }
        let slot = self.slots.take(&proposal.stream, is_remote).ok_or(Err(AppendError::Busy))?;
        Ok((name, checked_to, slot))
    }

    /// Reads the books, which contain only the players in memory. `read` must not make proposals, because the writer
    /// waits until `read` returns.
    pub fn books<T>(&self, read: impl FnOnce(&Books) -> T) -> T {
        read(&self.shared.books.read())
    }

    pub fn books_of<T>(&self, stream: &StreamId, read: impl FnOnce(&Books) -> T) -> Result<T, FetchError> {
        let books = self.shared.books_with(stream)?;
        Ok(read(&books))
    }

    pub fn player(&self, stream: &StreamId) -> Result<Option<PlayerState>, FetchError> {
        self.books_of(stream, |books| books.player(stream).cloned())
    }

    pub fn find(
        &self,
        stream: &StreamId,
        request_id: &str,
        fingerprint: [u8; 16],
    ) -> Result<Option<Arc<Logged>>, AppendError> {
        self.committed(stream, request_id)?.map(|logged| repeated(logged, fingerprint)).transpose()
    }

    pub fn find_position(&self, stream: &StreamId, request_id: &str) -> Result<Option<Position>, AppendError> {
        Ok(self.committed(stream, request_id)?.map(|logged| logged.commit.position))
    }

    pub(crate) async fn settled(&self, stream: &StreamId, request_id: &str) -> Result<(), AppendError> {
        let Way::Here(desk) = &self.way else { return Ok(()) };
        let name = self.shared.requests.name(stream, request_id);
        let mut head = self.head();
        let wait = async {
            while desk.0.is_under_way(name, stream, request_id) {
                let _ = tokio::time::timeout(LOOK, head.changed()).await;
            }
        };
        match self.shared.answer_wait_max {
            Some(most) => tokio::time::timeout(most, wait).await.map_err(|_| AppendError::Late),
            None => {
                wait.await;
                Ok(())
            }
        }
    }

    pub(crate) fn committed(&self, stream: &StreamId, request_id: &str) -> Result<Option<Arc<Logged>>, AppendError> {
        let name = self.shared.requests.name(stream, request_id);
        self.shared.committed_in(name, stream, request_id, |position| self.fetch(position))
    }

    pub fn awards_before(
        &self,
        pool: &StreamId,
        operator: Option<&str>,
        before: Position,
        max: usize,
    ) -> Result<Vec<Position>, FetchError> {
        Ok(self.shared.index.awards_before(pool, operator, before, max)?)
    }

    pub(crate) fn index(&self) -> &Index {
        &self.shared.index
    }

    pub fn partition(&self) -> u32 {
        self.shared.partition
    }

    pub fn now_ms(&self) -> i64 {
        self.shared.time.now_ms()
    }

    pub fn clock_ms(&self) -> i64 {
        self.shared.time.clock_ms()
    }

    pub fn ticks_ms(&self) -> i64 {
        self.shared.time.ticks_ms()
    }

    /// Returns the current time for decisions that cannot be reversed: a forward jump of the system clock counts only
    /// after an hour.
    pub fn patient_ms(&self) -> i64 {
        self.shared.time.patient_ms()
    }

    pub fn take_skew(&self) -> Option<i64> {
        self.shared.time.take_skew()
    }

    pub(crate) fn tail(&self) -> broadcast::Receiver<Appended> {
        self.shared.tail.subscribe()
    }

    pub fn head(&self) -> watch::Receiver<ChainHead> {
        self.shared.head.subscribe()
    }

    pub fn decisions(&self) -> watch::Receiver<()> {
        self.shared.decisions.subscribe()
    }

    pub fn awards(&self) -> watch::Receiver<()> {
        self.shared.awards.subscribe()
    }

    pub fn durable(&self) -> Position {
        self.shared.durable()
    }

    pub fn waiting(&self) -> usize {
        match &self.way {
            Way::Here(desk) => desk.0.waiting(),
            Way::There { inbox, .. } => inbox.max_capacity() - inbox.capacity(),
        }
    }

    pub fn writable(&self) -> bool {
        *self.shared.standings.borrow() == Standing::Takes
    }

    pub async fn close(self) {
        match &self.way {
            Way::Here(desk) => desk.0.close(),
            Way::There { inbox, .. } => drop(inbox.send(Message::Close).await),
        }
        let Self { shared, way, threads, .. } = self;
        let threads = std::mem::take(&mut *threads.lock());
        let joined = tokio::task::spawn_blocking(move || threads.into_iter().all(|thread| thread.join().is_ok()));
        if !matches!(joined.await, Ok(true)) {
            tracing::error!("a thread of the ledger panicked");
        }
        drop(way);
        let _ = tokio::task::spawn_blocking(move || shared.close()).await;
    }
}

fn forward(inbox: &mpsc::Sender<Message>, proposed: Vec<Proposed>) -> Vec<(Reply, Verdict)> {
    let forward = |mut proposed: Proposed| {
        proposed.traceparent = traceparent().map(String::into_boxed_str);
        let (message, error) = match inbox.try_send(Message::Append(proposed)) {
            Ok(()) => return None,
            Err(TrySendError::Full(message)) => (message, AppendError::Busy),
            Err(TrySendError::Closed(message)) => (message, AppendError::Closing),
        };
        match message {
            Message::Append(proposed) => Some((proposed.reply, Err(error))),
            Message::Close => None,
        }
    };
    proposed.into_iter().filter_map(forward).collect()
}
