//! State of a partition shared by the writer, the projector and all handles.

use crate::{
    append::AppendError,
    draws::DrawKeys,
    error::FetchError,
    hashes::RecentHashes,
    images::Images,
    index::Held,
    page::Page,
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

/// Maximum bytes of a group that is copied to followers and the projector; they read a larger one from the log.
pub(crate) const HANDED_BYTES_MAX: usize = 256 << 10;

/// Commits passed from the writer to the projector, to save reads. The projector may miss some.
pub(crate) struct Handed {
    pub(crate) logged: Vec<Arc<Logged>>,
}

/// Durable group as stored, for followers of the log.
#[derive(Clone)]
pub(crate) struct Appended {
    pub(crate) first: Position,
    pub(crate) records: Arc<[Bytes]>,
}

/// Number of groups buffered for a follower before it has to read from the store.
pub(crate) const TAIL_GROUPS: usize = 256;

pub(crate) struct Shared {
    pub(crate) partition: u32,
    /// Durable state only.
    pub(crate) books: RwLock<Books>,
    /// Record of the snapshot loaded at startup; position 0 without one.
    pub(crate) rests_on: Held,
    /// Build that produced the state.
    pub(crate) provenance: Arc<Provenance>,
    /// On-disk state of evicted players.
    pub(crate) images: Arc<Images>,
    pub(crate) reader: Arc<dyn Reader>,
    pub(crate) index: Arc<Projected>,
    /// Ids of all requests with durable commits.
    pub(crate) requests: Arc<Requests>,
    /// Newest durable commits.
    pub(crate) recent: RwLock<Recent>,
    /// Hashes of the newest durable records.
    pub(crate) hashes: Mutex<RecentHashes>,
    /// Last durable record.
    pub(crate) head: watch::Sender<Held>,
    /// Signals durable hits and voids, and commits for all partitions.
    pub(crate) decisions: watch::Sender<()>,
    /// Newest groups as stored; empty without followers.
    pub(crate) tail: broadcast::Sender<Appended>,
    /// Followers in other processes.
    pub(crate) readers: Readers,
    pub(crate) standings: Standings,
    /// Latest confirmation of this writer by the store; empty for a replica, and for a store that needs none.
    pub(crate) authority: OnceLock<Arc<Authority>>,
    /// Verification of records not read at startup.
    pub(crate) verification: Arc<watch::Sender<Verification>>,
    pub(crate) time: LogTime,
    pub(crate) answer_wait_max: Option<Duration>,
    pub(crate) change_lapse_ms: i64,
    pub(crate) draws: DrawKeys,
    pub(crate) threads: Threads,
    /// Set after the commit of the writer's generation of draws.
    pub(crate) page: OnceLock<Page>,
    /// Whether the process followed the log until it became the writer.
    pub(crate) followed: AtomicBool,
}

impl Shared {
    /// Publishes the oldest staged group, which is durable. Its commits and request ids come before its state, so that
    /// a caller refused by the new state finds the commit that changed it.
    ///
    /// `sizes` are the bytes of the records.
    pub(crate) fn publish(
        &self,
        stage: &mut Stage,
        logged: &[Arc<Logged>],
        sizes: impl Iterator<Item = usize>,
        names: &[Name],
        held: Held,
    ) {
        self.recent.write().push(sizes.zip(logged.iter().cloned()));
        // Before the head moves: a caller that reads the head and then does not find its request here relies on it that
        // no commit up to that head belongs to the request. The writer searches only later commits.
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

    /// Returns the books with the stream's player loaded, if there is one. A player in memory costs one lookup.
    pub(crate) fn books_with(&self, stream: &StreamId) -> Result<RwLockReadGuard<'_, Books>, FetchError> {
        loop {
            let books = self.books.read();
            // Players are evicted only with the write lock, so a player found neither here nor among the images does
            // not exist.
            if !matches!(stream, StreamId::Player { .. })
                || books.player(stream).is_some()
                || !self.images.may_hold(stream)
            {
                return Ok(books);
            }
            let latest = books.latest_snapshot();
            drop(books);
            let found = self.images.find(stream)?;
            // The image is current if no snapshot was written since: otherwise the player may have been loaded, changed
            // and evicted in between. Changed players are not evicted before the next snapshot.
            match found {
                Some(state) => {
                    let mut books = self.books.write();
                    if books.latest_snapshot() == latest {
                        self.images.load(&mut books, stream, state);
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

    /// Returns the commit of a request, if any.
    pub(crate) fn committed(
        &self,
        name: Name,
        stream: &StreamId,
        request_id: &str,
    ) -> Result<Option<Arc<Logged>>, AppendError> {
        let candidates = self.requests.candidates(name);
        for position in candidates.map_err(|error| AppendError::Unknown { reason: error.to_string() })? {
            // An archived or unreadable record may be the commit of this request, so the request is not applied.
            let logged = self.fetch(position).map_err(AppendError::unread)?;
            if is_by(&logged, stream, request_id) {
                return Ok(Some(logged));
            }
        }
        Ok(None)
    }

    pub(crate) fn fetch(&self, position: Position) -> Result<Arc<Logged>, FetchError> {
        self.read(position, 1)?.into_iter().next().ok_or(FetchError::Missing(position))
    }

    /// Returns at most `max` durable commits from a position on; empty at the end.
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

    /// Does the same from the cache; `None` if it begins later.
    pub(crate) fn recent(&self, from: Position, max: usize) -> Option<Vec<Arc<Logged>>> {
        self.recent.read().read(from, max)
    }

    pub(crate) fn durable(&self) -> Position {
        self.head.borrow().position
    }

    /// Stops a replica for good, since the received records do not continue its state.
    pub(crate) fn diverged(&self, why: &str) {
        tracing::error!(why, "the ledger's records do not continue those of this replica: it stops");
        self.standings.fail(Standing::Failed(why.to_owned()));
    }

    /// Releases the files of the index if this is the last reference.
    pub(crate) fn close(self: Arc<Self>) {
        // The writer has ended, so another start may lock the page.
        self.page.get().into_iter().for_each(Page::release);
        if let Some(shared) = Arc::into_inner(self) {
            shared.index.close();
        }
    }
}

/// Returns whether all partitions must copy a commit.
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

/// Returns whether a commit belongs to a request.
pub(crate) fn is_by(logged: &Logged, stream: &StreamId, request_id: &str) -> bool {
    logged.commit.request_id == request_id && logged.commit.stream == *stream
}
