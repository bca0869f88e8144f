//! Single writer of a partition: orders proposals, and answers each when its commit is durable.
//!
//! The thread of the caller checks each proposal against the durable books and the commits in `staged`, and adds the
//! commit to a group. The [`Appender`](crate::appender::Appender) appends groups in order. A durable group is
//! published: its commits are applied to the books, then its callers get their answers. Readers therefore see only
//! durable state.
//!
//! A refusal that depends on staged commits is sent after these commits are durable. If the append of the commits
//! fails, they are discarded and the caller gets the error.

use crate::{
    append::{AppendError, Proposal},
    chain::ChainHead,
    core::{Appended, LedgerCore, PUBLISHED_BYTES_MAX, is_by},
    fields::NOT_OPAQUE,
    options::Options,
    parked::ParkedProposals,
    queue::{Proposed, QueueSlot, Reply, Verdict, answer, repeated},
    requests::Name,
    room::Room,
    snapshot::Snapshots,
    standing::{Hindrance, Standing},
    trouble::Trouble,
};
use bytes::Bytes;
use motherlode_log::{AppendError as Failed, Chained, Position};
use motherlode_proto::convert::record::{self, Logged, Proposer};
use motherlode_runtime::{Operators, Reason};
use motherlode_state::{Books, Commit, Head, SettledRound, SmolStr, Stage, StreamId, Subject};
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, OnceLock, Weak},
    time::{Duration, Instant},
};
use tokio::{runtime, sync::mpsc};

const GROUP_BYTES_MAX: usize = 1 << 20;

pub(crate) struct Writer {
    shared: Arc<LedgerCore>,
    batch_commits_max: usize,
    has_operators: bool,
    operators: Operators,
    open_rounds_max: usize,
    waiting_max: usize,
    /// A thread that locks both `staged` and the books must lock `staged` first.
    staged: Mutex<Staged>,
    due: Condvar,
    /// Wakes the thread that publishes groups; without such a thread, the appender publishes.
    publisher: OnceLock<mpsc::Sender<()>>,
}

struct Staged {
    stage: Stage,
    end: ChainHead,
    groups: VecDeque<Group>,
    room: Room,
    durable: usize,
    appending: Option<Instant>,
    waiting: usize,
    parked: ParkedProposals,
    trouble: Option<Trouble>,
    maintenance_fails: bool,
    closed: bool,
    snapshots: Option<Snapshots>,
}

struct Group {
    records: Chained,
    logged: Vec<Arc<Logged>>,
    names: Vec<Name>,
    bytes: usize,
    end: ChainHead,
    opening: BTreeMap<SmolStr, usize>,
    waiters: Vec<Waiter>,
}

struct Waiter {
    name: Name,
    reply: Reply,
    verdict: Verdict,
    _slot: QueueSlot,
}

struct Publisher {
    writer: Weak<Writer>,
    durable: mpsc::Receiver<()>,
}

impl Publisher {
    fn publish(&self) {
        if let Some(writer) = self.writer.upgrade() {
            writer.publish();
        }
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        self.durable.close();
        self.publish();
    }
}

pub(crate) enum AppenderTask {
    Append(Chained),
    Again,
    Nothing,
}

impl Writer {
    pub(crate) fn new(shared: Arc<LedgerCore>, snapshots: Snapshots, options: &Options) -> Self {
        let staged = Staged {
            stage: Stage::new(),
            end: *shared.head.borrow(),
            groups: VecDeque::new(),
            room: Room::default(),
            durable: 0,
            appending: None,
            waiting: 0,
            parked: ParkedProposals::new(options.configured.clone()),
            trouble: None,
            maintenance_fails: false,
            closed: false,
            snapshots: Some(snapshots),
        };
        Self {
            shared,
            batch_commits_max: options.batch_commits_max.max(1),
            has_operators: options.has_operators,
            operators: options.configured.clone(),
            open_rounds_max: options.open_rounds_max,
            waiting_max: options.queue_length_max,
            staged: Mutex::new(staged),
            due: Condvar::new(),
            publisher: OnceLock::new(),
        }
    }

