//! Snapshots: the books and the newest names of requests as of a position, so that a start folds only what came after it.
//!
//! Like the index, a snapshot holds nothing that the log does not, and may be missing, stale or damaged. It's used only if
//! it's whole (by its digest), made by this version of the fold, and of this log (the record at its position has its
//! hash); else the log is folded from its beginning. The audit never looks at one.
//!
//! The file: [`MAGIC`], the SHA-256 of all that follows, a [`Header`], the books, the names that no run of requests has; the last three in
//! [postcard's wire format](https://postcard.jamesmunns.com/wire-format).

use crate::{chain::record_hash, error::OpenError, index::Held, requests::Tail, shared::Shared};
use motherlode_books::Books;
use motherlode_log::{Hash, Position, Reader};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

/// The first bytes of the file.
const MAGIC: [u8; 8] = *b"MLSNAP01";
/// Bytes of the digest.
const DIGEST: usize = 32;
/// While the books are in use, a snapshot is worth so many times as many commits as at rest.
const RUNNING: u64 = 200;
/// The version of the fold: a hash of its sources.
const FOLD: &str = env!("MOTHERLODE_FOLD");

#[derive(Serialize, Deserialize)]
struct Header {
    fold: String,
    partition: u32,
    position: Position,
    hash: Hash,
}

/// The state folded from a log up to a position.
#[derive(Default)]
pub(crate) struct Snapshot {
    pub(crate) books: Books,
    /// The names of its last commits.
    pub(crate) tail: Option<Tail>,
    /// The last record that is in them; none of an empty log.
    pub(crate) held: Option<Held>,
}

/// Why a file is no snapshot to use.
#[derive(Debug, thiserror::Error)]
enum Unusable {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("it's damaged")]
    Damaged,
    #[error("it's of another version of the program")]
    OtherFold,
    #[error("it's of partition {0}")]
    OtherPartition(u32),
}

impl Snapshot {
    /// The snapshot that the log confirms; of an empty log where there is none.
    pub(crate) fn open(reader: &dyn Reader, index: &Path, partition: u32) -> Result<Self, OpenError> {
        let snapshot = Self::read(index, partition);
        match snapshot.held {
            Some(held) if held.position > reader.end() => {
                Err(OpenError::Shortened { end: reader.end(), held: held.position, by: file(index) })
            }
            Some(held) if record_hash(reader, held.position)? != Some(held.hash) => {
                tracing::warn!(
                    held.position,
                    "the snapshot was made from another log, whose record at this position is a different one: the whole log is replayed"
                );
                Ok(Self::default())
            }
            _ => Ok(snapshot),
        }
    }

    /// The snapshot beside an index's folder; of an empty log where there is none to use.
    fn read(index: &Path, partition: u32) -> Self {
        match read(&file(index), partition) {
            Ok(snapshot) => snapshot,
            Err(Unusable::Io(error)) if error.kind() == io::ErrorKind::NotFound => Self::default(),
            Err(why) => {
                tracing::warn!(%why, "the snapshot is not used: the whole log is replayed");
                Self::default()
            }
        }
    }

    /// Position of the last record that is in it.
    pub(crate) fn position(&self) -> Position {
        self.held.map_or(0, |held| held.position)
    }
}

fn read(file: &Path, partition: u32) -> Result<Snapshot, Unusable> {
    decode(&fs::read(file)?, partition)
}

fn decode(bytes: &[u8], partition: u32) -> Result<Snapshot, Unusable> {
    let rest = bytes.strip_prefix(&MAGIC).ok_or(Unusable::Damaged)?;
    let (digest, body) = rest.split_at_checked(DIGEST).ok_or(Unusable::Damaged)?;
    if Sha256::digest(body)[..] != *digest {
        return Err(Unusable::Damaged);
    }
    let damaged = |_| Unusable::Damaged;
    let (header, body) = postcard::take_from_bytes::<Header>(body).map_err(damaged)?;
    if header.fold != FOLD {
        return Err(Unusable::OtherFold);
    }
    if header.partition != partition {
        return Err(Unusable::OtherPartition(header.partition));
    }
    let (books, tail): (Books, Tail) = postcard::from_bytes(body).map_err(damaged)?;
    if tail.to() != header.position {
        return Err(Unusable::Damaged);
    }
    let held = Held { position: header.position, hash: header.hash };
    Ok(Snapshot { books, tail: Some(tail), held: Some(held) })
}

