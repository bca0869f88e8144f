//! The state that the writer, the projector and all handles of one partition share.

use crate::{
    append::AppendError,
    draws::DrawKeys,
    error::FetchError,
    hashes::RecentHashes,
    index::Held,
    page::Page,
    players::Players,
    projected::Projected,
    provenance::Provenance,
    readers::Readers,
    recent::Recent,
    requests::{Name, Requests},
    standing::{Standing, Standings},
    threads::Threads,
    time::LogTime,
    verifier::Verification,
};
use bytes::Bytes;
use motherlode_books::{Books, Commit, Event, Stage, StreamId};
use motherlode_log::{Authority, Position, Reader};
use motherlode_proto::convert::record::{self, Logged};
use parking_lot::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::{
    sync::{Arc, OnceLock, atomic::AtomicBool},
    time::Duration,
};
use tokio::sync::{broadcast, watch};

/// Bytes of a group of which followers and the projector get a copy; a longer one they read from the log.
pub(crate) const HANDED_BYTES_MAX: usize = 256 << 10;

/// Commits that the writer hands to the projector, to spare it reading them. The projector may miss them.
pub(crate) struct Handed {
    pub(crate) logged: Vec<Arc<Logged>>,
}

/// A durable group as it's stored, for those who follow the log.
#[derive(Clone)]
pub(crate) struct Appended {
    pub(crate) first: Position,
    pub(crate) records: Arc<[Bytes]>,
}

/// Groups that a follower may be behind before it has to read them from the store.
pub(crate) const TAIL_GROUPS: usize = 256;

pub(crate) struct Shared {
    pub(crate) partition: u32,
    /// Durable state, and nothing else.
    pub(crate) books: RwLock<Books>,
    /// The record of the snapshot that the start rests on; position 0 without one.
    pub(crate) rests_on: Held,
    /// The program behind the state.
    pub(crate) provenance: Arc<Provenance>,
    /// Of the players that may not be in memory.
    pub(crate) players: Arc<Players>,
    pub(crate) reader: Arc<dyn Reader>,
    pub(crate) index: Arc<Projected>,
    /// Of all durable commits.
    pub(crate) requests: Arc<Requests>,
    /// The newest durable commits.
    pub(crate) recent: RwLock<Recent>,
    /// Of the newest durable records.
    pub(crate) hashes: Mutex<RecentHashes>,
    /// The last durable record.
    pub(crate) head: watch::Sender<Held>,
    /// Sent when hits or voids have become durable, or what all partitions must know.
    pub(crate) decisions: watch::Sender<()>,
    /// The newest groups as they're stored; nobody keeps them where nobody follows.
    pub(crate) tail: broadcast::Sender<Appended>,
    /// Who is sent them.
    pub(crate) readers: Readers,
    pub(crate) standings: Standings,
    /// How lately the store has confirmed this process as its writer; empty for a replica, and for a store that needs none.
    pub(crate) authority: OnceLock<Arc<Authority>>,
    /// Of what the opening of the log has not read.
    pub(crate) verification: Arc<watch::Sender<Verification>>,
    pub(crate) time: LogTime,
    pub(crate) answer_wait_max: Option<Duration>,
    pub(crate) change_lapse_ms: i64,
    pub(crate) draws: DrawKeys,
    pub(crate) threads: Threads,
    /// Set once the writer has begun its generation of draws.
    pub(crate) page: OnceLock<Page>,
    /// Whether the process followed the log until it became the writer.
    pub(crate) followed: AtomicBool,
}

impl Shared {
    /// Makes a stage's oldest group visible, which has become durable: its commits and requests before the state that they
    /// made, so that a caller whom that state refuses finds the commit that made it.
    ///
    /// `sizes` are the bytes of their records.
    pub(crate) fn publish(
        &self,
        stage: &mut Stage,
        logged: &[Arc<Logged>],
        sizes: impl Iterator<Item = usize>,
        names: &[Name],
        held: Held,
    ) {
        self.recent.write().push(sizes.zip(logged.iter().cloned()));
        // Before the head moves: whoever reads the head, then looks here and finds nothing, may rely on it that no commit up
        // to that head is of its request. The writer does, and looks again only past it.
        self.requests.push(names);
        let leaves_decisions = stage.leaves_decisions() || logged.iter().any(|logged| is_for_all(&logged.commit));
        if let Some(last) = logged.last() {
            self.time.observe(last.commit.time_ms);
        }
        self.books.write().absorb_oldest(stage);
        self.head.send_replace(held);
        if leaves_decisions {
            self.decisions.send_replace(());
        }
    }

