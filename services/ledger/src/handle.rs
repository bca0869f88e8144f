//! The handle: how services read the books, propose commits and follow the log.

mod reads;

use crate::{
    append::{AppendError, Proposal},
    draws::DrawKeys,
    error::FetchError,
    index::Held,
    options::Options,
    page::Page,
    projected::Projected,
    queue::{Message, Proposed, QueueSlot, QueueSlots, Reply, Verdict, Verdicts, answer, repeated},
    readers::{LogReader, ReaderKind, Reading},
    requests::Name,
    shared::{Appended, Shared},
    standing::Standing,
    upstream::{Upstream, not_current},
    verifier::Verification,
    writer::Writer,
};
use motherlode_books::{Books, Generations, PlayerState, SettledRound, StreamId};
use motherlode_log::{Authority, Position};
use motherlode_proto::convert::record::{Logged, Proposer};
use motherlode_runtime::{Reason, Refusal, trace::traceparent, until::until};
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

/// How often is looked whether a request is still on its way, or a confirmation has come.
const LOOK: Duration = Duration::from_millis(50);
/// The oldest confirmation by the store on which a writer answers reads. Another process takes the log over after a silence of 3 s, or
/// 2.5 s after this writer's last answer to it, so nothing can be acknowledged elsewhere before this bound is over. The exception is a
/// process of all roles, which takes the log at its start.
pub const AUTHORITY_AGE_MAX: Duration = Duration::from_secs(2);
/// How long reads wait for a confirmation.
const CONFIRMATION_WAIT_MAX: Duration = Duration::from_secs(2);

/// Metadata entry of a refusal that marks a takeover by a standby.
const TAKEOVER: &str = "takeover";

/// The refusal of one who does not write the log, or not any more: another process does.
#[must_use]
pub fn not_the_writer() -> Refusal {
    Refusal::new(Reason::NotTheWriter, "another process writes the log")
}

/// The same of a standby that takes the log over, or tries to: the writer is silent.
#[must_use]
pub fn taking_over() -> Refusal {
    not_the_writer().with(TAKEOVER, true)
}

/// Whether a refusal with this reason and these entries is [`taking_over`].
pub(crate) fn is_taking_over(reason: &str, metadata: &HashMap<String, String>) -> bool {
    reason == Reason::NotTheWriter.name() && metadata.contains_key(TAKEOVER)
}

/// A ledger, as services hold it.
#[derive(Clone)]
pub struct Handle {
    shared: Arc<Shared>,
    way: Way,
    slots: QueueSlots,
    threads: Arc<Mutex<Vec<JoinHandle<()>>>>,
}

/// The way of proposals.
#[derive(Clone)]
pub(crate) enum Way {
    /// To the writer in this process.
    Here(Arc<Desk>),
    /// Of a replica: to the process that writes the log.
    There { inbox: mpsc::Sender<Message>, upstream: Upstream },
}

/// The writer, closed when the last handle is gone.
pub(crate) struct Desk(pub(crate) Arc<Writer>);

impl Drop for Desk {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Handle {
    pub(crate) fn new(shared: Arc<Shared>, way: Way, options: &Options, threads: Vec<JoinHandle<()>>) -> Self {
        Self { shared, way, slots: QueueSlots::new(options), threads: Arc::new(Mutex::new(threads)) }
    }

    /// Has groups published by a runtime from now on: that of the thread where most of those who wait for them are. Only the first one
    /// counts.
    pub fn publish_on(&self, runtime: &runtime::Handle) {
        if let Way::Here(desk) = &self.way {
            desk.0.publish_on(runtime);
        }
    }

    /// Waits until the state read here is no older than the call. A replica requests the end of the log, once for all waiting
    /// calls, and applies the log up to there. If its store has several possible writers, a writer waits for a confirmation when
    /// the latest is older than [`AUTHORITY_AGE_MAX`].
    ///
    /// # Errors
    /// UNAVAILABLE: NOT_THE_WRITER if another process now writes the log, NOT_CURRENT if that cannot be determined in time.
    pub async fn current(&self) -> Result<(), Refusal> {
        self.written()?;
        match &self.way {
            Way::There { upstream, .. } => upstream.current(&self.shared).await,
            Way::Here(_) if self.is_current() => Ok(()),
            Way::Here(_) => self.confirmed().await,
        }
    }

