//! Snapshots: the books and the newest names of requests as of a position, so that a start folds only what came after it.
//!
//! Like the index, a snapshot holds nothing that the log does not, and may be missing, stale or damaged. It's used only if
//! it's whole (by its digest), of this [version of the state](STATE_VERSION), and of this log (the record at its position has its
//! hash); else the log is folded from its beginning. The audit never looks at one.
//!
//! The file: [`MAGIC`], the SHA-256 of all that follows, a [`Header`], the books without their players, the names that no run of requests
//! has, and the digests of the [batches](crate::images) with the players' images; all but the first two in
//! [postcard's wire format](https://postcard.jamesmunns.com/wire-format).
//!
//! It's written while commits go on. The writer waits until the books without their players are written down (pools, totals, a line for
//! each open round), and that's all: which players have changed since the latest snapshot the books know, and what those
//! were when this one began they keep, until a few at a time were taken.

use crate::{
    chain::record_hash,
    error::{ImageError, OpenError},
    images::{Images, LOOKED_AT, Named, Written, each_once},
    index::Held,
    provenance::Provenance,
    region::Region,
    requests::Tail,
    shared::Shared,
    state_check::StateCheck,
};
use motherlode_books::{Books, Frozen};
use motherlode_log::{Hash, Position, Reader};
use parking_lot::RwLockWriteGuard;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::Ordering,
        mpsc::{SyncSender, sync_channel},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

/// The first bytes of the file.
const MAGIC: [u8; 8] = *b"MLSNAP04";
/// The bytes that snapshots of every format begin with.
const FAMILY: &[u8] = b"MLSNAP";
/// Bytes of the digest.
const DIGEST: usize = 32;
/// While the books are in use, a snapshot is worth so many times as many commits as at rest: the log's own writes go before.
const RUNNING: u64 = 20;
/// Before a snapshot that could not be written is tried again.
const PAUSE: Duration = Duration::from_secs(10);
/// Version of the folded state in a snapshot and its images. A build uses the files of every build with the same
/// version, and replays the log in place of others.
///
/// Raise it by 1 in a change after which
/// * the same log is folded to another state: another amount, another field, another use of an event;
/// * the same state is serialized as other bytes: a field or a variant is added, removed, moved or gets another type, in the
///   books, in a player's state, in the names of requests or in the files of images.
///
/// A change that moves code, adds an event no older log has, or refuses more needs no new version. `state_version_*` tests compare the
/// serialized state of logs with every event, and fail if the version was not raised. The [check](crate::state_check) of some
/// players under a new build finds changes outside of those logs.
pub(crate) const STATE_VERSION: u32 = 4;

#[derive(Serialize, Deserialize)]
struct Header {
    version: u32,
    /// The program behind the state: see [`Provenance`]. `None` if its executable could not be read.
    program: Option<Hash>,
    partition: u32,
    position: Position,
    hash: Hash,
}

/// The state folded from a log up to a position.
pub(crate) struct Snapshot {
    /// Their players have images.
    pub(crate) books: Books,
    pub(crate) images: Arc<Images>,
    /// The names of its last commits.
    pub(crate) tail: Option<Tail>,
    /// The last record that is in them; none of an empty log.
    pub(crate) held: Option<Held>,
    /// The program named by the snapshot.
    pub(crate) program: Option<Hash>,
}

/// Why a file is no snapshot to use.
#[derive(Debug, thiserror::Error)]
enum Unusable {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("it's damaged")]
    Damaged,
    #[error("its state is of another version than this program's, {STATE_VERSION}")]
    OtherVersion,
    #[error("it's of partition {0}")]
    OtherPartition(u32),
    #[error("its images: {0}")]
    Images(#[from] ImageError),
}

impl Snapshot {
    /// The snapshot that the log confirms; of an empty log where there is none.
    pub(crate) fn open(
        reader: &dyn Reader,
        index: &Path,
        partition: u32,
        players_max: usize,
    ) -> Result<Self, OpenError> {
        let snapshot = Self::read(index, partition, players_max);
        match snapshot.held {
            Some(held) if held.position > reader.end() => {
                Err(OpenError::Shortened { end: reader.end(), held: held.position, by: file(index) })
            }
            Some(held) if record_hash(reader, held.position)? != Some(held.hash) => {
                tracing::warn!(
                    held.position,
                    "the snapshot was made from another log, whose record at this position is a different one: the whole log is replayed"
                );
                Ok(Self::none(index, partition, players_max))
            }
            _ => Ok(snapshot),
        }
    }

