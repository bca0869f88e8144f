//! Index in sled, written behind the log: positions of players' rounds and pools' awards, and balances.
//!
//! Everything in it is derived from the log; the folder can be deleted. sled's flush is no fsync, so the file `held`
//! has a mark, the last record's position and hash, replaced only after sled's file is synced. Opening replays the log
//! after the mark; an unconfirmed mark or unreadable sled causes a rebuild. sled has the mark, too, written first, so a
//! sled folder older than `held` is detected.
//!
//! The first byte of a key is its kind:
//!
//! | key | value |
//! |---|---|
//! | `G` stream 0 currency 0 game 0 round (8) | up to 64 finished rounds from this one on: number and positions of each |
//! | `O` stream 0 round (8) | a round open at the mark: its group (a key of `G` without the number), its positions |
//! | `A` stream 0 position (8) | empty: a pool's commit with an award |
//! | `W` stream 0 operator 0 position (8) | empty: the same, by the winner's operator |
//! | `B` stream 0 currency | position (8), balance in minor units (8) |
//! | `M` | the latest mark: position (8), hash (32); the mark in `held` when it was written, in the same form |
//!
//! The file `held`: [`MAGIC`], [`VERSION`] (1 byte), position (8), hash (32), and the first 4 bytes of the SHA-256 of
//! these. Before 22 November 2026 it had only position and hash; such an index is rebuilt.

use motherlode_log::{Hash, Position};
use motherlode_state::{Commit, Event, StreamId};
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

const MAGIC: [u8; 4] = *b"MLIX";
/// Version of keys and values; another one is rebuilt. Version 2 had no marks in sled.
const VERSION: u8 = 3;
const UNVERSIONED: usize = ChainHead::BYTES;
const CLOSE_MAX: Duration = Duration::from_secs(10);

const MARKS_KEY: &[u8] = b"M";

/// Entries of a sled batch; more than 512 slow sled down.
const BATCH: usize = 256;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChainHead {
    pub position: Position,
    pub hash: Hash,
}

impl ChainHead {
    pub(crate) const NOTHING: Self = Self { position: 0, hash: [0; 32] };

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
    #[must_use]
    pub fn agree_with(self, head: ChainHead) -> bool {
        head == self.latest || head == self.before
    }

    fn encode(self) -> Vec<u8> {
        [self.latest.encode(), self.before.encode()].concat()
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (latest, before) = bytes.split_at_checked(ChainHead::BYTES)?;
        Some(Self { latest: ChainHead::decode(latest)?, before: ChainHead::decode(before)? })
    }
}

/// No data is lost: the log has everything.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    #[error("sled: {0}")]
    Sled(#[from] sled::Error),
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("a value is malformed")]
    Malformed,
    #[error("{path}: the mark is damaged, its checksum is wrong; the index must be rebuilt from the log")]
    DamagedMark { path: PathBuf },
    #[error("{path} is still in use")]
    InUse { path: PathBuf },
}

#[derive(Debug)]
pub struct Index {
    tree: sled::Tree,
    database: sled::Db,
    folder: PathBuf,
    opened: Option<SledMarks>,
}

/// Marks in sled. If a crash came between the writes of `latest` and of the file `held`, the file has `before`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SledMarks {
    pub latest: ChainHead,
    pub before: ChainHead,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    None,
    At(ChainHead),
    /// Mark of an older version, without a checksum.
    Old(ChainHead),
}

