//! The index: where a player's rounds and a pool's awards are, and balances. Kept in sled, written behind the log.
//!
//! It holds nothing that the log does not: the whole folder can be deleted and is rebuilt. sled's flush is no fsync, so
//! what the index claims to hold rests on a mark of its own: the file `held` names a position and the hash of its
//! record, and is replaced only after sled's file was synced. On opening, everything past the mark is put again from
//! the log; a mark not confirmed by the log, or a sled that does not open, means a rebuild. sled stores the same mark
//! under the key `M`, written before the file, so opening detects a sled folder older than its `held`, empty or from
//! another log.
//!
//! One tree, keys told apart by their first byte:
//!
//! | key | value |
//! |---|---|
//! | `G` stream 0 currency 0 game 0 round (8) | up to 64 rounds that are over, from this one on: number and positions of each |
//! | `O` stream 0 round (8) | a round that was open at the mark: its group (a key of `G` without the number), its positions |
//! | `A` stream 0 position (8) | nothing: a pool's commit with an award |
//! | `W` stream 0 operator 0 position (8) | nothing: the same, by the winner's operator |
//! | `B` stream 0 currency | position (8), balance in minor units (8) |
//! | `M` | the latest mark: position (8), hash (32); the mark in `held` when it was written, in the same form |
//!
//! Costs: one put in 64 rounds, and at a mark one for each player and game with rounds since the last. Request ids are
//! not here (indexes of before 21 November 2026 have them, under `R`): a put a commit and a look-up a request took a third
//! of the service's CPU; see `requests`.
//!
//! The file `held`: [`MAGIC`], the [`VERSION`] of the keys (1 byte), position (8), hash (32), and the first 4 bytes of the
//! SHA-256 of all that. Indexes of before 22 November 2026 have position and hash alone; they are read, and made anew.

use motherlode_books::{Commit, Event, StreamId};
use motherlode_log::{Hash, Position};
use sha2::{Digest, Sha256};
use std::{
    fmt::Display,
    fs,
    io::{self, Write},
    panic,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

/// The first bytes of the file `held`.
const MAGIC: [u8; 4] = *b"MLIX";
/// The version of the keys and values: an index of another version is rebuilt. Version 2 had no marks in sled.
const VERSION: u8 = 3;
/// Bytes of `held` as it was before it had a version.
const UNVERSIONED: usize = Held::BYTES;
/// How long sled may take to let go of its file.
const CLOSE_MAX: Duration = Duration::from_secs(10);

/// The key of the marks in sled.
const MARKS_KEY: &[u8] = b"M";

/// Entries of a sled batch; batches of more than 512 slow sled down.
const BATCH: usize = 256;

/// How far the index is known to be on the disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Held {
    /// Everything up to here is synced.
    pub position: Position,
    /// Hash of the record there.
    pub hash: Hash,
}

impl Held {
    /// Of an empty log.
    pub(crate) const NOTHING: Self = Self { position: 0, hash: [0; 32] };

    /// Bytes of a position and a hash.
    const BYTES: usize = 40;

    fn encode(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&self.position.to_be_bytes());
        bytes[8..].copy_from_slice(&self.hash);
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (position, hash) = bytes.split_first_chunk::<8>()?;
        Some(Self { position: u64::from_be_bytes(*position), hash: hash.try_into().ok()? })
    }
}

impl SledMarks {
    /// Whether sled has everything up to the mark of the file `held`.
    #[must_use]
    pub fn agree_with(self, held: Held) -> bool {
        held == self.latest || held == self.before
    }

    fn encode(self) -> Vec<u8> {
        [self.latest.encode(), self.before.encode()].concat()
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (latest, before) = bytes.split_at_checked(Held::BYTES)?;
        Some(Self { latest: Held::decode(latest)?, before: Held::decode(before)? })
    }
}

/// Why the index could not be used. It never means a loss: the log has everything.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// sled reported an error.
    #[error("sled: {0}")]
    Sled(#[from] sled::Error),
    /// A file operation failed.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the file system.
        source: io::Error,
    },
    /// A value has the wrong length.
    #[error("a value is malformed")]
    Malformed,
    /// The mark is not what was written: how far the index is sure cannot be told.
    #[error("{path}: the mark is damaged, its checksum is wrong; the index is to be made anew from the log")]
    DamagedMark {
        /// The file.
        path: PathBuf,
    },
    /// sled does not let go of its file.
    #[error("{path} is still in use")]
    InUse {
        /// The file.
        path: PathBuf,
    },
}