    pub(crate) fn publish_on(self: &Arc<Self>, runtime: &runtime::Handle) {
        let (sender, durable) = mpsc::channel(1);
        if self.publisher.set(sender).is_ok() {
            let mut publisher = Publisher { writer: Arc::downgrade(self), durable };
            runtime.spawn(async move {
                while publisher.durable.recv().await.is_some() {
                    publisher.publish();
                }
            });
        }
    }

    pub(crate) fn shared(&self) -> &LedgerCore {
        &self.shared
    }

    /// Returns the verdicts that depend only on durable commits; other verdicts are sent later.
    pub(crate) fn judge(&self, proposals: impl IntoIterator<Item = Proposed>) -> Vec<(Reply, Verdict)> {
        self.judge_into(self.staged.lock(), proposals, false)
    }

    fn serve_parked(&self) {
        loop {
            let mut staged = self.staged.lock();
            let commits_max = staged.parked.commits_max(self.batch_commits_max, tokio::time::Instant::now());
            if staged.parked.is_empty() || (!staged.closed && staged.has_full_group(commits_max)) {
                return;
            }
            let next = staged.parked.take(commits_max);
            answer(self.judge_into(staged, next, true).into_iter());
        }
    }

    fn judge_into(
        &self,
        mut staged: MutexGuard<'_, Staged>,
        proposals: impl IntoIterator<Item = Proposed>,
        in_turn: bool,
    ) -> Vec<(Reply, Verdict)> {
        let mut known = vec![];
        let mut books = self.shared.books.read();
        let (now, time_ms) = (tokio::time::Instant::now(), self.shared.time.stamp());
        for mut proposed in proposals {
            staged.parked.note(&proposed.proposal.stream, now);
            let commits_max = staged.parked.commits_max(self.batch_commits_max, now);
            if !in_turn && staged.is_congested(commits_max) {
                match staged.parked.park(proposed) {
                    Some(unparked) => proposed = unparked,
                    None => continue,
                }
            }
            let Proposed { proposal, name, checked_to, recalled, proposer, until, slot, reply, .. } = proposed;
            let unjudged = match until {
                _ if staged.closed => Some(AppendError::Closing),
                _ if staged.waiting >= self.waiting_max => Some(AppendError::Busy),
                Some(until) if until <= now => Some(AppendError::Late),
                _ => None,
            };
            if let Some(error) = unjudged {
                known.push((reply, Err(error)));
                continue;
            }
            let mut subject = Subject::default();
            staged.stage.copy(&books, &proposal.stream, &mut subject);
            let mut head = subject.head();
            if head.version == 0 {
                drop(books);
                let loaded = self.shared.books_with(&proposal.stream);
                books = match loaded {
                    Ok(books) => books,
                    Err(error) => {
                        known.push((reply, Err(error.into())));
                        books = self.shared.books.read();
                        continue;
                    }
                };
                staged.stage.copy(&books, &proposal.stream, &mut subject);
                head = subject.head();
            }
            let judging = Judging { writer: self, books: &books, time_ms, name, recalled, proposer, head };
            let verdict = judging.judge(&mut staged, subject, proposal, checked_to, commits_max);
            match staged.groups.back_mut() {
                Some(youngest) => {
                    youngest.waiters.push(Waiter { name, reply, verdict, _slot: slot });
                    staged.waiting += 1;
                }
                None => known.push((reply, verdict)),
            }
        }
        let is_idle = staged.appending.is_none() && staged.groups.len() > staged.durable;
        drop((books, staged));
        if is_idle {
            self.due.notify_one();
        }
        known
    }

    pub(crate) fn waiting(&self) -> usize {
        let staged = self.staged.lock();
        staged.waiting + staged.parked.count
    }

    pub(crate) fn append_age(&self) -> Option<Duration> {
        self.staged.lock().appending.map(|begun| begun.elapsed())
    }

    pub(crate) fn is_under_way(&self, name: Name, stream: &StreamId, request_id: &str) -> bool {
        let staged = self.staged.lock();
        staged.parked.has(stream, request_id) || staged.made_by(name, stream, request_id).is_some()
    }

