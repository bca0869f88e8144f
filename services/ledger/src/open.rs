//! Opening a ledger: replay the log into the books from the latest snapshot on, bring the index up to it, start the writer.
//!
//! The log was verified by its store before. Here every record past the latest [snapshot](crate::snapshot) is decoded and
//! folded, and every invariant of the books is checked again; a commit that the books refuse stops the start with its
//! position, since nobody can say what is true after it. Cost: all of that part of the log, once a start.

use crate::{
    Handle, Options,
    index::{Held, Index, IndexError, Mark, read_mark},
    loaded::Loaded,
    projector::Projector,
    requests::Requests,
    rounds,
    shared::{Shared, Standing, TAIL_GROUPS},
    snapshot::{self, Keeper, Snapshot},
    time::LogTime,
    uptake::Uptake,
};
use motherlode_books::{Books, Commit, Refused, SettledRound};
use motherlode_log::{Hash, Position, ReadError, Reader, Record, Store, hash};
use motherlode_proto::convert::{Malformed, record};
use parking_lot::RwLock;
use std::{
    path::{Path, PathBuf},
    sync::{Arc, mpsc::sync_channel},
    thread::{self, JoinHandle},
};
use tokio::sync::{broadcast, watch};

/// Groups that the projector may be behind before it has to read them from the log.
const HANDED_MAX: usize = 1024;

/// Why a ledger could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A record is no commit.
    #[error("position {position}: {source}")]
    Malformed {
        /// Where.
        position: Position,
        /// The fault.
        source: Malformed,
    },
    /// The books refuse a commit.
    #[error("position {position}: the books refuse it: {source}")]
    Refused {
        /// Where.
        position: Position,
        /// Why.
        source: Refused,
    },
    /// The records are no chain from the first one on.
    #[error("what was read is not the log: {0}")]
    Chain(String),
    /// The processes that have the log cannot be asked.
    #[error("the ledger: {0}")]
    Origin(String),
    /// Partitions are missing, or there twice.
    #[error("partitions {found:?} are here: each of 0, 1, 2 and so on must be, once")]
    Partitions {
        /// Those that are there.
        found: Vec<u32>,
    },
    /// A partition's ledger among several things that are opened.
    #[error("partition {partition}: {source}")]
    Partition {
        /// Which.
        partition: u32,
        /// Why it could not be opened.
        source: Box<OpenError>,
    },
    /// The log is shorter than its index or snapshot knows it to have been: acknowledged commits are missing.
    #[error(
        "the log ends at position {end}, but commits up to {held} were acknowledged, as {} says; delete that to accept the loss",
        by.display()
    )]
    Shortened {
        /// Where the log ends.
        end: Position,
        /// The last position that the index or the snapshot holds.
        held: Position,
        /// The index's folder, or the snapshot's file.
        by: PathBuf,
    },
    /// The records that were found can't be made durable.
    #[error("the log cannot be written: {0}")]
    Settle(motherlode_log::AppendError),
    /// The index cannot be used even when it's made anew.
    #[error("the index in {}: {source}", folder.display())]
    Index {
        /// Its folder.
        folder: PathBuf,
        /// The index's error.
        source: IndexError,
    },
    /// A thread could not be started.
    #[error("no thread for the {0}: {1}")]
    Thread(&'static str, std::io::Error),
}

impl OpenError {
    /// The same, said of a partition.
    pub(crate) fn of(partition: u32) -> impl Fn(Self) -> Self {
        move |source| Self::Partition { partition, source: Box::new(source) }
    }
}

/// Opens the ledger on a store, with its index in a folder that may be missing, stale or damaged.
///
/// # Errors
/// [`OpenError`] says what and where; nothing is served then.
pub fn open(mut store: Box<dyn Store>, index_folder: &Path, options: Options) -> Result<Handle, OpenError> {
    let end = Held { position: store.end(), hash: store.head() };
    let (partition, reader) = (store.partition(), store.reader());
    let settle = || store.settle().map_err(OpenError::Settle);
    load(partition, reader, end, None, index_folder, &options, settle)?.write(store, options)
}

/// The same where this process holds the log already: only the records past that are read. What is held and isn't of this
/// store is let go of.
pub(crate) fn open_loaded(
    store: Box<dyn Store>,
    loaded: Loaded,
    index_folder: &Path,
    options: Options,
) -> Result<Handle, OpenError> {
    if !loaded.is_of(&*store)? {
        tracing::warn!(partition = store.partition(), "what was held is not of this log: loading it anew");
        loaded.close();
        return open(store, index_folder, options);
    }
    let (held, position) = (loaded.position(), store.end());
    loaded.catch_up()?;
    if *loaded.uptake.shared.head.borrow() != (Held { position, hash: store.head() }) {
        return Err(OpenError::Chain(format!("it ends at position {}, not at {position}", loaded.position())));
    }
    tracing::info!(partition = store.partition(), held, position, taken_up = position - held, "the log is taken over");
    loaded.write(store, options)
}

