//! Recovers a ledger: applies the records after the latest [snapshot](crate::snapshot).
//!
//! The start fails if the books refuse a commit. If the log is not verified yet, the hash chain of the applied records
//! is verified as they are read, and the [verifier](crate::verifier) verifies the whole log in the background.

use crate::{
    appender::Appender,
    applier::Applier,
    chain::{ChainHead, record_hash, verify},
    core::{LedgerCore, TAIL_GROUPS},
    error::OpenError,
    follower_views::FollowerViews,
    handle::{Desk, Handle, Way},
    index::Index,
    options::Options,
    provenance::Provenance,
    readers::Readers,
    requests::Requests,
    snapshot::{Snapshot, SnapshotWriter, Snapshots, views},
    standing::{Standing, Standings},
    threads::Threads,
    time::LogTime,
    verifier::{TELL_EVERY, Verification, Verifier},
    walk::recall,
    watch::Watch,
    writer::Writer,
};
use motherlode_log::{Hash, Position, ReadError, Reader, Store, hash, previous_hash};
use motherlode_proto::convert::record;
use motherlode_state::{Books, Commit, Refused};
use motherlode_views::ViewError;
use parking_lot::{Mutex, RwLock};
use std::{
    fs,
    path::Path,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64},
        mpsc::channel,
    },
    thread::JoinHandle,
    time::Instant,
};
use tokio::sync::{broadcast, watch};

/// State that a standby recovered from a log while another process wrote the log. When this process becomes the writer,
/// it has to apply only the missing records.
pub struct Recovered {
    pub(crate) applier: Applier,
    pub(crate) keeping: JoinHandle<()>,
}

impl Recovered {
    pub fn recover(
        partition: u32,
        reader: Arc<dyn Reader>,
        end: ChainHead,
        index_folder: &Path,
        options: &Options,
    ) -> Result<Self, OpenError> {
        recover(partition, reader, end, None, index_folder, options, || Ok(()))
    }

    #[must_use]
    pub fn partition(&self) -> u32 {
        self.applier.shared.partition
    }

    #[must_use]
    pub fn position(&self) -> Position {
        self.applier.shared.durable()
    }

    /// Applies the missing records. An [`OpenError::Read`] may be temporary; any other error means that the store
    /// contains a different log.
    pub fn catch_up(&self) -> Result<(), OpenError> {
        const BYTES: usize = 4 << 20;
        loop {
            let records = self.applier.shared.reader.read(self.position() + 1, usize::MAX, BYTES)?;
            if records.is_empty() {
                return Ok(());
            }
            self.applier.apply(records.into_iter().map(|record| record.bytes))?;
        }
    }

    pub(crate) fn is_for(&self, store: &dyn Store) -> Result<bool, OpenError> {
        let shared = &self.applier.shared;
        let ChainHead { position, hash } = *shared.head.borrow();
        let same = shared.partition == store.partition() && Arc::ptr_eq(&shared.reader, &store.reader());
        let takes = *shared.standings.borrow() == Standing::Takes;
        Ok(same && takes && (position == 0 || record_hash(&*shared.reader, position)? == Some(hash)))
    }

    pub(crate) fn write(self, store: Box<dyn Store>, options: Options) -> Result<Handle, OpenError> {
        let Self { applier: Applier { shared, snapshots }, keeping } = self;
        let verifier = match shared.books.read().is_log_damaged() {
            true => {
                verify_all(&*store, &shared)?;
                None
            }
            false => unread(&*store, &shared)?,
        };
        let writer = Arc::new(Writer::new(Arc::clone(&shared), snapshots, &options));
        let appends = motherlode_runtime::Appends::new();
        let authority = store.authority();
        if let Some(authority) = &authority {
            let _ = shared.authority.set(Arc::clone(authority));
        }
        let watch = Watch { writer: Arc::clone(&writer), authority, silence_max: options.silence_max };
        let appender = Appender { store, writer: Arc::clone(&writer), appends };
        let threads = shared.threads.clone();
        let ((open, closed), (watched, unwatched)) = (channel::<()>(), channel::<()>());
        let verifying =
            verifier.map(|verifier| spawn(&threads, "verifier", move || verifier.run(&closed))).transpose()?;
        let watching = spawn(&threads, "watch", move || watch.run(&unwatched))?;
        let appending = spawn(&threads, "appender", move || {
            motherlode_runtime::short_slices();
            appender.run();
            drop((open, watched));
        })?;
        let threads = [appending, keeping, watching].into_iter().chain(verifying).collect();
        Ok(Handle::new(shared, Way::Here(Arc::new(Desk(writer))), &options, threads))
    }