/// The index of one partition.
#[derive(Debug)]
pub struct Index {
    tree: sled::Tree,
    database: sled::Db,
    folder: PathBuf,
    opened: Option<SledMarks>,
}

/// The marks stored in sled. A crash can come between the write of `latest` and that of the file `held`, so the file
/// has either of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SledMarks {
    /// The latest mark.
    pub latest: Held,
    /// The mark in the file `held` when `latest` was written.
    pub before: Held,
}

/// The content of the file `held`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// Nothing is sure.
    None,
    /// Everything up to here is synced.
    At(Held),
    /// The same of an index of an older version, whose mark has no checksum.
    Old(Held),
}

impl Mark {
    /// How far the index is sure.
    #[must_use]
    pub fn held(self) -> Option<Held> {
        match self {
            Self::None => None,
            Self::At(held) | Self::Old(held) => Some(held),
        }
    }
}

/// A balance as projected: what `audit` compares with the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectedBalance {
    /// The player's stream.
    pub stream: String,
    /// Currency code.
    pub currency: String,
    /// The commit that the balance holds for.
    pub position: Position,
    /// Minor units.
    pub amount: i64,
}

impl Index {
    /// Opens the index in `folder`, creating it when absent.
    ///
    /// # Errors
    /// When sled can't open it (it may even panic on damaged files; that is caught): delete the folder and open again.
    pub fn open(folder: &Path) -> Result<Self, IndexError> {
        fs::create_dir_all(folder).map_err(|source| IndexError::Io { path: folder.to_owned(), source })?;
        let path = folder.join("sled");
        let opened = panic::catch_unwind(|| {
            let database = sled::Config::new()
                .path(&path)
                .mode(sled::Mode::HighThroughput)
                .cache_capacity(256 << 20)
                .flush_every_ms(None)
                .open()?;
            let tree = database.open_tree("index")?;
            let marks = tree.get(MARKS_KEY)?;
            Ok::<_, sled::Error>((database, tree, marks))
        });
        match opened {
            Ok(Ok((database, tree, marks))) => {
                let decode = |bytes: sled::IVec| SledMarks::decode(&bytes).ok_or(IndexError::Malformed);
                let opened = marks.map(decode).transpose()?;
                Ok(Self { tree, database, folder: folder.to_owned(), opened })
            }
            Ok(Err(error)) => Err(error.into()),
            Err(_) => Err(IndexError::Malformed),
        }
    }

    /// Closes the index and waits until sled has let go of its file: sled's own threads hold it, and its lock, for a moment
    /// longer than the last handle. Whoever opens the index next, in this process or another, finds it free.
    ///
    /// # Errors
    /// [`IndexError::InUse`]: it's not let go of within some seconds.
    pub fn close(self) -> Result<(), IndexError> {
        let path = self.folder.join("sled").join("db");
        let file = fs::File::open(&path);
        // Dropping is no more trustworthy than opening.
        let _ = panic::catch_unwind(panic::AssertUnwindSafe(|| drop(self)));
        let Ok(file) = file else { return Ok(()) };
        let begun = Instant::now();
        // Nobody else may be waited for by mistake: the lock is given back at once, and the service that would hold it
        // for long holds the log's lock first.
        while let Err(fs::TryLockError::WouldBlock) = file.try_lock_shared() {
            if begun.elapsed() > CLOSE_MAX {
                return Err(IndexError::InUse { path });
            }
            thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// Removes the whole index, to be rebuilt.
    ///
    /// # Errors
    /// When files cannot be removed.
    pub fn delete(folder: &Path) -> Result<(), IndexError> {
        match fs::remove_dir_all(folder) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(IndexError::Io { path: folder.to_owned(), source })
            }
            _ => Ok(()),
        }
    }

    /// How far the index is on the disk.
    ///
    /// # Errors
    /// [`IndexError::DamagedMark`] where the mark is not what was written; [`IndexError::Io`] where it can't be read.
    pub fn mark(&self) -> Result<Mark, IndexError> {
        read_mark(&self.folder)
    }

    /// The marks in sled when it was opened; `None` in a new one.
    #[must_use]
    pub fn sled_marks(&self) -> Option<SledMarks> {
        self.opened
    }

