//! The one writer of a partition: orders proposals, and answers when the commits under its answers are durable.
//!
//! Its own thread, in a loop: take all proposals that wait (one at least), judge each against the durable books and
//! what is staged before it, append all records as one block with one sync, merge the stage into the books, answer.
//! So the next group forms while the disk works, and readers never see anything that is not durable. When the append
//! fails the stage is dropped, and with it every verdict of the group, rejections included: they might have rested on
//! what was not written. Only repetitions of what is durable keep their answers.
//!
//! While no append gets through, the store is tried now and then, whether or not anybody asks; proposals that come
//! between two tries are refused, and nothing is written for them.

use crate::{
    append::{AppendError, Proposal},
    index::Held,
    queue::{Message, Proposed, Verdict, answer, repeated},
    requests::Name,
    shared::{Appended, Handed, Shared, Standing, is_by},
};
use bytes::Bytes;
use motherlode_books::{Books, Commit, Head, SettledRound, Stage, StreamId};
use motherlode_log::{Hash, Position, Store};
use motherlode_proto::convert::record::{self, Logged};
use std::{
    sync::{Arc, mpsc::SyncSender},
    time::{Duration, Instant},
};
use tokio::{
    runtime::{self, Runtime},
    sync::mpsc,
    time::timeout,
};

/// The pauses before a failing store is tried again: the first, and the longest.
const RETRY_MIN: Duration = Duration::from_millis(50);
const RETRY_MAX: Duration = Duration::from_secs(1);

pub(crate) struct Writer {
    pub(crate) store: Box<dyn Store>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) inbox: mpsc::Receiver<Message>,
    pub(crate) projector: SyncSender<Handed>,
    pub(crate) batch_commits_max: usize,
    pub(crate) appends: motherlode_runtime::Appends,
    pub(crate) trouble: Option<Trouble>,
}

/// The store can't do what it should.
pub(crate) struct Trouble {
    again: Instant,
    pause: Duration,
    /// Why appends are refused; `None` if only the work ahead of them fails.
    refusal: Option<AppendError>,
    /// Requests whose append may show at the next start, until the store is sound again.
    in_doubt: Vec<Name>,
}

impl Writer {
    /// Runs until it is told to close, or every handle is gone.
    pub(crate) fn run(mut self) {
        // It tells the time and nothing else, and so needs no descriptor.
        let timer = runtime::Builder::new_current_thread().enable_time().build();
        let mut messages = Vec::with_capacity(self.batch_commits_max);
        let mut closing = false;
        while !closing && self.receive(&mut messages, timer.as_ref().ok()) {
            let proposals = messages.drain(..).map_while(|message| match message {
                Message::Append(proposed) => Some(proposed),
                Message::Close => {
                    closing = true;
                    None
                }
            });
            self.commit(proposals);
            self.tend();
        }
        tracing::info!(position = self.store.end(), "the log is closed");
    }

    /// Waits for messages, and no longer than until the store is to be tried again; false when no more can come.
    fn receive(&mut self, messages: &mut Vec<Message>, timer: Option<&Runtime>) -> bool {
        let most = self.batch_commits_max;
        match (&self.trouble, timer) {
            (Some(trouble), Some(timer)) => {
                let wait = trouble.again.saturating_duration_since(Instant::now());
                let receiving = async { timeout(wait, self.inbox.recv_many(messages, most)).await };
                timer.block_on(receiving).map_or(true, |received| received > 0)
            }
            _ => self.inbox.blocking_recv_many(messages, most) > 0,
        }
    }

