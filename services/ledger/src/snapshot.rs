//! Snapshots of the ledger's state.
//!
//! A snapshot is a [checkpoint](Checkpoint) of the [store of views](motherlode_views). Startup uses the newest intact
//! snapshot that has this build's [state version](STATE_VERSION) and whose last record has the same hash in the log;
//! otherwise it replays the whole log. The audit never reads a snapshot.

use crate::{
    chain::{ChainHead, record_hash},
    core::LedgerCore,
    error::OpenError,
    players::{LOOKED_AT, Players, STATE_VERSION, Written, each_once},
    provenance::Provenance,
    requests::{Key, WriteError},
    state_check::StateCheck,
};
use motherlode_log::{Hash, Position, Reader};
use motherlode_state::{BaseTaken, Books, Currency, Frozen, Minor, StateDigest, StreamId};
use motherlode_views::{Checkpoint, Store, ViewError};
use parking_lot::RwLockWriteGuard;
use std::{
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::Ordering,
        mpsc::{SyncSender, sync_channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// A running service writes snapshots less often by this factor, because appends have priority.
const RUNNING: u64 = 20;
const PAUSE: Duration = Duration::from_secs(10);
/// Time for which the snapshot thread waits for more commits, so that it wakes up less often.
const GATHER_FOR: Duration = Duration::from_millis(20);

type State = (Option<Hash>, Key, Books);

pub(crate) struct Snapshot {
    pub(crate) books: Books,
    pub(crate) players: Arc<Players>,
    /// Key of the hashes of request names, and the checkpoint with an empty `state`; `None` if no snapshot is used.
    pub(crate) checkpoint: Option<(Key, Checkpoint)>,
    pub(crate) program: Option<Hash>,
}

#[derive(Debug, thiserror::Error)]
enum Unusable {
    #[error("the snapshot's state is damaged")]
    Damaged,
    #[error("the snapshot's state version differs from this program's state version, {STATE_VERSION}")]
    OtherVersion,
    #[error("the snapshot belongs to another log: at the snapshot's position, the log's record has a different hash")]
    OtherLog,
    #[error("cannot open the snapshot's tables of players: {0}")]
    Players(#[from] ViewError),
    #[error(transparent)]
    Log(#[from] OpenError),
}

impl Snapshot {
    pub(crate) fn open(reader: &dyn Reader, store: &Arc<Store>, players_max: usize) -> Result<Self, OpenError> {
        for (id, checkpoint) in store.checkpoints() {
            let position = checkpoint.position;
            match Self::read(reader, store, players_max, &checkpoint) {
                Ok(snapshot) => {
                    store.adopt(id, &checkpoint);
                    return Ok(snapshot);
                }
                Err(Unusable::Log(error)) => return Err(error),
                Err(why) => tracing::warn!(position, %why, "skipped an unusable snapshot"),
            }
        }
        let players = Arc::new(Players::new(store, players_max));
        Ok(Self { books: Books::new(), players, checkpoint: None, program: None })
    }

    fn read(
        reader: &dyn Reader,
        store: &Arc<Store>,
        players_max: usize,
        checkpoint: &Checkpoint,
    ) -> Result<Self, Unusable> {
        if checkpoint.state_version != STATE_VERSION {
            return Err(Unusable::OtherVersion);
        }
        let (end, acknowledged) = (reader.end(), checkpoint.position);
        if acknowledged > end {
            return Err(OpenError::Shortened { end, acknowledged, by: store.folder().to_owned() }.into());
        }
        if record_hash(reader, acknowledged).map_err(OpenError::from)? != Some(checkpoint.hash) {
            return Err(Unusable::OtherLog);
        }
        let (program, key, books) = decode(&checkpoint.state).ok_or(Unusable::Damaged)?;
        let players = Arc::new(Players::open(store, checkpoint, players_max)?);
        let checkpoint = Some((key, Checkpoint { state: vec![], ..checkpoint.clone() }));
        Ok(Self { books, players, checkpoint, program })
    }

    pub(crate) fn check(&self, partition: u32, reader: &Arc<dyn Reader>) -> Option<StateCheck> {
        let (reader, position) = (Arc::clone(reader), self.head()?.position);
        Some(StateCheck { partition, reader, position, players: self.players.fixed(), shared: self.books.common() })
    }

    pub(crate) fn head(&self) -> Option<ChainHead> {
        self.checkpoint.as_ref().map(|(_, of)| ChainHead { position: of.position, hash: of.hash })
    }
}

fn decode(state: &[u8]) -> Option<State> {
    postcard::from_bytes(state).ok()
}

pub(crate) struct SnapshotWriter {
    store: Arc<Store>,
    index: PathBuf,
    every: u64,
    latest: Position,
    players: Arc<Players>,
    provenance: Arc<Provenance>,
    merged: bool,
    pause: Option<Instant>,
}

impl SnapshotWriter {
    pub(crate) fn new(
        store: &Arc<Store>,
        index: &Path,
        every: u64,
        latest: Position,
        players: Arc<Players>,
        provenance: Arc<Provenance>,
    ) -> Self {
        let store = Arc::clone(store);
        Self { store, index: index.to_owned(), every, latest, players, provenance, merged: false, pause: None }
    }

    pub(crate) fn keep_at_rest(&mut self, shared: &LedgerCore) {
        let commits = if self.merged || self.store.is_stopped() { 1 } else { self.every };
        let stale = self.provenance.take_stale() | shared.index.take_rebuilt();
        self.keep(shared, if stale { 0 } else { commits });
    }

    fn keep_running(&mut self, shared: &LedgerCore) {
        if self.pause.is_some_and(|until| Instant::now() < until) {
            return;
        }
        self.pause = None;
        // Players are evicted from memory after a snapshot, because only then are their states on disk. A second pass
        // also evicts recently used players.
        let rounds = if self.keep(shared, self.every.saturating_mul(RUNNING)) { 2 } else { 0 };
        for _ in 0..rounds {
            while self.players.make_room(&mut shared.books.write(), LOOKED_AT) {}
        }
        match self.tend(shared) {
            Ok(merged) => self.merged |= merged,
            Err(WriteError::View(ViewError::Stopped)) => {}
            Err(error) => {
                tracing::warn!(%error, "failed to merge or write the tables of the ledger's views; retrying later");
                self.pause = Some(Instant::now() + PAUSE);
            }
        }
    }

    fn tend(&self, shared: &LedgerCore) -> Result<bool, WriteError> {
        let LedgerCore { requests, index, .. } = shared;
        requests.repair()?;
        index.repair()?;
        requests.write_full(shared.durable())?;
        index.write_full()?;
        let mut merged = false;
        while requests.merge()? | index.merge()? | self.players.merge()? {
            merged = true;
        }
        Ok(merged)
    }

    fn keep(&mut self, shared: &LedgerCore, commits: u64) -> bool {
        if self.players.has_failed() || self.provenance.has_failed() {
            return false;
        }
        let wanted = self.players.wants_snapshot(&shared.books.read()) && shared.durable() > self.latest;
        let wanted = wanted || shared.follower_views.unwritten() >= commits.max(1);
        if !wanted && shared.durable() < self.latest.saturating_add(commits) {
            return false;
        }
        match self.write(shared) {
            Ok(position) => {
                tracing::info!(position, "wrote a snapshot");
                shared.snapshot.store(position, Ordering::Relaxed);
                (self.latest, self.merged) = (position, false);
                self.provenance.take_stale();
                true
            }
            Err(error) => {
                tracing::warn!(%error, "failed to write a snapshot; retrying later");
                self.pause = Some(Instant::now() + PAUSE);
                false
            }
        }
    }

    fn write(&self, shared: &LedgerCore) -> io::Result<Position> {
        // The follower view's tables are written first, so that they contain no commits after the snapshot.
        let views = shared.follower_views.write().map_err(io::Error::from);
        let begun = Begun::new(shared);
        let mut written = Written::default();
        let done = views.and_then(|()| self.write_begun(shared, &begun, &mut written));
        let unwritten = done.is_err().then_some(begun.frozen);
        if done.is_ok() {
            self.players.take(written);
        } else {
            // On a full disk the log needs the space of the new files, so they are dropped before the error is
            // returned.
            drop(written);
            let LedgerCore { requests, index, follower_views, .. } = shared;
            self.store.collect(&[self.players.ids(), requests.ids(), index.ids(), follower_views.ids()].concat());
        }
        let kept = shared.books.write().thaw(unwritten);
        drop(kept);
        done.map(|()| begun.position)
    }

    fn write_begun(&self, shared: &LedgerCore, begun: &Begun, written: &mut Written) -> io::Result<()> {
        let position = begun.position;
        if shared.follower_views.to() > position {
            return Err(io::Error::other("the report tables contain commits after the snapshot's position"));
        }
        self.players.write_frozen(&begun.frozen, position, || shared.books.read(), written)?;
        shared.requests.write(position)?;
        shared.index.write_frozen()?;
        let hash = match *shared.head.borrow() {
            ChainHead { position: head, hash } if head == position => Some(hash),
            _ => record_hash(&*shared.reader, position).map_err(io::Error::other)?,
        };
        let hash = hash.ok_or_else(|| io::Error::other(format!("the log has no record at position {position}")))?;
        let before = (self.provenance.program(), shared.requests.key());
        let state = postcard::to_extend(&before, vec![]).map_err(io::Error::other)?;
        let mut checkpoint = Checkpoint {
            sequence: 0,
            partition: shared.partition,
            position,
            hash,
            keyspaces: [shared.requests.tables(), self.players.tables(written)]
                .into_iter()
                .chain(shared.index.tables())
                .chain(shared.follower_views.tables())
                .collect(),
            state_version: STATE_VERSION,
            state: [state, begun.books.clone()].concat(),
        };
        self.store.expire_pins(u64::try_from(shared.time.now_ms()).unwrap_or_default())?;
        self.store.commit(&mut checkpoint)?;
        remove_old(&self.index);
        // The check of the old snapshot's state may have failed in the meantime and removed the snapshot.
        if self.provenance.has_failed() {
            self.players.remove_snapshot();
            return Err(io::Error::other("the snapshot's state differs from the state recomputed from the log"));
        }
        Ok(())
    }
}

struct Begun {
    position: Position,
    books: Vec<u8>,
    frozen: Frozen,
}

impl Begun {
    fn new(shared: &LedgerCore) -> Self {
        let mut books = shared.books.write();
        let mut frozen = books.freeze();
        shared.index.freeze();
        let books = RwLockWriteGuard::downgrade(books);
        let position = books.end(shared.partition).position;
        let written = postcard::to_allocvec(&*books).unwrap_or_default();
        drop(books);
        each_once(&mut frozen);
        Self { position, books: written, frozen }
    }
}

/// Wakes the thread that writes views and snapshots. On drop, the thread writes a last snapshot and ends.
pub(crate) struct Snapshots {
    store: Arc<Store>,
    due: SyncSender<()>,
}

impl Snapshots {
    pub(crate) fn start(
        mut writer: SnapshotWriter,
        shared: Arc<LedgerCore>,
        check: Option<StateCheck>,
    ) -> Result<(Self, JoinHandle<()>), OpenError> {
        let (due, dues) = sync_channel(1);
        shared.requests.wake_by(due.clone());
        shared.follower_views.wake_by(due.clone());
        let store = Arc::clone(&writer.store);
        let stopping = Arc::clone(&store);
        let (players, provenance) = (Arc::clone(&writer.players), Arc::clone(&writer.provenance));
        let threads = shared.threads.clone();
        let failed = |name| move |source| OpenError::Thread(name, source);
        let checking = check.map(|check| {
            let check = move || check.run(&provenance, || stopping.is_stopped(), || players.remove_snapshot());
            threads.spawn("state check", check).map_err(failed("state check"))
        });
        let checking = checking.transpose()?;
        let keeping = threads.spawn("snapshots", move || {
            motherlode_runtime::lower_priority();
            while dues.recv().is_ok() && !writer.store.is_stopped() {
                thread::sleep(GATHER_FOR);
                writer.keep_running(&shared);
            }
            writer.keep_at_rest(&shared);
            if checking.is_some_and(|checking| checking.join().is_err()) {
                tracing::error!("a thread of the ledger panicked");
            }
        });
        let keeping = keeping.map_err(failed("snapshots"))?;
        Ok((Self { store, due }, keeping))
    }

    pub(crate) fn look(&self) {
        let _ = self.due.try_send(());
    }
}

impl Drop for Snapshots {
    fn drop(&mut self) {
        self.store.stop();
        self.look();
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Balance {
    pub stream: StreamId,
    pub currency: Currency,
    pub amount: Minor,
    pub position: Position,
}

/// Reads the balances and the last record from the newest snapshot that belongs to the folder `index`. Returns `None`
/// if no snapshot has this build's state version. Writes no files, so a service can use the folder at the same time.
pub fn balances(index: &Path, partition: u32) -> Result<Option<(Vec<Balance>, ChainHead)>, ViewError> {
    let store = Arc::new(Store::read_only(&index.with_extension("views"), partition));
    let mut checkpoints = store.checkpoints().into_iter();
    let Some((_, checkpoint)) = checkpoints.find(|(_, checkpoint)| checkpoint.state_version == STATE_VERSION) else {
        return Ok(None);
    };
    let mut balances = vec![];
    Players::open(&store, &checkpoint, usize::MAX)?.fixed().each(|stream, state| {
        let position = state.head.position;
        let of = |(currency, amount)| Balance { stream: stream.clone(), currency, amount, position };
        balances.extend(state.balances().map(of));
    })?;
    Ok(Some((balances, ChainHead { position: checkpoint.position, hash: checkpoint.hash })))
}

/// Reads the digest of the state in the newest snapshot that belongs to the folder `index` (PL-37). Returns `None` if
/// no snapshot has this build's state version. The result's `actor` is empty. Writes no files, so a service can use the
/// folder at the same time.
pub fn base(index: &Path, partition: u32) -> Result<Option<BaseTaken>, ViewError> {
    let store = Arc::new(Store::read_only(&index.with_extension("views"), partition));
    let mut checkpoints = store.checkpoints().into_iter();
    let Some((_, checkpoint)) = checkpoints.find(|(_, checkpoint)| checkpoint.state_version == STATE_VERSION) else {
        return Ok(None);
    };
    let wrong = || ViewError::Entry { keyspace: "players", reason: "the digest of the state cannot be computed" };
    let (mut state, mut whole) = (StateDigest::default(), true);
    Players::open(&store, &checkpoint, usize::MAX)?.fixed().each(|stream, player| match &stream {
        StreamId::Player { operator, player: name } => match StateDigest::player(operator, name, &player) {
            Ok(digest) => state.add(&digest),
            Err(_) => whole = false,
        },
        _ => whole = false,
    })?;
    let (.., books) = decode(&checkpoint.state).filter(|_| whole).ok_or_else(wrong)?;
    let (Checkpoint { position, hash: record_hash, .. }, form, actor) = (checkpoint, StateDigest::FORM, String::new());
    let digest = state.finish(&books).map_err(|_| wrong())?;
    Ok(Some(BaseTaken { position, record_hash, form, digest, actor }))
}

pub(crate) fn views(index: &Path, partition: u32) -> Arc<Store> {
    Arc::new(Store::open(&index.with_extension("views"), partition))
}

fn remove_old(index: &Path) {
    for file in ["snapshot", "reports"] {
        let _ = std::fs::remove_file(index.with_extension(file));
    }
    let folders = ["requests", "images", "events"].map(|folder| index.with_extension(folder));
    for folder in folders.into_iter().chain([index.to_owned()]) {
        let _ = std::fs::remove_dir_all(folder);
    }
}

#[cfg(feature = "fuzzing")]
pub(crate) fn state(books: &Books) -> Vec<u8> {
    postcard::to_allocvec(&(None::<Hash>, Key([7; 16]), books)).unwrap_or_default()
}

#[cfg(feature = "fuzzing")]
pub(crate) fn decode_state(state: &[u8]) -> Option<Books> {
    decode(state).map(|(.., books)| books)
}

#[cfg(test)]
mod tests;