    /// Puts the awards among commits, in log order. Putting them again changes nothing.
    ///
    /// # Errors
    /// When sled cannot write.
    pub fn put_awards<'a>(&self, commits: impl Iterator<Item = &'a Commit>) -> Result<(), IndexError> {
        let (mut batch, mut entries) = (sled::Batch::default(), 0);
        for commit in commits {
            for event in &commit.events {
                let Event::JackpotAwarded(award) = event else { continue };
                let (stream, position) = (commit.stream.to_string(), commit.position.to_be_bytes());
                batch.insert(key(b'A', &[&stream], &position), &[]);
                if let StreamId::Player { operator, .. } = &award.stream {
                    batch.insert(key(b'W', &[&stream, operator], &position), &[]);
                }
                entries += 2;
            }
            if entries + 2 > BATCH {
                self.tree.apply_batch(std::mem::take(&mut batch))?;
                entries = 0;
            }
        }
        if entries > 0 {
            self.tree.apply_batch(batch)?;
        }
        Ok(())
    }

    /// Puts and removes entries, in this order.
    ///
    /// # Errors
    /// When sled cannot write.
    pub(crate) fn apply(&self, changes: Vec<Change>) -> Result<(), IndexError> {
        let mut changes = changes.into_iter().peekable();
        while changes.peek().is_some() {
            let mut batch = sled::Batch::default();
            for (key, value) in changes.by_ref().take(BATCH) {
                match value {
                    Some(value) => batch.insert(key, value),
                    None => batch.remove(key),
                }
            }
            self.tree.apply_batch(batch)?;
        }
        Ok(())
    }

    /// Keys and values from a key up to another, the last first.
    pub(crate) fn back(&self, from: &[u8], to: &[u8]) -> impl Iterator<Item = Result<Pair, IndexError>> {
        self.tree.range(from.to_vec()..to.to_vec()).rev().map(|entry| Ok(entry?))
    }

    /// The first key from one on.
    pub(crate) fn first_from(&self, from: &[u8]) -> Result<Option<Vec<u8>>, IndexError> {
        Ok(self.tree.range(from.to_vec()..).next().transpose()?.map(|(key, _)| key.to_vec()))
    }

    /// All entries with a kind of key.
    pub(crate) fn all(&self, kind: u8) -> impl Iterator<Item = Result<Pair, IndexError>> {
        self.tree.scan_prefix([kind]).map(|entry| Ok(entry?))
    }

    /// Puts balances as they are after their positions.
    ///
    /// # Errors
    /// When sled cannot write.
    pub fn put_balances(&self, all: &[ProjectedBalance]) -> Result<(), IndexError> {
        for some in all.chunks(BATCH) {
            let mut batch = sled::Batch::default();
            for balance in some {
                let value = pair(balance.position, &balance.amount.to_be_bytes());
                batch.insert(key(b'B', &[&balance.stream], balance.currency.as_bytes()), value);
            }
            self.tree.apply_batch(batch)?;
        }
        Ok(())
    }

    /// Syncs what was put and moves the mark to `held`.
    ///
    /// # Errors
    /// When the files cannot be written; the mark stays where it was.
    pub fn sync(&self, held: Held) -> Result<(), IndexError> {
        let before = self.mark()?.held().unwrap_or(Held::NOTHING);
        self.tree.insert(MARKS_KEY, SledMarks { latest: held, before }.encode())?;
        self.database.flush()?;
        let data = self.folder.join("sled").join("db");
        let io = |path: &Path| {
            let path = path.to_owned();
            move |source| IndexError::Io { path, source }
        };
        fs::File::open(&data).and_then(|file| file.sync_data()).map_err(io(&data))?;
        let (mark, next) = (self.folder.join("held"), self.folder.join("held.next"));
        let mut file = fs::File::create(&next).map_err(io(&next))?;
        file.write_all(&encode_mark(held)).and_then(|()| file.sync_data()).map_err(io(&next))?;
        fs::rename(&next, &mark).map_err(io(&mark))?;
        fs::File::open(&self.folder).and_then(|folder| folder.sync_all()).map_err(io(&self.folder))
    }

    /// Positions of a pool's awards before a position, of an operator's players or of all, the latest first.
    ///
    /// # Errors
    /// When sled cannot read.
    pub fn awards_before(
        &self,
        pool: &StreamId,
        operator: Option<&str>,
        before: Position,
        max: usize,
    ) -> Result<Vec<Position>, IndexError> {
        let pool = pool.to_string();
        let place = |position: Position| match operator {
            None => key(b'A', &[&pool], &position.to_be_bytes()),
            Some(operator) => key(b'W', &[&pool, &operator], &position.to_be_bytes()),
        };
        let awards = self.tree.range(place(0)..place(before)).keys().rev().take(max);
        awards
            .map(|key| {
                let position = key?.last_chunk::<8>().copied().ok_or(IndexError::Malformed)?;
                Ok(u64::from_be_bytes(position))
            })
            .collect()
    }

    /// All projected balances, for the audit.
    pub fn balances(&self) -> impl Iterator<Item = Result<ProjectedBalance, IndexError>> {
        self.tree.scan_prefix(b"B").map(|entry| {
            let (key, value) = entry?;
            parse_balance(&key, &value).ok_or(IndexError::Malformed)
        })
    }
}