    /// Whether [`current`](Self::current) has nothing to wait for.
    pub fn is_current(&self) -> bool {
        let is_young = |authority: &Arc<Authority>| authority.age() <= AUTHORITY_AGE_MAX;
        !self.is_replica() && self.authority().is_none_or(is_young)
    }

    /// The authority of a writer whose store has several possible ones.
    pub fn authority(&self) -> Option<&Arc<Authority>> {
        self.shared.authority.get()
    }

    /// Waits until the store has confirmed this process as the writer.
    async fn confirmed(&self) -> Result<(), Refusal> {
        let until = Instant::now() + CONFIRMATION_WAIT_MAX;
        while Instant::now() < until {
            tokio::time::sleep(LOOK).await;
            self.written()?;
            if self.is_current() {
                return Ok(());
            }
        }
        Err(not_current("the log's store has not confirmed in time that this process writes it"))
    }

    /// The answer of [`current`](Self::current) as far as it is known without waiting.
    pub(crate) fn written(&self) -> Result<(), Refusal> {
        match &*self.shared.standings.borrow() {
            Standing::Fenced(_) => Err(not_the_writer()),
            Standing::Unconfirmed(why) => Err(not_current(why)),
            Standing::Failed(why) if self.is_replica() => Err(not_current(why)),
            Standing::Takes | Standing::Stalled(_) | Standing::Failed(_) | Standing::Damaged(_) => Ok(()),
        }
    }

    /// Who follows the log from other processes.
    pub fn readers(&self) -> Vec<LogReader> {
        self.shared.readers.all()
    }

    /// Takes up somebody who follows it, after a position, for as long as the answer is held.
    pub fn reading(&self, kind: ReaderKind, name: String, after: Position) -> Reading {
        self.shared.readers.enter(kind, name, self.shared.time.now_ms(), after)
    }

    /// Highest position sent to a copy of the whole log since startup; 0 without a copy.
    pub fn copied(&self) -> Position {
        self.shared.readers.copied()
    }

    /// Whether another process writes the log.
    pub fn is_replica(&self) -> bool {
        matches!(self.way, Way::There { .. })
    }

    /// Takes no more proposals and answers no more reads, since another process may write the log by now.
    pub fn step_down(&self, why: impl Into<String>) {
        self.shared.standings.fail(Standing::Fenced(why.into()));
    }

    /// Waits until another process writes the log.
    pub(crate) async fn fenced(&self) {
        let mut standing = self.shared.standings.subscribe();
        // The sender is this handle's own.
        let _ = standing.wait_for(|standing| matches!(standing, Standing::Fenced(_))).await;
    }

    /// How the ledger stands to its log, and a way to wait for a change of that.
    pub fn standing(&self) -> watch::Receiver<Standing> {
        self.shared.standings.subscribe()
    }

    /// How far the records are verified that the opening of the log has not read, and a way to wait for more.
    pub fn verification(&self) -> watch::Receiver<Verification> {
        self.shared.verification.subscribe()
    }

    /// Waits until a thread of the ledger panics; returns its name and the reason.
    pub async fn thread_ended(&self) -> String {
        let mut ended = self.shared.threads.ended();
        // The sender is the shared state's own.
        let why = ended.wait_for(Option::is_some).await;
        why.ok().and_then(|why| why.clone()).unwrap_or_default()
    }

    /// Takes no more proposals until a restart, since the state here is not trusted. Reads are answered.
    pub fn distrust(&self, why: &str) {
        self.shared.standings.fail(Standing::Failed(why.to_owned()));
    }

    /// Takes no more proposals until a start on a sound log, since this one is damaged. `why` has the place. Reads are answered.
    pub fn distrust_log(&self, why: &str) {
        self.shared.standings.fail(Standing::Damaged(why.to_owned()));
    }