    /// Of an empty log.
    fn none(index: &Path, partition: u32, players_max: usize) -> Self {
        let images = Arc::new(Images::none(&folder(index), partition, players_max));
        Self { books: Books::new(), images, tail: None, held: None, program: None }
    }

    /// The check of the state; `None` of an empty log.
    pub(crate) fn check(&self, partition: u32, reader: &Arc<dyn Reader>) -> Option<StateCheck> {
        let (reader, position) = (Arc::clone(reader), self.held?.position);
        Some(StateCheck { partition, reader, position, images: self.images.fixed(), shared: self.books.shared() })
    }

    /// The snapshot beside an index's folder; of an empty log where there is none to use.
    fn read(index: &Path, partition: u32, players_max: usize) -> Self {
        match read(index, partition, players_max) {
            Ok(snapshot) => snapshot,
            Err(Unusable::Io(error)) if error.kind() == io::ErrorKind::NotFound => {
                Self::none(index, partition, players_max)
            }
            Err(why) => {
                tracing::warn!(%why, "the snapshot is not used: the whole log is replayed");
                Self::none(index, partition, players_max)
            }
        }
    }

    /// Position of the last record that is in it.
    pub(crate) fn position(&self) -> Position {
        self.held.map_or(0, |held| held.position)
    }
}

fn read(index: &Path, partition: u32, players_max: usize) -> Result<Snapshot, Unusable> {
    let (held, program, (books, tail, named)) = decode(&fs::read(file(index))?, partition)?;
    let images = Images::open(&folder(index), partition, &named, players_max).map_err(|error| match error {
        // A missing file is no missing snapshot.
        ImageError::Io(error) => Unusable::Io(io::Error::other(error)),
        error => Unusable::Images(error),
    })?;
    Ok(Snapshot { books, images: Arc::new(images), tail: Some(tail), held: Some(held), program })
}

/// All that follows a header.
type Body = (Books, Tail, Named);

fn decode(bytes: &[u8], partition: u32) -> Result<(Held, Option<Hash>, Body), Unusable> {
    let of_family = bytes.starts_with(FAMILY);
    let rest = bytes.strip_prefix(&MAGIC).ok_or(if of_family { Unusable::OtherVersion } else { Unusable::Damaged })?;
    let (digest, body) = rest.split_at_checked(DIGEST).ok_or(Unusable::Damaged)?;
    if Sha256::digest(body)[..] != *digest {
        return Err(Unusable::Damaged);
    }
    let damaged = |_| Unusable::Damaged;
    let (header, body) = postcard::take_from_bytes::<Header>(body).map_err(damaged)?;
    if header.version != STATE_VERSION {
        return Err(Unusable::OtherVersion);
    }
    if header.partition != partition {
        return Err(Unusable::OtherPartition(header.partition));
    }
    let body: Body = postcard::from_bytes(body).map_err(damaged)?;
    if body.1.to() != header.position {
        return Err(Unusable::Damaged);
    }
    Ok((Held { position: header.position, hash: header.hash }, header.program, body))
}

/// Writes snapshots, behind the writer.
pub(crate) struct Keeper {
    index: PathBuf,
    every: u64,
    latest: Position,
    images: Arc<Images>,
    provenance: Arc<Provenance>,
    /// Batches became one since: the next start is to find that.
    merged: bool,
    /// Until then nothing is tried while commits go on: the disk refused it.
    pause: Option<Instant>,
}

impl Keeper {
    /// `latest` is where the latest snapshot stands; see [`Options::snapshot_commits`](crate::Options::snapshot_commits).
    pub(crate) fn new(
        index: &Path,
        every: u64,
        latest: Position,
        images: Arc<Images>,
        provenance: Arc<Provenance>,
    ) -> Self {
        Self { index: index.to_owned(), every, latest, images, provenance, merged: false, pause: None }
    }