pub(crate) fn parse_balance(key: &[u8], value: &[u8]) -> Option<ProjectedBalance> {
    let (stream, currency) = std::str::from_utf8(key.get(1..)?).ok()?.split_once('\0')?;
    let (position, amount) = value.split_first_chunk::<8>()?;
    Some(ProjectedBalance {
        stream: stream.to_owned(),
        currency: currency.to_owned(),
        position: u64::from_be_bytes(*position),
        amount: i64::from_be_bytes(amount.try_into().ok()?),
    })
}

/// A position and what stands beside it.
fn pair(position: Position, rest: &[u8]) -> Vec<u8> {
    [&position.to_be_bytes(), rest].concat()
}

/// A key, and its value; none to remove it.
pub(crate) type Change = (Vec<u8>, Option<Vec<u8>>);

/// A key and its value as they are read.
type Pair = (sled::IVec, sled::IVec);

/// Each name ends with a 0 byte, which none contains, so that no key is another's prefix.
pub(crate) fn key(kind: u8, names: &[&dyn Display], tail: &[u8]) -> Vec<u8> {
    // A player's stream, a game and a currency.
    let mut key = Vec::with_capacity(64);
    key.push(kind);
    for name in names {
        // Writing to memory doesn't fail.
        let _ = write!(key, "{name}");
        key.push(0);
    }
    key.extend_from_slice(tail);
    key
}

fn encode_mark(held: Held) -> Vec<u8> {
    let mut mark = [&MAGIC[..], &[VERSION], &held.encode()].concat();
    mark.extend_from_slice(&Sha256::digest(&mark)[..4]);
    mark
}

/// Reads the mark in an index's folder without opening the index.
///
/// # Errors
/// As [`Index::mark`].
pub fn read_mark(folder: &Path) -> Result<Mark, IndexError> {
    let path = folder.join("held");
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Mark::None),
        Err(source) => return Err(IndexError::Io { path, source }),
    };
    decode_mark(&bytes).ok_or(IndexError::DamagedMark { path })
}

fn decode_mark(bytes: &[u8]) -> Option<Mark> {
    if bytes.len() == UNVERSIONED {
        return Held::decode(bytes).map(Mark::Old);
    }
    let (body, sum) = bytes.split_last_chunk::<4>()?;
    if Sha256::digest(body)[..4] != sum[..] {
        return None;
    }
    let (version, rest) = body.strip_prefix(&MAGIC)?.split_first()?;
    let held = Held::decode(rest)?;
    Some(if *version == VERSION { Mark::At(held) } else { Mark::Old(held) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uf_10_a_mark_comes_back_as_it_was_and_no_flipped_bit_is_believed() {
        let held = Held { position: 1 << 40 | 77, hash: [7; 32] };
        let mark = encode_mark(held);
        assert_eq!(decode_mark(&mark), Some(Mark::At(held)));
        for bit in 0..mark.len() * 8 {
            let mut flipped = mark.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(decode_mark(&flipped), None, "bit {bit}");
        }
        for length in (0..mark.len()).filter(|length| *length != UNVERSIONED) {
            assert_eq!(decode_mark(&mark[..length]), None, "{length} bytes");
        }
    }

    #[test]
    fn uf_10_a_mark_without_a_version_is_read() {
        let held = Held { position: 77, hash: [7; 32] };
        assert_eq!(decode_mark(&held.encode()), Some(Mark::Old(held)));
    }
}
