//! Opening a ledger: replay the log into the books, bring the index up to it, start the writer.
//!
//! The log was verified by its store before. Here every record is decoded and folded, and every invariant of the books
//! is checked again; a commit that the books refuse stops the start with its position, since nobody can say what is
//! true after it. Cost: all of the log, once a start.

use crate::{
    Handle, Options,
    index::{Held, Index, IndexError},
    projector::{self, Balances},
    requests::Requests,
    rounds,
    shared::Shared,
    writer::Writer,
};
use motherlode_books::{Books, Commit, Refused, SettledRound};
use motherlode_log::{Position, ReadError, Reader, Store, hash};
use motherlode_proto::convert::{Malformed, record};
use parking_lot::RwLock;
use std::{
    path::Path,
    sync::{Arc, atomic::AtomicBool, mpsc::sync_channel},
    thread,
};
use tokio::sync::{mpsc, watch};

/// Groups that the projector may be behind before the writer waits for it.
const PROJECTIONS_MAX: usize = 1024;

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
        /// What is wrong.
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
    /// The log is shorter than the index knows it to have been: acknowledged commits are missing.
    #[error(
        "the log ends at position {end}, but commits up to {held} were acknowledged; delete the index to accept the loss"
    )]
    Shortened {
        /// Where the log ends.
        end: Position,
        /// What the index held.
        held: Position,
    },
    /// The index cannot be used even when it's made anew.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// A thread could not be started.
    #[error("no thread for the {0}")]
    Thread(&'static str, #[source] std::io::Error),
}

/// Opens the ledger on a store, with its index in a folder that may be missing, stale or damaged.
///
/// # Errors
/// [`OpenError`] says what and where; nothing is served then.
pub fn open(store: Box<dyn Store>, index_folder: &Path, options: Options) -> Result<Handle, OpenError> {
    let reader = store.reader();
    let end = Held { position: store.end(), hash: store.head() };
    let (index, mark) = open_index(&*reader, index_folder)?;
    let (books, requests) = replay(&*reader, &index, mark.position)?;
    if mark != end {
        index.sync(end)?;
    }
    let time_ms = books.end(store.partition()).time_ms;
    let shared = Arc::new(Shared {
        partition: store.partition(),
        books: RwLock::new(books),
        reader,
        index,
        requests: RwLock::new(requests),
        recent: RwLock::default(),
        head: watch::Sender::new(end),
        decisions: watch::Sender::new(()),
        writable: AtomicBool::new(true),
        clock: options.clock,
        answer_wait_max: options.answer_wait_max,
        change_lapse_ms: options.change_lapse_ms,
    });
    let (sender, inbox) = mpsc::channel(options.queue_length_max);
    let (projector, projections) = sync_channel(PROJECTIONS_MAX);
    let projecting = Arc::clone(&shared);
    let spawn = |name, body: Box<dyn FnOnce() + Send>| {
        thread::Builder::new().name(name).spawn(body).map_err(|source| OpenError::Thread("ledger", source))
    };
    let projecting = spawn("projector".into(), Box::new(move || projector::run(&projecting, &projections)))?;
    let writer = Writer {
        store,
        shared: Arc::clone(&shared),
        inbox,
        projector,
        batch_commits_max: options.batch_commits_max,
        appends: motherlode_runtime::Appends::new(),
        time_ms,
    };
    let writing = spawn("writer".into(), Box::new(move || writer.run()))?;
    Ok(Handle::new(shared, sender, [writing, projecting]))
}

/// The index with the mark that the log confirms; made anew where it is damaged or of another log.
fn open_index(reader: &dyn Reader, folder: &Path) -> Result<(Index, Held), OpenError> {
    const NOTHING: Held = Held { position: 0, hash: [0; 32] };
    match Index::open(folder) {
        Ok(index) => match index.held() {
            Some(held) if held.position > reader.end() => {
                return Err(OpenError::Shortened { end: reader.end(), held: held.position });
            }
            Some(held) if record_hash(reader, held.position)? == Some(held.hash) => return Ok((index, held)),
            Some(held) => tracing::warn!(held.position, "the index is of another log: rebuilding it"),
            None => tracing::info!("no index, or none that is sure: building it"),
        },
        Err(error) => tracing::warn!(%error, "the index does not open: rebuilding it"),
    }
    Index::delete(folder)?;
    Ok((Index::open(folder)?, NOTHING))
}

fn record_hash(reader: &dyn Reader, position: Position) -> Result<Option<[u8; 32]>, ReadError> {
    if position == 0 {
        return Ok(None);
    }
    Ok(reader.read(position, 1, usize::MAX)?.first().map(|record| hash(&record.bytes)))
}

/// Folds the whole log, and puts what is past the mark into the index.
fn replay(reader: &dyn Reader, index: &Index, mark: Position) -> Result<(Books, Requests), OpenError> {
    const BYTES: usize = 4 << 20;
    let (mut books, mut requests, mut balances) = (Books::default(), Requests::default(), Balances::default());
    let mut next = 1;
    loop {
        let records = reader.read(next, usize::MAX, BYTES)?;
        let Some(last) = records.last() else { break };
        next = last.position + 1;
        let mut unmarked = vec![];
        for stored in &records {
            let position = stored.position;
            let logged = record::decode(&stored.bytes).map_err(|source| OpenError::Malformed { position, source })?;
            let commit = &logged.commit;
            match books.apply(commit) {
                Err(Refused::RecallNeeded { round }) => {
                    let recalled = recall(reader, commit, round)?;
                    books.apply_recalling(commit, recalled.as_ref())
                }
                applied => applied,
            }
            .map_err(|source| OpenError::Refused { position, source })?;
            requests.insert(requests.name(&commit.stream, &commit.request_id), position);
            if position > mark {
                balances.note(&logged);
                unmarked.push(logged);
            }
        }
        index.put(unmarked.iter().map(|logged| &logged.commit))?;
    }
    balances.put(index)?;
    Ok((books, requests))
}

/// The settled round that a commit voids, from the log before it.
fn recall(reader: &dyn Reader, void: &Commit, round: u64) -> Result<Option<SettledRound>, OpenError> {
    let fetch = |position| {
        let stored = reader.read(position, 1, usize::MAX)?;
        let stored = stored.first().ok_or(OpenError::Refused { position, source: Refused::RecallNeeded { round } })?;
        let decoded = record::decode(&stored.bytes).map_err(|source| OpenError::Malformed { position, source });
        Ok::<_, OpenError>(Arc::new(decoded?))
    };
    let commits = rounds::walk_back(fetch, fetch(void.previous)?, round)?;
    Ok(SettledRound::recall(round, commits.iter().rev().map(|logged| &logged.commit)))
}