    /// One group commit.
    fn commit(&mut self, proposals: impl Iterator<Item = Proposed>) {
        let mut group = Group::new(&*self.store, self.shared.time.stamp());
        let mut replies = Vec::with_capacity(proposals.size_hint().1.unwrap_or_default());
        {
            let books = self.shared.books.read();
            let now = tokio::time::Instant::now();
            for Proposed { proposal, name, checked_to, recalled, until, reply, .. } in proposals {
                let verdict = match until {
                    Some(until) if until <= now => Err(AppendError::Late),
                    _ => group.judge(&books, &self.shared, name, checked_to, proposal, recalled.as_deref()),
                };
                replies.push((reply, name, verdict));
            }
        }
        let durable = group.after;
        let failure = if group.records.is_empty() { None } else { self.append(group).err() };
        let verdicts = replies.into_iter().map(|(reply, name, verdict)| match (&failure, verdict) {
            (None, verdict) => (reply, verdict),
            (Some(_), Ok(made)) if made.commit.position <= durable => (reply, Ok(made)),
            (Some(failure), _) => (reply, Err(self.failed(failure, name))),
        });
        answer(verdicts);
    }

    /// The answer to a request that was not appended. Where an earlier append of it is in doubt, the answer says so.
    fn failed(&self, failure: &AppendError, name: Name) -> AppendError {
        let in_doubt = self.trouble.as_ref().is_some_and(|trouble| trouble.in_doubt.contains(&name));
        match failure {
            AppendError::Full { reason } | AppendError::Unavailable { reason } if in_doubt => {
                AppendError::Unknown { reason: reason.clone() }
            }
            failure => failure.clone(),
        }
    }

    fn append(&mut self, group: Group) -> Result<(), AppendError> {
        use motherlode_log::AppendError as Log;
        let Group { after, head, records, logged, stage, names, .. } = group;
        if let Some(refusal) = self.refusal() {
            return Err(refusal);
        }
        let begun = Instant::now();
        let appended = self.store.append(after, &records);
        self.appends.record(records.len(), begun.elapsed());
        appended.map_err(|error| {
            tracing::debug!(%error, after, records = records.len(), "an append failed");
            let reason = error.to_string();
            match error {
                Log::TooLarge { .. } => AppendError::Full { reason },
                Log::Full(_) => self.stalled(AppendError::Full { reason }, vec![]),
                Log::Unavailable(_) => self.stalled(AppendError::Unavailable { reason }, vec![]),
                Log::Unknown(_) => {
                    self.stalled(AppendError::Unavailable { reason: reason.clone() }, names.clone());
                    AppendError::Unknown { reason }
                }
                Log::Fenced { .. } => {
                    tracing::error!(reason, "an append failed");
                    self.shared.fail(Standing::Fenced(reason.clone()));
                    AppendError::Unknown { reason }
                }
                Log::Conflict { .. } | Log::Chain { .. } | Log::Failed { .. } => {
                    tracing::error!(reason, "an append failed");
                    self.shared.fail(Standing::Failed(reason.clone()));
                    AppendError::Unknown { reason }
                }
            }
        })?;
        self.trouble = None;
        self.shared.recover();
        let held = Held { position: after + records.len() as u64, hash: head };
        self.shared.publish(stage, &logged, &names, held);
        if self.shared.tail.receiver_count() > 0 {
            // The last follower may have left since.
            let _ = self.shared.tail.send(Appended { first: after + 1, records: records.into() });
        }
        // Where it's behind, it reads the log.
        let _ = self.projector.try_send(Handed { logged });
        Ok(())
    }

    /// Why an append need not even be tried now.
    fn refusal(&self) -> Option<AppendError> {
        let trouble = self.trouble.as_ref().filter(|trouble| Instant::now() < trouble.again)?;
        trouble.refusal.clone()
    }

    /// No append gets through until the store has been tried again.
    fn stalled(&mut self, refusal: AppendError, in_doubt: Vec<Name>) -> AppendError {
        self.shared.stall(&refusal.to_string());
        let mut trouble = self.pause();
        trouble.refusal = Some(refusal.clone());
        trouble.in_doubt.extend(in_doubt);
        self.trouble = Some(trouble);
        refusal
    }