    pub(crate) fn is_in_doubt(&self, name: Name) -> bool {
        self.staged.lock().trouble.as_ref().is_some_and(|trouble| trouble.has_in_doubt(name))
    }

    pub(crate) fn close(&self) {
        self.staged.lock().closed = true;
        self.serve_parked();
        self.due.notify_one();
    }

    pub(crate) fn due(&self) -> AppenderTask {
        let mut staged = self.staged.lock();
        loop {
            let durable = staged.durable;
            if let Some(oldest) = staged.groups.get_mut(durable) {
                let records = std::mem::replace(&mut oldest.records, Chained::after(oldest.end.hash));
                staged.appending = Some(Instant::now());
                return AppenderTask::Append(records);
            }
            if staged.closed {
                return AppenderTask::Nothing;
            }
            match staged.trouble.as_ref().map(|trouble| trouble.again) {
                None => self.due.wait(&mut staged),
                Some(again) if self.due.wait_until(&mut staged, again).timed_out() => return AppenderTask::Again,
                Some(_) => {}
            }
        }
    }

    pub(crate) fn appended(&self, records: Chained) {
        {
            let mut staged = self.staged.lock();
            let durable = staged.durable;
            let Some(group) = staged.groups.get_mut(durable) else { return };
            group.records = records;
            staged.durable += 1;
            staged.parked.append_took = staged.appending.map_or(Duration::ZERO, |begun| begun.elapsed());
            (staged.appending, staged.trouble) = (None, None);
        }
        self.shared.standings.clear(Hindrance::Store);
        self.shared.standings.clear(Hindrance::Append);
        // A full channel already contains a signal, which also covers this group.
        let told = self.publisher.get().map(|publisher| publisher.try_send(()));
        if !matches!(told, Some(Ok(()) | Err(mpsc::error::TrySendError::Full(())))) {
            self.publish();
        }
    }

    pub(crate) fn publish(&self) {
        let mut waiters = vec![];
        {
            let mut staged = self.staged.lock();
            let staged = &mut *staged;
            if let Some(newest) = staged.durable.checked_sub(1).and_then(|newest| staged.groups.get(newest))
                && let Some(page) = self.shared.page.get()
            {
                // The file records the log's end before commits are acknowledged, so a start detects their loss.
                page.write(newest.end);
            }
            for group in staged.groups.drain(..std::mem::take(&mut staged.durable)) {
                let Group { records, logged, names, end, waiters: of_group, .. } = group;
                staged.waiting -= of_group.len();
                let sizes = || records.records().iter().map(Bytes::len);
                let is_long = sizes().sum::<usize>() > PUBLISHED_BYTES_MAX;
                self.shared.publish(&mut staged.stage, &logged, sizes(), &names, records.hashes(), end);
                waiters.extend(of_group);
                if self.shared.tail.receiver_count() > 0 {
                    let records = if is_long { vec![] } else { Vec::from(records) };
                    let first = end.position + 1 - records.len() as Position;
                    let _ = self.shared.tail.send(Appended { first, records: records.into() });
                }
                staged.snapshots.iter().for_each(Snapshots::look);
            }
        }
        answer(waiters.into_iter().map(|waiter| (waiter.reply, waiter.verdict)));
        self.serve_parked();
    }

    pub(crate) fn end(&self) {
        self.publish();
        let snapshots = self.staged.lock().snapshots.take();
        drop(snapshots);
    }

    pub(crate) fn failed(&self, error: Failed) {
        self.publish();
        let durable = *self.shared.head.borrow();
        let mut staged = self.staged.lock();
        let groups = std::mem::take(&mut staged.groups);
        (staged.stage, staged.end) = (Stage::new(), durable);
        (staged.appending, staged.waiting) = (None, 0);
        let in_doubt = groups.front().map(|oldest| oldest.names.clone()).unwrap_or_default();
        let failure = self.failure(error, &mut staged, in_doubt);
        let refused = |Waiter { name, reply, verdict, .. }: Waiter| match verdict {
            Ok(made) if made.commit.position <= durable.position => (reply, Ok(made)),
            _ => (reply, Err(staged.refused(name, &failure))),
        };
        let verdicts: Vec<_> = groups.into_iter().flat_map(|group| group.waiters).map(refused).collect();
        drop(staged);
        answer(verdicts.into_iter());
        self.serve_parked();
    }