/// Replays a log up to its end as it's known. `first` is what the first record must name, where nobody has verified the
/// chain yet. `settle` makes the log durable as it was found, once nothing is left that could refuse it, and before anything
/// says that it holds it.
pub(crate) fn load(
    partition: u32,
    reader: Arc<dyn Reader>,
    end: Held,
    first: Option<Hash>,
    index_folder: &Path,
    options: &Options,
    settle: impl FnOnce() -> Result<(), OpenError>,
) -> Result<Loaded, OpenError> {
    let (index, mark) = open_index(&*reader, index_folder)?;
    let snapshot = open_snapshot(&*reader, index_folder, partition)?;
    let mut snapshots = Keeper::new(index_folder, options.snapshot_commits, snapshot.position());
    let mut projector =
        Projector::new(index, mark.position, index_folder, options.mark_commits).map_err(unusable(index_folder))?;
    let (books, requests) = replay(&*reader, &mut projector, mark, snapshot, first.map(|first| (first, end)))?;
    settle()?;
    if mark != end {
        projector.mark(end);
    }
    let (clock, ticks) = (Arc::clone(&options.clock), Arc::clone(&options.ticks));
    let time = LogTime::new(clock, ticks, books.end(partition).time_ms);
    let shared = Arc::new(Shared {
        partition,
        books: RwLock::new(books),
        reader,
        index: projector.projected(),
        requests: RwLock::new(requests),
        recent: RwLock::default(),
        head: watch::Sender::new(end),
        decisions: watch::Sender::new(()),
        tail: broadcast::Sender::new(TAIL_GROUPS),
        standing: watch::Sender::new(Standing::Takes),
        time,
        answer_wait_max: options.answer_wait_max,
        change_lapse_ms: options.change_lapse_ms,
    });
    snapshots.keep_at_rest(&shared);
    let (sender, handed) = sync_channel(HANDED_MAX);
    let projected = Arc::clone(&shared);
    let projecting = spawn("projector", move || projector.run(&projected, &handed, snapshots))?;
    Ok(Loaded { uptake: Uptake { shared, projector: sender }, projecting })
}

/// Starts a thread of the ledger.
pub(crate) fn spawn(name: &'static str, body: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, OpenError> {
    thread::Builder::new().name(name.to_owned()).spawn(body).map_err(|source| OpenError::Thread(name, source))
}

/// Of an empty log.
const NOTHING: Held = Held { position: 0, hash: [0; 32] };

/// The index with the mark that the log confirms; made anew where it is damaged, of an older version or of another log.
pub(crate) fn open_index(reader: &dyn Reader, folder: &Path) -> Result<(Index, Held), OpenError> {
    // Before anything is touched: whether acknowledged commits are missing is decided by it.
    let mark = read_mark(folder);
    if let Ok(Some(held)) = mark.as_ref().map(|mark| mark.held())
        && held.position > reader.end()
    {
        return Err(OpenError::Shortened { end: reader.end(), held: held.position, by: folder.to_owned() });
    }
    match mark {
        // A log that was empty when the index was made, and is the log of whoever wrote it since.
        Ok(Mark::At(held)) if held.position == 0 => match Index::open(folder) {
            Ok(index) => return Ok((index, NOTHING)),
            Err(error) => tracing::warn!(%error, "the index cannot be opened: it is built anew from the log"),
        },
        Ok(Mark::At(held)) if record_hash(reader, held.position)? == Some(held.hash) => match Index::open(folder) {
            Ok(index) => return Ok((index, held)),
            Err(error) => tracing::warn!(%error, "the index cannot be opened: it is built anew from the log"),
        },
        Ok(Mark::At(held)) => {
            tracing::warn!(
                held.position,
                "the index was made from another log, whose record at this position is a different one: it is built anew"
            );
        }
        Ok(Mark::Old(held)) => {
            tracing::info!(held.position, "the index is of an older version: it is built anew from the log");
        }
        Ok(Mark::None) if reader.end() == 0 => tracing::info!("the log is new: an empty index is made"),
        Ok(Mark::None) => tracing::info!(commits = reader.end(), "there is no index yet: it is built from the log"),
        Err(error @ IndexError::DamagedMark { .. }) => {
            tracing::warn!(%error, "no commits are lost by that: the log says what there is");
        }
        Err(error) => return Err(unusable(folder)(error)),
    }
    let anew = Index::delete(folder).and_then(|()| Index::open(folder));
    Ok((anew.map_err(unusable(folder))?, NOTHING))
}