    /// The trouble there is, with the next try after a longer pause.
    fn pause(&mut self) -> Trouble {
        let pause = self.trouble.as_ref().map_or(RETRY_MIN, |trouble| (trouble.pause * 2).min(RETRY_MAX));
        let again = Instant::now() + pause;
        match self.trouble.take() {
            Some(trouble) => Trouble { again, pause, ..trouble },
            None => Trouble { again, pause, refusal: None, in_doubt: vec![] },
        }
    }

    /// Has the store do what is due between appends.
    fn tend(&mut self) {
        if self.trouble.as_ref().is_some_and(|trouble| Instant::now() < trouble.again) {
            return;
        }
        match self.store.tend() {
            Ok(()) => {
                self.trouble = None;
                self.shared.recover();
            }
            Err(error) => {
                if self.trouble.is_none() {
                    tracing::warn!(%error, "room for the next appends cannot be made ready yet");
                }
                self.trouble = Some(self.pause());
            }
        }
    }
}

/// A group commit in the making.
struct Group {
    partition: u32,
    after: Position,
    head: Hash,
    time_ms: i64,
    stage: Stage,
    records: Vec<Bytes>,
    logged: Vec<Arc<Logged>>,
    /// Of the requests that made them, in the same order.
    names: Vec<Name>,
}

impl Group {
    fn new(store: &dyn Store, time_ms: i64) -> Self {
        Self {
            partition: store.partition(),
            after: store.end(),
            head: store.head(),
            time_ms,
            stage: Stage::new(),
            records: vec![],
            logged: vec![],
            names: vec![],
        }
    }

    /// The order of the checks is the documented one: request id, version, what new commits are held to, the books'
    /// invariants.
    fn judge(
        &mut self,
        books: &Books,
        shared: &Shared,
        name: Name,
        checked_to: Position,
        proposal: Proposal,
        recalled: Option<&SettledRound>,
    ) -> Verdict {
        let Head { version, position: previous, .. } = self.stage.head(books, &proposal.stream);
        // What the request made is on this stream: where that has not moved on, there is nothing to find.
        if previous > checked_to {
            let committed = match self.staged(name, &proposal) {
                Some(staged) => Some(staged),
                None => shared.committed(name, &proposal.stream, &proposal.request_id)?,
            };
            if let Some(logged) = committed {
                return repeated(logged, proposal.fingerprint);
            }
        }
        if proposal.expected_version.is_some_and(|expected| expected != version) {
            return Err(AppendError::Conflict { version });
        }
        let commit = Commit {
            partition: self.partition,
            position: self.after + self.records.len() as u64 + 1,
            stream: proposal.stream,
            version: version + 1,
            previous,
            request_id: proposal.request_id,
            fingerprint: proposal.fingerprint,
            time_ms: self.time_ms,
            events: proposal.events,
        };
        self.stage.admit(books, &commit)?;
        self.stage.apply_recalling(books, &commit, recalled)?;
        let balances_after = balances(&self.stage, books, &commit.stream);
        let logged = Logged { commit, balances_after };
        let bytes = record::encode(&self.head, &logged);
        self.head = motherlode_log::hash(&bytes);
        self.records.push(bytes);
        let logged = Arc::new(logged);
        self.logged.push(Arc::clone(&logged));
        self.names.push(name);
        Ok(logged)
    }

    /// The commit that the same request made in this very group.
    fn staged(&self, name: Name, proposal: &Proposal) -> Option<Arc<Logged>> {
        let mut alike = self.names.iter().zip(&self.logged).filter(|(of, _)| **of == name).map(|(_, logged)| logged);
        alike.find(|logged| is_by(logged, &proposal.stream, &proposal.request_id)).cloned()
    }
}

/// The balances of the player whose stream it is, in every currency.
fn balances(
    stage: &Stage,
    books: &Books,
    stream: &StreamId,
) -> Vec<(motherlode_books::Currency, motherlode_books::Minor)> {
    stage.player(books, stream).map(|player| player.balances().collect()).unwrap_or_default()
}
