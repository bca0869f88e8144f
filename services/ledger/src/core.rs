use crate::{
    append::AppendError,
    chain::ChainHead,
    draws::DrawKeys,
    error::FetchError,
    follower_views::FollowerViews,
    hashes::RecentHashes,
    index::Index,
    page::Page,
    players::Players,
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
use motherlode_log::{Authority, Hash, Position, Reader};
use motherlode_proto::convert::record::{self, Logged};
use motherlode_state::{Books, Commit, Event, Stage, StreamId};
use parking_lot::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64},
    },
    time::Duration,
};
use tokio::sync::{broadcast, watch};

/// Maximum bytes of a group that is passed to followers in memory; followers read larger groups from the log.
pub(crate) const PUBLISHED_BYTES_MAX: usize = 256 << 10;

#[derive(Clone)]
pub(crate) struct Appended {
    pub(crate) first: Position,
    pub(crate) records: Arc<[Bytes]>,
}

/// Number of the newest groups kept in memory for followers; followers read older groups from the store.
pub(crate) const TAIL_GROUPS: usize = 256;

pub(crate) struct LedgerCore {
    pub(crate) partition: u32,
    pub(crate) books: RwLock<Books>,
    pub(crate) rests_on: ChainHead,
    pub(crate) snapshot: AtomicU64,
    pub(crate) provenance: Arc<Provenance>,
    pub(crate) players: Arc<Players>,
    pub(crate) reader: Arc<dyn Reader>,
    pub(crate) index: Arc<Index>,
    pub(crate) requests: Arc<Requests>,
    pub(crate) follower_views: FollowerViews,
    pub(crate) recent: RwLock<Recent>,
    pub(crate) hashes: Mutex<RecentHashes>,
    pub(crate) head: watch::Sender<ChainHead>,
    /// Signals a commit that other partitions must act on: a jackpot hit, a void that affects a pool, or a decision for
    /// all partitions.
    pub(crate) decisions: watch::Sender<()>,
    pub(crate) awards: watch::Sender<()>,
    pub(crate) tail: broadcast::Sender<Appended>,
    pub(crate) readers: Readers,
    pub(crate) standings: Standings,
    /// The store's confirmation that this process is the writer; empty for replicas and for stores that only one
    /// process can open.
    pub(crate) authority: OnceLock<Arc<Authority>>,
    pub(crate) verification: Arc<watch::Sender<Verification>>,
    pub(crate) time: LogTime,
    pub(crate) answer_wait_max: Option<Duration>,
    pub(crate) change_lapse_ms: i64,
    pub(crate) draws: DrawKeys,
    pub(crate) threads: Threads,
    /// File that records the end of the partition's log; set once the writer has logged its new salt for draws.
    pub(crate) page: OnceLock<Page>,
    pub(crate) followed: AtomicBool,
}

impl LedgerCore {
    /// Publishes the oldest staged group, which must be durable. Commits and request names become visible before the
    /// state. If the new state refuses a caller, the caller can therefore find the commit that caused the refusal.
    pub(crate) fn publish(
        &self,
        stage: &mut Stage,
        logged: &[Arc<Logged>],
        sizes: impl Iterator<Item = usize>,
        names: &[Name],
        hashes: impl Iterator<Item = Hash>,
        head: ChainHead,
    ) {
        self.recent.write().push(sizes.zip(logged.iter().cloned()));
        // Request names are added before the head moves, because the writer expects to find every request up to the head.
        self.requests.push(names);
        let leaves_decisions = stage.leaves_decisions() || logged.iter().any(|logged| is_for_all(&logged.commit));
        if let Some(last) = logged.last() {
            self.time.observe(last.commit.time_ms);
        }
        {
            let mut books = self.books.write();
            // The index is updated while the books are locked, so that a snapshot captures both at the same position.
            self.index.note(logged.iter().map(|logged| &logged.commit).zip(hashes));
            books.absorb_oldest(stage);
        }
        self.head.send_replace(head);
        if leaves_decisions {
            self.decisions.send_replace(());
        }
        if logged.iter().any(|logged| has_award(&logged.commit)) {
            self.awards.send_replace(());
        }
    }

    pub(crate) fn books_with(&self, stream: &StreamId) -> Result<RwLockReadGuard<'_, Books>, FetchError> {
        loop {
            let books = self.books.read();
            // No player is evicted while the read lock is held, so a player that is neither in memory nor in the tables
            // does not exist.
            if !matches!(stream, StreamId::Player { .. })
                || books.player(stream).is_some()
                || !self.players.may_contain(stream)
            {
                return Ok(books);
            }
            let latest = books.latest_snapshot();
            drop(books);
            let found = self.players.find(stream)?;
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

    pub(crate) fn committed(
        &self,
        name: Name,
        stream: &StreamId,
        request_id: &str,
    ) -> Result<Option<Arc<Logged>>, AppendError> {
        self.committed_in(name, stream, request_id, |position| self.fetch(position))
    }

    pub(crate) fn committed_in(
        &self,
        name: Name,
        stream: &StreamId,
        request_id: &str,
        fetch: impl Fn(Position) -> Result<Arc<Logged>, FetchError>,
    ) -> Result<Option<Arc<Logged>>, AppendError> {
        let candidates = self.requests.candidates(name);
        for position in candidates.map_err(|error| AppendError::Unknown { reason: error.to_string() })? {
            // If the record is unreadable, the call fails, because the record may be this request's commit.
            let logged = fetch(position).map_err(AppendError::unread)?;
            if is_by(&logged, stream, request_id) {
                return Ok(Some(logged));
            }
        }
        Ok(None)
    }

    pub(crate) fn fetch(&self, position: Position) -> Result<Arc<Logged>, FetchError> {
        self.read(position, 1)?.into_iter().next().ok_or(FetchError::Missing(position))
    }

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

    pub(crate) fn recent(&self, from: Position, max: usize) -> Option<Vec<Arc<Logged>>> {
        self.recent.read().read(from, max)
    }

    pub(crate) fn durable(&self) -> Position {
        self.head.borrow().position
    }

    pub(crate) fn diverged(&self, why: &str) {
        tracing::error!(why, "the writer's log does not continue this replica's state: the replica has stopped");
        self.standings.fail(Standing::Failed(why.to_owned()));
    }

    pub(crate) fn close(&self) {
        self.page.get().into_iter().for_each(Page::release);
    }
}

fn has_award(commit: &Commit) -> bool {
    commit.events.iter().any(|event| matches!(event, Event::JackpotPaid { .. } | Event::AwardSetAside { .. }))
}

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

pub(crate) fn is_by(logged: &Logged, stream: &StreamId, request_id: &str) -> bool {
    logged.commit.request_id == request_id && logged.commit.stream == *stream
}