    /// Waits until no more proposals are taken for good, and says why.
    pub async fn failed(&self) -> Standing {
        let mut standing = self.shared.standings.subscribe();
        // The sender is this handle's own.
        let over =
            |standing: &Standing| matches!(standing, Standing::Failed(_) | Standing::Damaged(_) | Standing::Fenced(_));
        let failed = standing.wait_for(over).await;
        failed.map_or(Standing::Takes, |standing| standing.clone())
    }

    /// Proposes a commit. `Ok` is the commit that the request made, now or at the first time of asking.
    ///
    /// # Errors
    /// See [`AppendError`]; nothing was applied then, but for [`AppendError::Unknown`].
    pub async fn append(&self, proposal: Proposal) -> Verdict {
        self.append_recalling(proposal, None).await
    }

    /// Proposes a commit that voids a settled round, with what the log says of that round (PL-04).
    ///
    /// # Errors
    /// As [`append`](Self::append).
    pub(crate) async fn append_recalling(&self, proposal: Proposal, recalled: Option<Box<SettledRound>>) -> Verdict {
        let (reply, verdict) = oneshot::channel();
        self.submit([(proposal, recalled, until(), Reply::One(reply))], None);
        let verdict = match self.shared.answer_wait_max {
            Some(wait) => tokio::time::timeout(wait, verdict).await.map_err(|_| AppendError::Late)?,
            None => verdict.await,
        };
        verdict.map_err(|_| AppendError::Closing)?
    }

    /// Proposes commits for one who waits for many, in this order: each gets one verdict, as [`append`](Self::append)
    /// would give it, through `verdicts` with its ticket; but it's never late. How long to wait says
    /// [`answer_wait_max`](Self::answer_wait_max). Each is judged until its caller's deadline, if it has one: what is not judged by
    /// then isn't any more, and is late. Proposals handed in together need fewer syncs and wakes.
    pub fn propose(
        &self,
        proposals: impl IntoIterator<Item = (u64, Proposal, Option<Instant>)>,
        verdicts: &mpsc::UnboundedSender<Verdicts>,
    ) {
        let proposals = proposals.into_iter().map(|(ticket, proposal, until)| (ticket, proposal, until, None));
        self.propose_for(None, proposals, verdicts);
    }

    /// The same for another process, named in its commits (PL-44), with the settled rounds of its voids.
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

    /// How long a proposal waits for its verdict; `None` for as long as it takes.
    pub fn answer_wait_max(&self) -> Option<Duration> {
        self.shared.answer_wait_max
    }

    /// The draw keys of the process; none where it was opened without.
    #[must_use]
    pub fn draws(&self) -> &DrawKeys {
        &self.shared.draws
    }

    /// The generations of the partition's draws, as of now (PL-40).
    #[must_use]
    pub fn generations(&self) -> Arc<Generations> {
        Arc::clone(self.shared.books.read().generations())
    }

    /// Whether this process followed the log until it became its writer.
    pub(crate) fn was_followed(&self) -> bool {
        self.shared.followed.load(Ordering::Relaxed)
    }

    /// Has the end of the log written to a page before each answer, from its present end on.
    pub(crate) fn keep_page(&self, page: Page) {
        page.write(*self.shared.head.borrow());
        if self.shared.page.set(page).is_err() {
            tracing::error!(partition = self.partition(), "the log has a page already");
        }
    }

    /// How long a change waits for its second actor, milliseconds (PL-27).
    pub fn change_lapse_ms(&self) -> i64 {
        self.shared.change_lapse_ms
    }

    /// Has proposals judged in this order. All of them get a reply.
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