    fn failure(&self, error: Failed, staged: &mut Staged, in_doubt: Vec<Name>) -> AppendError {
        let reason = error.to_string();
        let (refusal, in_doubt) = match error {
            Failed::TooLarge { .. } => return AppendError::Full { reason },
            Failed::Full(_) => (AppendError::Full { reason }, vec![]),
            Failed::Unavailable(_) => (AppendError::Unavailable { reason }, vec![]),
            Failed::Unknown(_) => (AppendError::Unavailable { reason }, in_doubt),
            Failed::Fenced { .. } | Failed::Conflict { .. } | Failed::Chain { .. } | Failed::Failed { .. } => {
                tracing::error!(reason, "an append failed permanently: the process must restart");
                self.shared.standings.fail(match error {
                    Failed::Fenced { .. } => Standing::Fenced(reason.clone()),
                    _ => Standing::Failed(reason.clone()),
                });
                return AppendError::Unknown { reason };
            }
        };
        self.shared.standings.hinder(Hindrance::Store, &refusal.to_string());
        staged.trouble = Some(Trouble::after(staged.trouble.take()).refusing(refusal.clone(), in_doubt));
        refusal
    }

    pub(crate) fn may_tend(&self) -> bool {
        self.staged.lock().trouble.as_ref().is_none_or(|trouble| trouble.again <= Instant::now())
    }

    pub(crate) fn tended(&self, tended: Result<(), Failed>) {
        let mut staged = self.staged.lock();
        match tended {
            Ok(()) => {
                (staged.trouble, staged.maintenance_fails) = (None, false);
                self.shared.standings.clear(Hindrance::Store);
            }
            Err(error) => {
                if !std::mem::replace(&mut staged.maintenance_fails, true) {
                    tracing::warn!(%error, "failed to prepare space for the next appends; retrying");
                }
                staged.trouble = Some(Trouble::after(staged.trouble.take()));
            }
        }
    }
}

impl Group {
    fn after(end: ChainHead) -> Self {
        Self {
            records: Chained::after(end.hash),
            logged: vec![],
            names: vec![],
            bytes: 0,
            end,
            opening: BTreeMap::new(),
            waiters: vec![],
        }
    }

    fn is_full(&self, commits_max: usize) -> bool {
        self.logged.len() >= commits_max || self.bytes >= GROUP_BYTES_MAX
    }
}

impl Staged {
    fn is_congested(&self, commits_max: usize) -> bool {
        !self.closed && (!self.parked.is_empty() || self.has_full_group(commits_max))
    }

    fn has_full_group(&self, commits_max: usize) -> bool {
        self.open_group().is_some_and(|group| group.is_full(commits_max))
    }

    fn open_group(&self) -> Option<&Group> {
        let closed = self.durable + usize::from(self.appending.is_some());
        self.groups.back().filter(|_| self.groups.len() > closed)
    }

    fn opening(&self, operator: &str) -> usize {
        self.groups.iter().filter_map(|group| group.opening.get(operator)).sum()
    }

    fn refused(&self, name: Name, failure: &AppendError) -> AppendError {
        self.trouble.as_ref().map_or_else(|| failure.clone(), |trouble| trouble.failure(name, failure))
    }

    fn made_by(&self, name: Name, stream: &StreamId, request_id: &str) -> Option<Arc<Logged>> {
        let staged = self.groups.iter().flat_map(|group| group.names.iter().zip(&group.logged));
        let mut alike = staged.filter(|(of, _)| **of == name).map(|(_, logged)| logged);
        alike.find(|logged| is_by(logged, stream, request_id)).cloned()
    }
}

struct Judging<'a> {
    writer: &'a Writer,
    books: &'a Books,
    time_ms: i64,
    name: Name,
    recalled: Option<Box<SettledRound>>,
    proposer: Option<Arc<Proposer>>,
    head: Head,
}