    pub fn close(self) {
        let Self { applier: Applier { shared, snapshots }, keeping } = self;
        drop(snapshots);
        if keeping.join().is_err() {
            tracing::error!("a thread of the ledger panicked");
        }
        shared.close();
    }
}

fn verify_all(store: &dyn Store, shared: &LedgerCore) -> Result<(), OpenError> {
    let ChainHead { position, hash } = *shared.head.borrow();
    let (partition, reader) = (shared.partition, Arc::clone(&shared.reader));
    tracing::warn!(partition, position, "the log was found damaged earlier: verifying all of it before serving");
    let progress = Arc::new(watch::Sender::new(Verification::new(position)));
    let verifier = Verifier { partition, reader, start: store.start(), last: hash, progress };
    // Keeps the channel open, because the verifier stops when it is closed.
    let (_open, closed) = channel();
    verifier.verify(position, &closed).map(drop).map_err(|source| OpenError::Damaged { source: Box::new(source) })
}

fn unread(store: &dyn Store, shared: &LedgerCore) -> Result<Option<Verifier>, OpenError> {
    let (unread, reader) = (store.unread(), Arc::clone(&shared.reader));
    if unread == 0 {
        return Ok(None);
    }
    let after = reader.read(unread + 1, 1, 0)?.first().and_then(|record| previous_hash(&record.bytes));
    shared.verification.send_replace(Verification::new(unread));
    let progress = Arc::clone(&shared.verification);
    let (partition, last) = (shared.partition, after.unwrap_or_else(|| store.head()));
    Ok(Some(Verifier { partition, reader, start: store.start(), last, progress }))
}

/// If the hash chain must be verified, `first` is the hash before the log's first record; otherwise it is `None`.
/// `settle`, which makes the log durable, is called after the last check that can refuse the log and before a snapshot
/// is written.
pub(crate) fn recover(
    partition: u32,
    reader: Arc<dyn Reader>,
    end: ChainHead,
    first: Option<Hash>,
    index_folder: &Path,
    options: &Options,
    settle: impl FnOnce() -> Result<(), OpenError>,
) -> Result<Recovered, OpenError> {
    let store = views(index_folder, partition);
    let archived = |error| match error {
        OpenError::Read(ReadError::Archived { first, .. }) => OpenError::Archived(first),
        error => error,
    };
    let mut snapshot = Snapshot::open(&*reader, &store, options.players_max).map_err(archived)?;
    if reader.first() > 1 {
        if snapshot.head().is_none_or(|head| head.position < reader.first()) {
            return Err(OpenError::Archived(reader.first()));
        }
        store.need_checkpoint();
    }
    // If a later start finds this folder but no log on JetStream, it does not create a new log.
    let folder = store.folder();
    fs::create_dir_all(folder).map_err(|source| OpenError::Folder { folder: folder.to_owned(), source })?;
    snapshot.books.watch();
    let players = Arc::clone(&snapshot.players);
    let threads = Threads::default();
    let (check, program) = (snapshot.check(partition, &reader), snapshot.program);
    let checkpoint = snapshot.checkpoint.as_ref();
    let requests =
        Requests::open(&store, checkpoint.map(|(key, of)| (*key, of)), &reader, options).map_err(archived)?;
    let tables = Tables {
        requests: Arc::new(requests),
        index: Arc::new(Index::open(&store, checkpoint.map(|(_, of)| of), &reader).map_err(archived)?),
    };
    let follower_views = FollowerViews::new(&store, checkpoint.map(|(_, of)| of));
    let (books, rests_on) = replay(&*reader, snapshot, &tables, first.map(|first| (first, end)))?;
    let check = check.filter(|_| rests_on.position > 0);
    let provenance = Arc::new(Provenance::new(check.is_some().then_some(program)));
    let mut snapshots = SnapshotWriter::new(
        &store,
        index_folder,
        options.snapshot_commits,
        rests_on.position,
        Arc::clone(&players),
        Arc::clone(&provenance),
    );
    settle()?;
    let (clock, ticks) = (Arc::clone(&options.clock), Arc::clone(&options.ticks));
    let time = LogTime::new(clock, ticks, books.end(partition).time_ms);
    let shared = Arc::new(LedgerCore {
        partition,
        books: RwLock::new(books),
        rests_on,
        snapshot: AtomicU64::new(rests_on.position),
        provenance,
        players,
        reader,
        index: tables.index,
        requests: tables.requests,
        follower_views,
        recent: RwLock::default(),
        head: watch::Sender::new(end),
        decisions: watch::Sender::new(()),
        awards: watch::Sender::new(()),
        readers: Readers::default(),
        hashes: Mutex::default(),
        tail: broadcast::Sender::new(TAIL_GROUPS),
        standings: Standings::new(partition),
        authority: OnceLock::new(),
        verification: Arc::default(),
        time,
        answer_wait_max: options.answer_wait_max,
        change_lapse_ms: options.change_lapse_ms,
        draws: options.draws.clone(),
        threads: threads.clone(),
        page: OnceLock::new(),
        followed: AtomicBool::new(false),
    });
    snapshots.keep_at_rest(&shared);
    let (snapshots, keeping) = Snapshots::start(snapshots, Arc::clone(&shared), check)?;
    Ok(Recovered { applier: Applier { shared, snapshots }, keeping })
}

