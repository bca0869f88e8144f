//! The applier: applies records that another process has written. They are verified, folded and made visible, as the
//! writer's own commits are.

use crate::{
    chain::verify,
    error::{FetchError, OpenError},
    index::Held,
    requests::Name,
    rounds,
    shared::{Handed, Shared},
};
use bytes::Bytes;
use motherlode_books::{Books, Commit, Event, Refused, SettledRound, Stage, StreamId};
use motherlode_log::{Hash, Reader, Record};
use motherlode_proto::convert::record::{self, Logged};
use parking_lot::RwLockReadGuard;
use std::sync::{Arc, mpsc::SyncSender};

/// A ledger's state, and the parts that apply further records to it.
pub(crate) struct Applier {
    pub(crate) shared: Arc<Shared>,
    pub(crate) projector: SyncSender<Handed>,
}

impl Applier {
    /// Applies records that continue the state. If one can't be applied, some before it may have been.
    pub(crate) fn apply(&self, records: impl IntoIterator<Item = Bytes>) -> Result<(), OpenError> {
        let mut group = Group::after(*self.shared.head.borrow());
        for bytes in records {
            let record = Record { position: group.held.position + 1, bytes };
            let position = record.position;
            let hash = verify(group.held.hash, std::slice::from_ref(&record))?;
            let logged = record::decode(&record.bytes).map_err(|source| OpenError::Malformed { position, source })?;
            let mut staged = self.stage(&mut group.stage, &logged.commit, hash)?;
            if staged.is_err() && !group.logged.is_empty() {
                // Whoever wrote it rested on what was durable by then, which may be among these very records.
                group = self.publish(group);
                staged = self.stage(&mut group.stage, &logged.commit, hash)?;
            }
            staged.map_err(|source| OpenError::Refused { position, source })?;
            group.sizes.push(record.bytes.len());
            group.names.push(self.shared.requests.name(&logged.commit.stream, &logged.commit.request_id));
            group.logged.push(Arc::new(logged));
            group.held = Held { position, hash };
        }
        self.publish(group);
        Ok(())
    }

    /// Adds a commit to a stage over the books, with its record's hash and what it recalls.
    fn stage(&self, stage: &mut Stage, commit: &Commit, hash: Hash) -> Result<Result<(), Refused>, OpenError> {
        // Locked once a commit: to recall a round may take a while, and readers are not to wait for it.
        let applied = stage.apply_recorded(&*self.books_with(&commit.stream)?, commit, None, |_| hash);
        let Err(Refused::RecallNeeded { round }) = applied else { return Ok(applied) };
        let recalled = recall(&*self.shared.reader, commit, round)?;
        let books = self.books_with(&commit.stream)?;
        Ok(stage.apply_recorded(&books, commit, recalled.as_ref(), |_| hash))
    }

    fn books_with(&self, stream: &StreamId) -> Result<RwLockReadGuard<'_, Books>, OpenError> {
        self.shared.books_with(stream).map_err(|error| match error {
            FetchError::Player(error) => OpenError::Player(error),
            other => OpenError::Origin(other.to_string()),
        })
    }

    /// Makes a group visible; the next one comes after it.
    fn publish(&self, group: Group) -> Group {
        let Group { mut stage, logged, sizes, names, held } = group;
        if !logged.is_empty() {
            self.shared.publish(&mut stage, &logged, sizes.into_iter(), &names, held);
            // Where it's behind, or gone, it reads the log.
            let _ = self.projector.try_send(Handed { logged });
        }
        Group::after(held)
    }
}

/// Commits that become visible together.
struct Group {
    stage: Stage,
    logged: Vec<Arc<Logged>>,
    /// The bytes of their records.
    sizes: Vec<usize>,
    names: Vec<Name>,
    /// The last of them, or what they come after.
    held: Held,
}

impl Group {
    fn after(held: Held) -> Self {
        Self { stage: Stage::new(), logged: vec![], sizes: vec![], names: vec![], held }
    }
}

/// Settled round of a void: the stated one, checked by its writer, or the one in the log before it.
pub(crate) fn recall(reader: &dyn Reader, void: &Commit, round: u64) -> Result<Option<SettledRound>, OpenError> {
    let stated = void.events.iter().find_map(|event| match event {
        Event::RoundVoided { round: of, settled: Some(settled), .. } if *of == round => Some(settled),
        _ => None,
    });
    if let Some(settled) = stated {
        return Ok(Some((**settled).clone()));
    }
    let fetch = |position| {
        let stored = reader.read(position, 1, usize::MAX)?;
        let stored = stored.first().ok_or_else(|| OpenError::Chain(format!("it has no record {position}")))?;
        let decoded = record::decode(&stored.bytes).map_err(|source| OpenError::Malformed { position, source });
        Ok::<_, OpenError>(Arc::new(decoded?))
    };
    let commits = rounds::walk_back(fetch, fetch(void.previous)?, round)?;
    Ok(SettledRound::recall(round, commits.iter().rev().map(|logged| &logged.commit)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{options::Options, recovery};
    use motherlode_log::{LogStart, MemoryStore, Position, ReadError, Store, genesis, hash};
    use motherlode_testkit::logs::{self, Log};
    use std::{
        collections::BTreeSet,
        sync::atomic::{AtomicU64, Ordering},
    };

    /// A log without a readable record: those below this position are archived.
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

    /// Number of voids of settled rounds: with the round, and without it as in older logs.
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

    /// The books of a log, folded as a start does.
    fn folded(log: &Log, reader: &dyn Reader) -> Result<Books, OpenError> {
        let mut books = Books::new();
        for (logged, bytes) in log.commits().iter().zip(&log.records) {
            recovery::fold(reader, &mut books, &logged.commit, hash(bytes))?;
        }
        Ok(books)
    }

    /// The books after records from another process.
    fn applied(log: &Log) -> Result<Books, OpenError> {
        let (folder, options) = (tempfile::tempdir().unwrap(), Options::default());
        let (index, reader) = (folder.path().join("index"), Arc::new(Archive(AtomicU64::new(1))));
        let first = Held { position: 0, hash: genesis(log.partition) };
        let recovered = recovery::Recovered::recover(log.partition, reader.clone(), first, &index, &options)?;
        reader.0.store(Position::MAX, Ordering::Relaxed);
        let applied = recovered.applier.apply(log.records.iter().cloned());
        let books = recovered.applier.shared.books.read().clone();
        recovered.close();
        applied.map(|()| books)
    }

    /// PL-37: the fold of a void with its settled round does not read the past; voids of older logs need the records.
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