    /// Looks the request up among the durable commits. Returns its name, the position up to which no commit is of it or refuses it
    /// (see [`Proposal::barrier`]), and a queue slot; or the verdict, if it needs no writer. An old request costs a read.
    fn look(&self, proposal: &Proposal, is_remote: bool) -> Result<(Name, Position, QueueSlot), Verdict> {
        let failed = |why: &str| AppendError::Unknown { reason: format!("the log takes no writes: {why}") };
        let refusal = match &*self.shared.standings.borrow() {
            Standing::Takes | Standing::Stalled(_) | Standing::Unconfirmed(_) => None,
            Standing::Failed(why) => Some(failed(why)),
            Standing::Damaged(why) => Some(AppendError::Damaged { reason: why.clone() }),
            Standing::Fenced(why) => return Err(Err(failed(why))),
        };
        let name = self.shared.requests.name(&proposal.stream, &proposal.request_id);
        // Read before the table: what is durable up to here is in it.
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
                // An earlier proposal of the request may yet prove to be in the log.
                (AppendError::Damaged { reason } | AppendError::Unavailable { reason }, Way::Here(desk))
                    if desk.0.is_under_way(name, &proposal.stream, &proposal.request_id)
                        || desk.0.is_in_doubt(name) =>
                {
                    AppendError::Unknown { reason }
                }
                (refusal, _) => refusal,
            }));
        }
        let most = self.slots.open_rounds_max;
        let opens = proposal.leaves_open();
        if opens.is_some_and(|operator| self.books(|books| books.open_count(operator)) >= most) {
            return Err(Err(AppendError::OpenRounds { most }));
        }
        let slot = self.slots.take(&proposal.stream, is_remote).ok_or(Err(AppendError::Busy))?;
        Ok((name, checked_to, slot))
    }

    /// Reads the books as they are durably; holds off the writer while `read` runs, so be quick, and propose nothing in it.
    pub fn books<T>(&self, read: impl FnOnce(&Books) -> T) -> T {
        read(&self.shared.books.read())
    }

    /// The same with a player in memory, if there is one: books that are read by [`Handle::books`] may lack players.
    ///
    /// # Errors
    /// When the player is not in memory and cannot be read.
    pub fn books_of<T>(&self, stream: &StreamId, read: impl FnOnce(&Books) -> T) -> Result<T, FetchError> {
        let books = self.shared.books_with(stream)?;
        Ok(read(&books))
    }

    /// A player's state; `None` for one who never opened an account.
    ///
    /// # Errors
    /// As [`Handle::books_of`].
    pub fn player(&self, stream: &StreamId) -> Result<Option<PlayerState>, FetchError> {
        self.books_of(stream, |books| books.player(stream).cloned())
    }

    /// The commit that a request made; `None` when it made none.
    ///
    /// # Errors
    /// [`AppendError::RequestIdReused`] when the id belongs to another request.
    pub fn find(
        &self,
        stream: &StreamId,
        request_id: &str,
        fingerprint: [u8; 16],
    ) -> Result<Option<Arc<Logged>>, AppendError> {
        self.committed(stream, request_id)?.map(|logged| repeated(logged, fingerprint)).transpose()
    }

    /// Where a request's commit is.
    ///
    /// # Errors
    /// [`AppendError::Unknown`] when the log cannot be read.
    pub fn find_position(&self, stream: &StreamId, request_id: &str) -> Result<Option<Position>, AppendError> {
        Ok(self.committed(stream, request_id)?.map(|logged| logged.commit.position))
    }

    /// Waits until no proposal of a request is on its way to the disk from here.
    ///
    /// # Errors
    /// [`AppendError::Late`] when that takes longer than a proposal may.
    pub(crate) async fn settled(&self, stream: &StreamId, request_id: &str) -> Result<(), AppendError> {
        let Way::Here(desk) = &self.way else { return Ok(()) };
        let name = self.shared.requests.name(stream, request_id);
        let mut head = self.head();
        let wait = async {
            while desk.0.is_under_way(name, stream, request_id) {
                // A failed append moves no head.
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

    /// A request's commit.
    ///
    /// # Errors
    /// [`AppendError::Unknown`] when the log cannot be read.
    pub(crate) fn committed(&self, stream: &StreamId, request_id: &str) -> Result<Option<Arc<Logged>>, AppendError> {
        let name = self.shared.requests.name(stream, request_id);
        self.shared.committed(name, stream, request_id)
    }

    /// Positions of a pool's awards before a position, of an operator's players or of all, the latest first; an award of
    /// this very instant may be missing.
    ///
    /// # Errors
    /// When the index cannot be read, or there is none for now.
    pub fn awards_before(
        &self,
        pool: &StreamId,
        operator: Option<&str>,
        before: Position,
        max: usize,
    ) -> Result<Vec<Position>, FetchError> {
        self.shared.index.awards_before(pool, operator, before, max)?.ok_or(FetchError::Behind)
    }

    /// The index behind this ledger.
    pub(crate) fn projected(&self) -> &Projected {
        &self.shared.index
    }

    /// The partition that it is the ledger of.
    pub fn partition(&self) -> u32 {
        self.shared.partition
    }

    /// Returns the log's time, Unix milliseconds: the stamp of a commit made now. It never runs back; while the
    /// machine's clock is behind it, it goes on at half speed.
    pub fn now_ms(&self) -> i64 {
        self.shared.time.now_ms()
    }

    /// The machine's clock, Unix milliseconds, right or wrong.
    pub fn clock_ms(&self) -> i64 {
        self.shared.time.clock_ms()
    }

    /// Milliseconds of this process, from any start, that no clock moves: for seconds that somebody has to wait.
    pub fn ticks_ms(&self) -> i64 {
        self.shared.time.ticks_ms()
    }

    /// The earliest that it can be now, Unix milliseconds: a clock that jumped ahead isn't believed for an hour. For what can't be
    /// taken back.
    pub fn patient_ms(&self) -> i64 {
        self.shared.time.patient_ms()
    }

    /// The most milliseconds that the machine's clock was set by, ahead or (below zero) back, since this was asked last.
    pub fn take_skew(&self) -> Option<i64> {
        self.shared.time.take_skew()
    }

    /// Groups as they become durable, for those who keep up with them.
    pub(crate) fn tail(&self) -> broadcast::Receiver<Appended> {
        self.shared.tail.subscribe()
    }

    /// The last durable record, and a way to wait for the next.
    pub fn head(&self) -> watch::Receiver<Held> {
        self.shared.head.subscribe()
    }

    /// Returns a way to wait for hits and voids that pools must decide, and for changes that all partitions must know.
    pub fn decisions(&self) -> watch::Receiver<()> {
        self.shared.decisions.subscribe()
    }

    /// Position of the last durable commit.
    pub fn durable(&self) -> Position {
        self.shared.durable()
    }

    /// Proposals that wait for their verdict.
    pub fn waiting(&self) -> usize {
        match &self.way {
            Way::Here(desk) => desk.0.waiting(),
            Way::There { inbox, .. } => inbox.max_capacity() - inbox.capacity(),
        }
    }

    /// Whether appends are taken. False while the log cannot be written.
    pub fn writable(&self) -> bool {
        *self.shared.standings.borrow() == Standing::Takes
    }

    /// Closes the ledger: what was proposed before is answered, the index is synced, then the store is released.
    pub async fn close(self) {
        match &self.way {
            Way::Here(desk) => desk.0.close(),
            // A closed channel means that it was closed before.
            Way::There { inbox, .. } => drop(inbox.send(Message::Close).await),
        }
        let Self { shared, way, threads, .. } = self;
        let threads = std::mem::take(&mut *threads.lock());
        let joined = tokio::task::spawn_blocking(move || threads.into_iter().all(|thread| thread.join().is_ok()));
        if !matches!(joined.await, Ok(true)) {
            tracing::error!("a thread of the ledger ended in a panic");
        }
        // Another handle may be left, which can still read; the last one to close gives up the index's files.
        drop(way);
        let _ = tokio::task::spawn_blocking(move || shared.close()).await;
    }
}

/// Hands proposals of a replica to its forwarder, who will reply; returns the verdicts on those that it can't take.
fn forward(inbox: &mpsc::Sender<Message>, proposed: Vec<Proposed>) -> Vec<(Reply, Verdict)> {
    let forward = |mut proposed: Proposed| {
        // Another process can't see this one's spans.
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