impl Mark {
    #[must_use]
    pub fn head(self) -> Option<ChainHead> {
        match self {
            Self::None => None,
            Self::At(head) | Self::Old(head) => Some(head),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectedBalance {
    pub stream: String,
    pub currency: String,
    pub position: Position,
    pub amount: i64,
}

impl Index {
    /// Opens or creates the index; catches sled's panics on damaged files. After an error, delete the folder and open
    /// again.
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

    /// Waits until sled's threads release its file and lock.
    pub fn close(self) -> Result<(), IndexError> {
        let path = self.folder.join("sled").join("db");
        let file = fs::File::open(&path);
        // sled may panic on drop, too.
        let _ = panic::catch_unwind(panic::AssertUnwindSafe(|| drop(self)));
        let Ok(file) = file else { return Ok(()) };
        let begun = Instant::now();
        // Waits for the file's lock, since sled's threads release it later.
        while let Err(fs::TryLockError::WouldBlock) = file.try_lock_shared() {
            if begun.elapsed() > CLOSE_MAX {
                return Err(IndexError::InUse { path });
            }
            thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    pub fn delete(folder: &Path) -> Result<(), IndexError> {
        match fs::remove_dir_all(folder) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(IndexError::Io { path: folder.to_owned(), source })
            }
            _ => Ok(()),
        }
    }

    pub fn mark(&self) -> Result<Mark, IndexError> {
        read_mark(&self.folder)
    }

    #[must_use]
    pub fn sled_marks(&self) -> Option<SledMarks> {
        self.opened
    }

    /// Idempotent.
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

    /// Latest first.
    pub(crate) fn back(&self, from: &[u8], to: &[u8]) -> impl Iterator<Item = Result<Pair, IndexError>> {
        self.tree.range(from.to_vec()..to.to_vec()).rev().map(|entry| Ok(entry?))
    }

    pub(crate) fn first_from(&self, from: &[u8]) -> Result<Option<Vec<u8>>, IndexError> {
        Ok(self.tree.range(from.to_vec()..).next().transpose()?.map(|(key, _)| key.to_vec()))
    }

    pub(crate) fn all(&self, kind: u8) -> impl Iterator<Item = Result<Pair, IndexError>> {
        self.tree.scan_prefix([kind]).map(|entry| Ok(entry?))
    }

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

    /// Syncs the entries, then moves the mark to `head`.
    pub fn sync(&self, head: ChainHead) -> Result<(), IndexError> {
        let before = self.mark()?.head().unwrap_or(ChainHead::NOTHING);
        self.tree.insert(MARKS_KEY, SledMarks { latest: head, before }.encode())?;
        self.database.flush()?;
        let data = self.folder.join("sled").join("db");
        let io = |path: &Path| {
            let path = path.to_owned();
            move |source| IndexError::Io { path, source }
        };
        fs::File::open(&data).and_then(|file| file.sync_data()).map_err(io(&data))?;
        let (mark, next) = (self.folder.join("held"), self.folder.join("held.next"));
        let mut file = fs::File::create(&next).map_err(io(&next))?;
        file.write_all(&encode_mark(head)).and_then(|()| file.sync_data()).map_err(io(&next))?;
        fs::rename(&next, &mark).map_err(io(&mark))?;
        fs::File::open(&self.folder).and_then(|folder| folder.sync_all()).map_err(io(&self.folder))
    }

    /// Returns awards, the latest first, of one operator's players or of all.
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

fn pair(position: Position, rest: &[u8]) -> Vec<u8> {
    [&position.to_be_bytes(), rest].concat()
}

/// A key with its new value; `None` removes the key.
pub(crate) type Change = (Vec<u8>, Option<Vec<u8>>);

type Pair = (sled::IVec, sled::IVec);

/// Builds a key. Each name ends with a 0 byte, which no name contains, so no key is a prefix of another.
pub(crate) fn key(kind: u8, names: &[&dyn Display], tail: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(64);
    key.push(kind);
    for name in names {
        let _ = write!(key, "{name}");
        key.push(0);
    }
    key.extend_from_slice(tail);
    key
}

fn encode_mark(head: ChainHead) -> Vec<u8> {
    let mut mark = [&MAGIC[..], &[VERSION], &head.encode()].concat();
    mark.extend_from_slice(&Sha256::digest(&mark)[..4]);
    mark
}

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
        return ChainHead::decode(bytes).map(Mark::Old);
    }
    let (body, sum) = bytes.split_last_chunk::<4>()?;
    if Sha256::digest(body)[..4] != sum[..] {
        return None;
    }
    let (version, rest) = body.strip_prefix(&MAGIC)?.split_first()?;
    let head = ChainHead::decode(rest)?;
    Some(if *version == VERSION { Mark::At(head) } else { Mark::Old(head) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uf_10_a_mark_comes_back_as_it_was_and_no_flipped_bit_is_believed() {
        let head = ChainHead { position: 1 << 40 | 77, hash: [7; 32] };
        let mark = encode_mark(head);
        assert_eq!(decode_mark(&mark), Some(Mark::At(head)));
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
        let head = ChainHead { position: 77, hash: [7; 32] };
        assert_eq!(decode_mark(&head.encode()), Some(Mark::Old(head)));
    }
}