    /// Writes a snapshot if it's worth it where nobody waits for the books: before anything is served, or when all is over.
    pub(crate) fn keep_at_rest(&mut self, shared: &Shared) {
        let commits = if self.merged { 1 } else { self.every };
        self.keep(shared, if self.provenance.take_stale() { 0 } else { commits });
    }

    /// The same while the books are in use.
    fn keep_running(&mut self, shared: &Shared) {
        if self.pause.is_some_and(|until| Instant::now() < until) {
            return;
        }
        self.pause = None;
        // Now those may go that had changed; twice round at most, first those that were not used lately.
        let rounds = if self.keep(shared, self.every.saturating_mul(RUNNING)) { 2 } else { 0 };
        for _ in 0..rounds {
            while self.images.make_room(&mut shared.books.write(), LOOKED_AT) {}
        }
        match self.images.merge() {
            Ok(merged) => self.merged |= merged,
            Err(ImageError::Stopped) => {}
            // Reading takes longer, and nothing else is different.
            Err(error) => {
                tracing::warn!(%error, "images of players were not put together");
                self.pause = Some(Instant::now() + PAUSE);
            }
        }
    }

    /// Answers whether it wrote one.
    fn keep(&mut self, shared: &Shared, commits: u64) -> bool {
        if self.images.has_failed() || self.provenance.has_failed() {
            return false;
        }
        let wanted = self.images.wants_snapshot(&shared.books.read()) && shared.durable() > self.latest;
        if !wanted && shared.durable() < self.latest.saturating_add(commits) {
            return false;
        }
        match self.write(shared) {
            Ok(position) => {
                tracing::info!(position, "a snapshot was written");
                (self.latest, self.merged) = (position, false);
                // It names this program if the check is done.
                self.provenance.take_stale();
                true
            }
            // The next start folds more of the log, and nothing else is different.
            Err(error) => {
                tracing::warn!(%error, "no snapshot was written");
                self.pause = Some(Instant::now() + PAUSE);
                false
            }
        }
    }

    /// Writes a snapshot in place of the one before, if any; answers its position.
    fn write(&self, shared: &Shared) -> io::Result<Position> {
        let begun = Begun::of(shared);
        let mut written = Written::default();
        let done = self.write_begun(shared, &begun, &mut written);
        let unwritten = done.is_err().then_some(begun.frozen);
        if done.is_ok() {
            self.images.take(written);
        } else {
            // The log needs the room, if that is what was missing.
            drop(written);
            self.images.remove_others();
        }
        let kept = shared.books.write().thaw(unwritten);
        drop(kept);
        done.map(|()| begun.position)
    }

    fn write_begun(&self, shared: &Shared, begun: &Begun, written: &mut Written) -> io::Result<()> {
        let position = begun.position;
        self.images.write_frozen(&begun.frozen, || shared.books.read(), written)?;
        let hash = match *shared.head.borrow() {
            Held { position: head, hash } if head == position => Some(hash),
            _ => record_hash(&*shared.reader, position).map_err(io::Error::other)?,
        };
        let hash = hash.ok_or_else(|| io::Error::other(format!("the log has no record {position}")))?;
        let program = self.provenance.program();
        let header = Header { version: STATE_VERSION, program, partition: shared.partition, position, hash };
        let header = postcard::to_allocvec(&header).map_err(io::Error::other)?;
        let rest = postcard::to_allocvec(&(&begun.tail, self.images.named(written))).map_err(io::Error::other)?;
        replace(&self.index, &[&header, &begun.books, &rest])?;
        // The check removes the snapshot; this one may have come right after.
        if self.provenance.has_failed() {
            self.images.remove_snapshot();
            return Err(io::Error::other("the state is not the one that this build folds"));
        }
        Ok(())
    }
}

/// A snapshot that has begun.
struct Begun {
    position: Position,
    /// The books without their players.
    books: Vec<u8>,
    tail: Tail,
    frozen: Frozen,
}

impl Begun {
    fn of(shared: &Shared) -> Self {
        let mut books = shared.books.write();
        let mut frozen = books.freeze();
        let books = RwLockWriteGuard::downgrade(books);
        let position = books.end(shared.partition).position;
        // The table may have more requests than the books have commits.
        let tail = shared.requests.tail(position);
        // To write into memory cannot fail; if it did, the snapshot would be found damaged.
        let written = postcard::to_allocvec(&*books).unwrap_or_default();
        drop(books);
        each_once(&mut frozen);
        Self { position, books: written, tail, frozen }
    }
}