impl Judging<'_> {
    fn judge(
        self,
        staged: &mut Staged,
        subject: Subject,
        proposal: Proposal,
        checked_to: Position,
        commits_max: usize,
    ) -> Verdict {
        let Self { writer, books, time_ms, name, recalled, proposer, head } = self;
        let shared = &*writer.shared;
        let Head { version, position: previous, .. } = head;
        let committed = |name, stream: &StreamId, request_id: &str| match staged.made_by(name, stream, request_id) {
            Some(made) => Ok(Some(made)),
            None => shared.committed(name, stream, request_id),
        };
        // If the request's stream has no commit after `checked_to`, the request has no commit there either.
        if previous > checked_to
            && let Some(logged) = committed(name, &proposal.stream, &proposal.request_id)?
        {
            return repeated(logged, proposal.fingerprint);
        }
        // A commit on another stream, such as a cancellation, may forbid this proposal. Any later commit is a reason to
        // check.
        if staged.end.position > checked_to
            && let Some(barrier) = proposal.barrier(shared.partition)
        {
            let name = shared.requests.name(&barrier.stream, &barrier.request_id);
            let logged = committed(name, &barrier.stream, &barrier.request_id)?;
            if let Some(refusal) = logged.and_then(|logged| barrier.refusal(&logged)) {
                return Err(refusal);
            }
        }
        if proposal.expected_version.is_some_and(|expected| expected != version) {
            return Err(AppendError::Conflict { version });
        }
        if version == 0 && !writer.operators.allows_new(&proposal.stream) {
            return Err(AppendError::not_allowed(Reason::PlayerIdNotOpaque, NOT_OPAQUE));
        }
        let opening = proposal.leaves_open().cloned();
        let most = writer.open_rounds_max;
        if opening.as_ref().is_some_and(|operator| books.open_count(operator) + staged.opening(operator) >= most) {
            return Err(AppendError::OpenRounds { most });
        }
        let commit = Commit {
            partition: shared.partition,
            position: staged.end.position + 1,
            stream: proposal.stream,
            version: version + 1,
            previous,
            request_id: proposal.request_id,
            fingerprint: proposal.fingerprint,
            time_ms,
            events: proposal.events,
        };
        if writer.has_operators {
            commit.admit_actors()?;
        }
        let recalled = recalled.as_deref();
        if let Some(refusal) = staged.trouble.as_ref().and_then(Trouble::refusal) {
            // Nothing is staged while appends fail, so the commit is checked against the durable books only.
            books.admit(&commit)?;
            books.postings(&commit, recalled)?;
            return Err(staged.refused(name, refusal));
        }
        let begins = staged.open_group().is_none_or(|group| group.is_full(commits_max));
        if begins {
            staged.stage.seal();
        }
        staged.stage.admit(&subject, books, &commit)?;
        let Staged { stage, groups, room, end, .. } = staged;
        let ChainHead { position: after, hash: before } = *end;
        let (mut balances_after, mut due_after, mut chained) = (vec![], vec![], Ok(()));
        stage.apply_to(subject, books, &commit, recalled, |player| {
            if let Some(player) = player {
                (balances_after, due_after) = (player.balances().collect(), player.due().collect());
            }
            let record = room.encode(|bytes| {
                record::write_commit(&before, &commit, &balances_after, bytes);
                record::write_end(proposer.as_deref(), &due_after, bytes);
            });
            if begins {
                groups.push_back(Group::after(*end));
            }
            let Some(youngest) = groups.back_mut() else { return before };
            youngest.bytes += record.len();
            chained = youngest.records.push(after, record);
            *end = ChainHead { position: commit.position, hash: youngest.records.head() };
            end.hash
        })?;
        chained.map_err(|broken| AppendError::Unknown { reason: broken.to_string() })?;
        let logged = Arc::new(Logged { commit, balances_after, due_after, proposer });
        if let Some(youngest) = groups.back_mut() {
            youngest.logged.push(Arc::clone(&logged));
            youngest.names.push(name);
            if let Some(operator) = opening {
                *youngest.opening.entry(operator).or_default() += 1;
            }
            youngest.end = *end;
        }
        Ok(logged)
    }
}