/// Writes snapshots, on the thread behind the writer.
pub(crate) struct Keeper {
    index: PathBuf,
    every: u64,
    latest: Position,
}

impl Keeper {
    /// `latest` is where the latest snapshot stands; see [`Options::snapshot_commits`](crate::Options::snapshot_commits).
    pub(crate) fn new(index: &Path, every: u64, latest: Position) -> Self {
        Self { index: index.to_owned(), every, latest }
    }

    /// Writes a snapshot if it's worth it where nobody waits for the books: before anything is served, or when all is over.
    pub(crate) fn keep_at_rest(&mut self, shared: &Shared) {
        self.keep(shared, self.every);
    }

    /// The same while the books are in use: the writer may have to wait until they're written down.
    pub(crate) fn keep_running(&mut self, shared: &Shared) {
        self.keep(shared, self.every.saturating_mul(RUNNING));
    }

    fn keep(&mut self, shared: &Shared, commits: u64) {
        if shared.durable() < self.latest.saturating_add(commits) {
            return;
        }
        match write(&self.index, shared) {
            Ok(position) => {
                tracing::info!(position, "a snapshot was written");
                self.latest = position;
            }
            // The next start folds more of the log, and nothing else is different.
            Err(error) => tracing::warn!(%error, "no snapshot was written"),
        }
    }
}

/// Writes a snapshot in place of the one before, if any; answers its position.
fn write(index: &Path, shared: &Shared) -> io::Result<Position> {
    let (position, state) = {
        let books = shared.books.read();
        let position = books.end(shared.partition).position;
        // The table may have more requests than the books have commits.
        (position, postcard::to_allocvec(&(&*books, shared.requests.tail(position))).map_err(io::Error::other)?)
    };
    let hash = match *shared.head.borrow() {
        Held { position: head, hash } if head == position => Some(hash),
        _ => record_hash(&*shared.reader, position).map_err(io::Error::other)?,
    };
    let hash = hash.ok_or_else(|| io::Error::other(format!("the log has no record {position}")))?;
    let header = Header { fold: FOLD.to_owned(), partition: shared.partition, position, hash };
    replace(index, &postcard::to_allocvec(&header).map_err(io::Error::other)?, &state)?;
    Ok(position)
}

/// Beside an index's folder: `index/0.snapshot`. An index that is made anew leaves it.
fn file(index: &Path) -> PathBuf {
    index.with_extension("snapshot")
}

/// The file is the old one or the new one, whenever the power fails; of one that could not be written nothing is left.
fn replace(index: &Path, header: &[u8], state: &[u8]) -> io::Result<()> {
    let (file, new) = (file(index), index.with_extension("snapshot.new"));
    let digest = Sha256::new().chain_update(header).chain_update(state).finalize();
    let written = File::create(&new).and_then(|mut written| {
        for part in [&MAGIC, &digest[..], header, state] {
            written.write_all(part)?;
        }
        written.sync_all()
    });
    if let Err(error) = written.and_then(|()| fs::rename(&new, &file)) {
        // The log needs the room, if that is what was missing.
        let _ = fs::remove_file(&new);
        return Err(error);
    }
    file.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

/// See [`crate::fuzzing::snapshot`].
#[cfg(feature = "fuzzing")]
pub(crate) fn decode_sealed(body: &[u8]) -> Option<Books> {
    let header = Header { fold: FOLD.to_owned(), partition: 0, position: 1, hash: [1; 32] };
    let mut sealed = postcard::to_allocvec(&header).ok()?;
    sealed.extend_from_slice(body);
    let digest = Sha256::digest(&sealed);
    let file = [&MAGIC, &digest[..], &sealed].concat();
    Some(decode(&file, 0).ok()?.books)
}

/// See [`crate::fuzzing::snapshot`].
#[cfg(feature = "fuzzing")]
pub(crate) fn decode_any(file: &[u8]) -> bool {
    decode(file, 0).is_ok()
}