/// The threads for snapshots: one writes them during operation, one checks the snapshot of the start. On drop both end, and a last
/// snapshot is written.
pub(crate) struct Snapshots {
    images: Arc<Images>,
    due: Option<SyncSender<()>>,
    threads: Vec<JoinHandle<()>>,
}

impl Snapshots {
    pub(crate) fn start(mut keeper: Keeper, shared: Arc<Shared>, check: Option<StateCheck>) -> Result<Self, OpenError> {
        let (due, dues) = sync_channel(1);
        let images = Arc::clone(&keeper.images);
        let (checked, provenance) = (Arc::clone(&images), Arc::clone(&keeper.provenance));
        let threads = shared.threads.clone();
        let failed = |name| move |source| OpenError::Thread(name, source);
        let checking = check.map(|check| {
            let check = move || check.run(&provenance, &checked.stop, || checked.remove_snapshot());
            threads.spawn("state check", check).map_err(failed("state check"))
        });
        let keeping = threads.spawn("snapshots", move || {
            motherlode_runtime::lower_priority();
            while dues.recv().is_ok() {
                keeper.keep_running(&shared);
            }
            keeper.keep_at_rest(&shared);
        });
        let keeping = keeping.map_err(failed("snapshots"))?;
        let threads = checking.transpose()?.into_iter().chain([keeping]).collect();
        Ok(Self { images, due: Some(due), threads })
    }

    /// Has it look whether a snapshot is due.
    pub(crate) fn look(&self) {
        if let Some(due) = &self.due {
            let _ = due.try_send(());
        }
    }
}

impl Drop for Snapshots {
    fn drop(&mut self) {
        self.images.stop.store(true, Ordering::Relaxed);
        self.due = None;
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a thread of the ledger ended in a panic");
            }
        }
    }
}

/// Beside an index's folder: `index/0.snapshot`. An index that is made anew leaves it.
fn file(index: &Path) -> PathBuf {
    index.with_extension("snapshot")
}

/// The folder of the players' images, beside it: `index/0.images`.
fn folder(index: &Path) -> PathBuf {
    index.with_extension("images")
}

/// The file is the old one or the new one, whenever the power fails; of one that could not be written nothing is left.
fn replace(index: &Path, parts: &[&[u8]]) -> io::Result<()> {
    let (file, new) = (file(index), index.with_extension("snapshot.new"));
    let digest = parts.iter().fold(Sha256::new(), |digest, part| digest.chain_update(part)).finalize();
    let written = File::create(&new).and_then(|written| {
        let mut region = Region::new(&written, 0);
        for part in [&MAGIC, &digest[..]].iter().chain(parts) {
            region.put(part)?;
        }
        region.end()?;
        written.sync_all()
    });
    if let Err(error) = written.and_then(|()| fs::rename(&new, &file)) {
        // The log needs the room, if that is what was missing.
        let _ = fs::remove_file(&new);
        return Err(error);
    }
    file.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

/// The body of a snapshot of these books that names no request and no image.
#[cfg(feature = "fuzzing")]
pub(crate) fn body(books: &Books) -> Vec<u8> {
    let named = Images::none(Path::new(""), 0, 0).named(&Written::default());
    postcard::to_allocvec(&(books, Tail::new(1, vec![]), named)).unwrap_or_default()
}

/// See [`crate::fuzzing::snapshot`].
#[cfg(feature = "fuzzing")]
pub(crate) fn decode_sealed(body: &[u8]) -> Option<Books> {
    let header = Header { version: STATE_VERSION, program: None, partition: 0, position: 1, hash: [1; 32] };
    let mut sealed = postcard::to_allocvec(&header).ok()?;
    sealed.extend_from_slice(body);
    let digest = Sha256::digest(&sealed);
    let file = [&MAGIC, &digest[..], &sealed].concat();
    Some(decode(&file, 0).ok()?.2.0)
}

/// See [`crate::fuzzing::snapshot`].
#[cfg(feature = "fuzzing")]
pub(crate) fn decode_any(file: &[u8]) -> bool {
    decode(file, 0).is_ok()
}

#[cfg(test)]
mod tests;