struct Tables {
    requests: Arc<Requests>,
    index: Arc<Index>,
}

pub(crate) fn spawn(
    threads: &Threads,
    name: &'static str,
    body: impl FnOnce() + Send + 'static,
) -> Result<JoinHandle<()>, OpenError> {
    threads.spawn(name, body).map_err(|source| OpenError::Thread(name, source))
}

/// Returns the books and the snapshot's last record. If the snapshot's tables are damaged, the snapshot is not used.
fn replay(
    reader: &dyn Reader,
    snapshot: Snapshot,
    tables: &Tables,
    chain: Option<(Hash, ChainHead)>,
) -> Result<(Books, ChainHead), OpenError> {
    let (players, rests_on) = (Arc::clone(&snapshot.players), snapshot.head().unwrap_or(ChainHead::NOTHING));
    match replay_past(reader, snapshot, tables, chain) {
        Err(OpenError::View(error)) if rests_on.position > 0 && reader.first() <= 1 => {
            tracing::warn!(%error, "the snapshot is unusable: replaying the whole log");
            players.forget();
            let mut books = Books::new();
            books.watch();
            let nothing = Snapshot { books, players, checkpoint: None, program: None };
            Ok((replay_past(reader, nothing, tables, chain)?, ChainHead::NOTHING))
        }
        books => Ok((books?, rests_on)),
    }
}

impl Tables {
    fn write_replayed(&self) -> Result<(), ViewError> {
        self.requests.write_replayed()?;
        self.index.write_replayed()
    }

    fn ids(&self) -> Vec<Hash> {
        [self.requests.ids(), self.index.ids()].concat()
    }
}

fn replay_past(
    reader: &dyn Reader,
    snapshot: Snapshot,
    tables: &Tables,
    chain: Option<(Hash, ChainHead)>,
) -> Result<Books, OpenError> {
    const BYTES: usize = 4 << 20;
    let folded = snapshot.head().unwrap_or(ChainHead::NOTHING);
    let Snapshot { mut books, players, .. } = snapshot;
    let (mut unloads, mut writes) = (true, true);
    let mut chain = chain.map(|(first, end)| (if folded.position == 0 { first } else { folded.hash }, end));
    let mut next = folded.position + 1;
    if folded.position < reader.end() {
        let (snapshot, end) = (folded.position, reader.end());
        tracing::info!(snapshot, end, "replaying the log from the snapshot to the log's end");
    } else if reader.end() == 0 {
        tracing::info!("the log is empty: starting a new log");
    }
    let mut told = Instant::now();
    loop {
        let records = reader.read(next, usize::MAX, BYTES)?;
        let Some(last) = records.last() else { break };
        next = last.position + 1;
        if told.elapsed() >= TELL_EVERY {
            told = Instant::now();
            tracing::info!(position = last.position, end = reader.end(), "still replaying the log");
        }
        if let Some((head, _)) = &mut chain {
            *head = verify(*head, &records)?;
        }
        for (index, stored) in records.iter().enumerate() {
            let position = stored.position;
            let logged = record::decode(&stored.bytes).map_err(|source| OpenError::Malformed { position, source })?;
            let stream = &logged.commit.stream;
            if books.head(stream).version == 0
                && players.may_contain(stream)
                && let Some(state) = players.find(stream)?
            {
                players.load(&mut books, stream, state);
            }
            let named = records.get(index + 1).and_then(|next| previous_hash(&next.bytes));
            let hash = named.unwrap_or_else(|| hash(&stored.bytes));
            fold(reader, &mut books, &logged.commit, hash)?;
            // The tables may contain this commit already, because they can be ahead of the snapshot's books.
            if position > tables.requests.to() {
                tables.requests.push(&[tables.requests.name(&logged.commit.stream, &logged.commit.request_id)]);
            }
            if position > tables.index.to() {
                tables.index.note([(&logged.commit, hash)].into_iter());
            }
        }
        writes = writes
            && tables
                .write_replayed()
                .inspect_err(|error| {
                    tracing::warn!(%error, "failed to write tables of requests or of the index: their entries stay in memory until the replay ends");
                })
                .is_ok();
        if unloads && players.wants_snapshot(&books) {
            unloads = players.unload(&mut books, next - 1, &tables.ids()).inspect_err(|error| {
                tracing::warn!(%error, "failed to write players' states: all players stay in memory until the replay ends");
            }).is_ok();
        }
    }
    match chain {
        Some((head, end)) if (next - 1, head) != (end.position, end.hash) => Err(OpenError::Chain(format!(
            "the last replayed record, at position {}, is not the record at the log's end, position {}",
            next - 1,
            end.position
        ))),
        _ => Ok(books),
    }
}