    /// The books, with the player whose stream it is in memory if there is one. Costs a look-up where the player is there already.
    pub(crate) fn books_with(&self, stream: &StreamId) -> Result<RwLockReadGuard<'_, Books>, FetchError> {
        loop {
            let books = self.books.read();
            // Nobody leaves memory while the books are locked, so who is neither here nor in the store never was.
            if !matches!(stream, StreamId::Player { .. })
                || books.player(stream).is_some()
                || !self.players.may_contain(stream)
            {
                return Ok(books);
            }
            let latest = books.latest_snapshot();
            drop(books);
            let found = self.players.find(stream)?;
            // What was read is the player's state as long as no other snapshot was written: else the player may have come back,
            // changed and gone again. Before the next one nobody leaves memory who has changed.
            match found {
                Some(state) => {
                    let mut books = self.books.write();
                    if books.latest_snapshot() == latest {
                        self.players.load(&mut books, stream, state);
                        return Ok(RwLockWriteGuard::downgrade(books));
                    }
                }
                None => {
                    let books = self.books.read();
                    if books.latest_snapshot() == latest {
                        return Ok(books);
                    }
                }
            }
        }
    }

    /// The commit that a request made, if it made one.
    pub(crate) fn committed(
        &self,
        name: Name,
        stream: &StreamId,
        request_id: &str,
    ) -> Result<Option<Arc<Logged>>, AppendError> {
        let candidates = self.requests.candidates(name);
        for position in candidates.map_err(|error| AppendError::Unknown { reason: error.to_string() })? {
            // An archived or unreadable record may be this request's commit: a possible repetition is not applied.
            let logged = self.fetch(position).map_err(AppendError::unread)?;
            if is_by(&logged, stream, request_id) {
                return Ok(Some(logged));
            }
        }
        Ok(None)
    }

    /// One durable commit.
    pub(crate) fn fetch(&self, position: Position) -> Result<Arc<Logged>, FetchError> {
        self.read(position, 1)?.into_iter().next().ok_or(FetchError::Missing(position))
    }

    /// Durable commits from a position on, at most `max`; empty at the end.
    pub(crate) fn read(&self, from: Position, max: usize) -> Result<Vec<Arc<Logged>>, FetchError> {
        const BYTES: usize = 4 << 20;
        if let Some(recent) = self.recent(from, max) {
            return Ok(recent);
        }
        self.reader
            .read(from, max, BYTES)?
            .into_iter()
            .map(|stored| match record::decode(&stored.bytes) {
                Ok(logged) => Ok(Arc::new(logged)),
                Err(source) => Err(FetchError::Malformed { position: stored.position, source }),
            })
            .collect()
    }

    /// The same of those that are in memory; `None` where they begin later.
    pub(crate) fn recent(&self, from: Position, max: usize) -> Option<Vec<Arc<Logged>>> {
        self.recent.read().read(from, max)
    }

    pub(crate) fn durable(&self) -> Position {
        self.head.borrow().position
    }

    /// Stops a replica for good: the records that it was sent don't continue those that it has.
    pub(crate) fn diverged(&self, why: &str) {
        tracing::error!(why, "the ledger's records do not continue those of this replica: it stops");
        self.standings.fail(Standing::Failed(why.to_owned()));
    }

    /// Gives up the index's files, if this is the last to have them.
    pub(crate) fn close(self: Arc<Self>) {
        // The writer has ended: another start may read the page.
        self.page.get().into_iter().for_each(Page::release);
        if let Some(shared) = Arc::into_inner(self) {
            shared.index.close();
        }
    }
}

/// Whether a commit decides what all partitions must know.
fn is_for_all(commit: &Commit) -> bool {
    let is_player = matches!(commit.stream, StreamId::Player { .. });
    !is_player
        && commit.events.iter().any(|event| {
            matches!(
                event,
                Event::RateSet { .. }
                    | Event::SwitchSet { .. }
                    | Event::PoolOpened { .. }
                    | Event::PoolTermsChanged { .. }
                    | Event::PoolSuspended { .. }
                    | Event::PoolResumed { .. }
                    | Event::PoolRetired { .. }
            )
        })
}

/// Whether a request made a commit.
pub(crate) fn is_by(logged: &Logged, stream: &StreamId, request_id: &str) -> bool {
    logged.commit.request_id == request_id && logged.commit.stream == *stream
}
