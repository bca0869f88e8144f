//! The index: where a player's rounds and a pool's awards are, and balances. Kept in sled, written behind the log.
//!
//! It holds nothing that the log does not: the whole folder can be deleted and is rebuilt. sled's flush is no fsync, so
//! what the index claims to hold rests on a mark of its own: the file `held` names a position and the hash of its
//! record, and is replaced only after sled's file was synced. On opening, everything past the mark is put again from
//! the log; a mark that the log does not confirm, or a sled that does not open, means a rebuild.
//!
//! One tree, keys told apart by their first byte:
//!
//! | key | value |
//! |---|---|
//! | `N` stream 0 round (8) | position of the bet (8), of every 16th round of a player |
//! | `A` stream 0 position (8) | nothing: a pool's commit with an award |
//! | `B` stream 0 currency | position (8), balance in minor units (8) |
//!
//! Costs: one put in sixteen rounds. Request ids are not here (indexes of before 21 November 2026 have them, under `R`):
//! a put a commit and a look-up a request took a third of the service's CPU; see `requests`.

use motherlode_books::{Commit, Event, StreamId};
use motherlode_log::{Hash, Position};
use std::{
    fs,
    io::{self, Write},
    panic,
    path::{Path, PathBuf},
};

/// Entries of a sled batch; batches of more than 512 slow sled down.
const BATCH: usize = 256;

/// Rounds of a player between two that are indexed. Puts are dear, and looking at an old round is rare; a round in between is found by walking back from the next indexed one.
const ROUNDS_APART: u64 = 16;

/// How far the index is known to be on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    /// Everything up to here is synced.
    pub position: Position,
    /// Hash of the record there.
    pub hash: Hash,
}

/// Why the index could not be used. It never means a loss: the log has everything.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// sled reported an error.
    #[error("index: {0}")]
    Sled(#[from] sled::Error),
    /// A file operation failed.
    #[error("index: {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What happened.
        source: io::Error,
    },
    /// A value has the wrong length.
    #[error("index: a value is malformed")]
    Malformed,
}

/// The index of one partition.
#[derive(Debug)]
pub struct Index {
    tree: sled::Tree,
    database: sled::Db,
    folder: PathBuf,
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
            Ok::<_, sled::Error>((database, tree))
        });
        match opened {
            Ok(Ok((database, tree))) => Ok(Self { tree, database, folder: folder.to_owned() }),
            Ok(Err(error)) => Err(error.into()),
            Err(_) => Err(IndexError::Malformed),
        }
    }

    /// Closes the index and waits until sled has let go of its file: sled's own threads hold it, and its lock, for a moment
    /// longer than the last handle. Whoever opens the index next, in this process or another, finds it free.
    pub fn close(self) {
        let file = fs::File::open(self.folder.join("sled").join("db"));
        drop(self);
        // Nobody else may be waited for by mistake: the lock is given back at once, and the service that would hold it
        // for long holds the log's lock first.
        let _ = file.and_then(|file| file.lock_shared());
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

    /// How far the index is on the disk; `None` when it holds nothing that is sure.
    pub fn held(&self) -> Option<Held> {
        let bytes = fs::read(self.folder.join("held")).ok()?;
        let (position, hash) = bytes.split_first_chunk::<8>()?;
        Some(Held { position: u64::from_be_bytes(*position), hash: hash.try_into().ok()? })
    }

    /// Puts commits, in log order. Putting them again changes nothing.
    ///
    /// # Errors
    /// When sled cannot write.
    pub fn put<'a>(&self, commits: impl Iterator<Item = &'a Commit>) -> Result<(), IndexError> {
        let (mut batch, mut entries) = (sled::Batch::default(), 0);
        for commit in commits {
            if commit.events.iter().any(|event| matches!(event, Event::JackpotAwarded(_))) {
                batch.insert(key(b'A', &commit.stream.to_string(), &commit.position.to_be_bytes()), &[]);
                entries += 1;
            }
            let bet = commit.events.iter().find_map(bet_of);
            if let Some(round) = bet.filter(|round| round.is_multiple_of(ROUNDS_APART)) {
                batch.insert(round_key(&commit.stream, round), commit.position.to_be_bytes().as_slice());
                entries += 1;
            }
            if entries >= BATCH {
                self.tree.apply_batch(std::mem::take(&mut batch))?;
                entries = 0;
            }
        }
        if entries > 0 {
            self.tree.apply_batch(batch)?;
        }
        Ok(())
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
                batch.insert(key(b'B', &balance.stream, balance.currency.as_bytes()), value);
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
        self.database.flush()?;
        let data = self.folder.join("sled").join("db");
        let io = |path: &Path| {
            let path = path.to_owned();
            move |source| IndexError::Io { path, source }
        };
        fs::File::open(&data).and_then(|file| file.sync_data()).map_err(io(&data))?;
        let (mark, next) = (self.folder.join("held"), self.folder.join("held.next"));
        let mut file = fs::File::create(&next).map_err(io(&next))?;
        file.write_all(&pair(held.position, &held.hash)).and_then(|()| file.sync_data()).map_err(io(&next))?;
        fs::rename(&next, &mark).map_err(io(&mark))?;
        fs::File::open(&self.folder).and_then(|folder| folder.sync_all()).map_err(io(&self.folder))
    }

    /// The bet of the first indexed round after this one: its place in the player's history is close behind.
    ///
    /// # Errors
    /// When sled cannot read.
    pub fn bet_after(&self, stream: &StreamId, round: u64) -> Result<Option<Position>, IndexError> {
        let next = (round / ROUNDS_APART).saturating_add(1).saturating_mul(ROUNDS_APART);
        let value = self.tree.get(round_key(stream, next))?;
        value
            .map(|value| Ok(u64::from_be_bytes(value.as_ref().try_into().map_err(|_| IndexError::Malformed)?)))
            .transpose()
    }

    /// Positions of a pool's awards before a position, the latest first.
    ///
    /// # Errors
    /// When sled cannot read.
    pub fn awards_before(&self, pool: &StreamId, before: Position, max: usize) -> Result<Vec<Position>, IndexError> {
        let place = |position: Position| key(b'A', &pool.to_string(), &position.to_be_bytes());
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

/// Names end before the first 0 byte, which no stream contains, so that no key is another's prefix.
fn key(kind: u8, stream: &str, tail: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(stream.len() + tail.len() + 2);
    key.push(kind);
    key.extend_from_slice(stream.as_bytes());
    key.push(0);
    key.extend_from_slice(tail);
    key
}

/// The key under which a round's bet is found.
fn round_key(stream: &StreamId, round: u64) -> Vec<u8> {
    key(b'N', &stream.to_string(), &round.to_be_bytes())
}

/// The round that an event opens.
fn bet_of(event: &Event) -> Option<u64> {
    match event {
        Event::RoundStarted(started) => Some(started.round),
        _ => None,
    }
}