/// An index's error, with its folder.
pub(crate) fn unusable(folder: &Path) -> impl Fn(IndexError) -> OpenError {
    move |source| OpenError::Index { folder: folder.to_owned(), source }
}

/// The snapshot that the log confirms; of an empty log where there is none.
fn open_snapshot(reader: &dyn Reader, folder: &Path, partition: u32) -> Result<Snapshot, OpenError> {
    let snapshot = Snapshot::read(folder, partition);
    match snapshot.held {
        Some(held) if held.position > reader.end() => {
            let by = snapshot::file(folder);
            Err(OpenError::Shortened { end: reader.end(), held: held.position, by })
        }
        Some(held) if record_hash(reader, held.position)? != Some(held.hash) => {
            tracing::warn!(
                held.position,
                "the snapshot was made from another log, whose record at this position is a different one: the whole log is replayed"
            );
            Ok(Snapshot::default())
        }
        _ => Ok(snapshot),
    }
}

/// The hash of a record that there is.
pub(crate) fn record_hash(reader: &dyn Reader, position: Position) -> Result<Option<[u8; 32]>, ReadError> {
    if position == 0 {
        return Ok(None);
    }
    Ok(reader.read(position, 1, usize::MAX)?.first().map(|record| hash(&record.bytes)))
}

/// Folds what is past the snapshot, and has what is past the mark projected. Where nobody has verified the chain, it's
/// followed from what is surely of this log (else from what the first record must name) to the end that is known.
fn replay(
    reader: &dyn Reader,
    projector: &mut Projector,
    mark: Held,
    snapshot: Snapshot,
    chain: Option<(Hash, Held)>,
) -> Result<(Books, Requests), OpenError> {
    const BYTES: usize = 4 << 20;
    let Snapshot { mut books, mut requests, held } = snapshot;
    let folded = held.unwrap_or(NOTHING);
    let from = if folded.position < mark.position { folded } else { mark };
    let mut chain = chain.map(|(first, end)| (if from.position == 0 { first } else { from.hash }, end));
    let mut next = from.position + 1;
    if from.position < reader.end() {
        let (snapshot, index, end) = (folded.position, mark.position, reader.end());
        tracing::info!(snapshot, index, end, "the log is replayed from the snapshot and the index on, up to its end");
    }
    loop {
        let records = reader.read(next, usize::MAX, BYTES)?;
        let Some(last) = records.last() else { break };
        next = last.position + 1;
        if let Some((head, _)) = &mut chain {
            *head = follow(*head, &records)?;
        }
        let mut unmarked = vec![];
        for stored in &records {
            let position = stored.position;
            let logged = record::decode(&stored.bytes).map_err(|source| OpenError::Malformed { position, source })?;
            if position > folded.position {
                fold(reader, &mut books, &logged.commit)?;
                requests.insert(requests.name(&logged.commit.stream, &logged.commit.request_id), position);
            }
            if position > mark.position {
                unmarked.push(logged);
            }
        }
        projector.take(&unmarked);
    }
    match chain {
        Some((head, end)) if (next - 1, head) != (end.position, end.hash) => {
            Err(OpenError::Chain(format!("it ends at position {}, and not as it should at {}", next - 1, end.position)))
        }
        _ => Ok((books, requests)),
    }
}

/// The hash of the last of some records, each of which names the one before it.
pub(crate) fn follow(head: Hash, records: &[Record]) -> Result<Hash, OpenError> {
    records.iter().try_fold(head, |head, record| {
        let (after, bytes) = (record.position - 1, std::slice::from_ref(&record.bytes));
        motherlode_log::follow(head, after, bytes).map_err(|broken| OpenError::Chain(broken.to_string()))
    })
}

fn fold(reader: &dyn Reader, books: &mut Books, commit: &Commit) -> Result<(), OpenError> {
    match books.apply(commit) {
        Err(Refused::RecallNeeded { round }) => {
            let recalled = recall(reader, commit, round)?;
            books.apply_recalling(commit, recalled.as_ref())
        }
        applied => applied,
    }
    .map_err(|source| OpenError::Refused { position: commit.position, source })
}

/// The settled round that a commit voids, from the log before it.
pub(crate) fn recall(reader: &dyn Reader, void: &Commit, round: u64) -> Result<Option<SettledRound>, OpenError> {
    let fetch = |position| {
        let stored = reader.read(position, 1, usize::MAX)?;
        let stored = stored.first().ok_or(OpenError::Refused { position, source: Refused::RecallNeeded { round } })?;
        let decoded = record::decode(&stored.bytes).map_err(|source| OpenError::Malformed { position, source });
        Ok::<_, OpenError>(Arc::new(decoded?))
    };
    let commits = rounds::walk_back(fetch, fetch(void.previous)?, round)?;
    Ok(SettledRound::recall(round, commits.iter().rev().map(|logged| &logged.commit)))
}