pub(crate) fn fold(reader: &dyn Reader, books: &mut Books, commit: &Commit, hash: Hash) -> Result<(), OpenError> {
    match books.apply_recorded(commit, None, hash) {
        Err(Refused::RecallNeeded { round }) => {
            let recalled = recall(reader, commit, round)?;
            books.apply_recorded(commit, recalled.as_ref(), hash)
        }
        applied => applied,
    }
    .map_err(|source| OpenError::Refused { position: commit.position, source })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;
    use motherlode_log::{LogStart, MemoryStore, ReadError, Record, genesis};
    use motherlode_proto::convert::record::Logged;
    use motherlode_state::Event;
    use motherlode_testkit::logs::{self, Log};
    use std::{
        collections::BTreeSet,
        sync::atomic::{AtomicU64, Ordering},
    };

    struct Archive(AtomicU64);

    impl Reader for Archive {
        fn first(&self) -> Position {
            1
        }

        fn end(&self) -> Position {
            0
        }

        fn read(&self, position: Position, _: usize, _: usize) -> Result<Vec<Record>, ReadError> {
            LogStart { first: self.0.load(Ordering::Relaxed), previous: [0; 32] }.check(position).map(|()| vec![])
        }
    }

    fn voids(log: &Log) -> (usize, usize) {
        let (mut settled, mut stated, mut unstated) = (BTreeSet::new(), 0, 0);
        for Logged { commit, .. } in log.commits() {
            for event in commit.events {
                match event {
                    Event::RoundSettled { round, .. } => _ = settled.insert((commit.stream.to_string(), round)),
                    Event::RoundVoided { settled: Some(_), .. } => stated += 1,
                    Event::RoundVoided { round, .. } if settled.contains(&(commit.stream.to_string(), round)) => {
                        unstated += 1;
                    }
                    _ => {}
                }
            }
        }
        (stated, unstated)
    }

    fn folded(log: &Log, reader: &dyn Reader) -> Result<Books, OpenError> {
        let mut books = Books::new();
        for (logged, bytes) in log.commits().iter().zip(&log.records) {
            fold(reader, &mut books, &logged.commit, hash(bytes))?;
        }
        Ok(books)
    }

    fn applied(log: &Log) -> Result<Books, OpenError> {
        let (folder, options) = (tempfile::tempdir().unwrap(), Options::default());
        let (index, reader) = (folder.path().join("index"), Arc::new(Archive(AtomicU64::new(1))));
        let first = ChainHead { position: 0, hash: genesis(log.partition) };
        let recovered = Recovered::recover(log.partition, reader.clone(), first, &index, &options)?;
        reader.0.store(Position::MAX, Ordering::Relaxed);
        let applied = recovered.applier.apply(log.records.iter().cloned());
        let books = recovered.applier.shared.books.read().clone();
        recovered.close();
        applied.map(|()| books)
    }

    /// A void written by an older version does not contain the settled round, so applying the void needs the earlier
    /// records.
    #[test]
    fn pl_37_a_void_that_states_its_round_is_folded_without_the_past() {
        let (mut with_facts, mut without) = (0, 0);
        for log in logs::all() {
            let mut store = MemoryStore::new(log.partition);
            store.append(0, &log.records).unwrap();
            let expected = folded(&log, &*store.reader()).unwrap();
            let (stated, unstated) = voids(&log);
            for result in [folded(&log, &Archive(AtomicU64::new(Position::MAX))), applied(&log)] {
                match result {
                    Ok(books) => assert!(unstated == 0 && books == expected, "{}", log.name),
                    Err(OpenError::Read(ReadError::Archived { .. })) => assert!(unstated > 0, "{}", log.name),
                    Err(error) => panic!("{}: {error}", log.name),
                }
            }
            with_facts += if unstated == 0 { stated } else { 0 };
            without += unstated;
        }
        assert!(with_facts > 3 && without > 0, "{with_facts} and {without}");
    }
}
