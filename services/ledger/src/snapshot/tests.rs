//! The version of the state: digests of the serialized state of logs with every event.

use super::*;
use crate::{recovery::fold, requests::Key};
use motherlode_log::{MemoryStore, Store};
use motherlode_testkit::{
    digests,
    logs::{self, Log},
    shape::Shape,
};

/// The key that [`Tail::new`] has.
const KEY: Key = Key([7; 16]);

/// The books after the first records of a log, and the names of the requests. `each` sees the books at every position.
fn folded(log: &Log, records: usize, mut each: impl FnMut(&Books)) -> (Books, Tail) {
    let mut store = MemoryStore::new(log.partition);
    store.append(0, &log.records).unwrap();
    let reader = store.reader();
    let (mut books, mut names) = (Books::new(), vec![]);
    books.watch();
    for (record, logged) in log.records.iter().zip(log.commits()).take(records) {
        fold(&*reader, &mut books, &logged.commit, motherlode_log::hash(record)).unwrap();
        names.push(KEY.name(&logged.commit.stream, &logged.commit.request_id));
        each(&books);
    }
    (books, Tail::new(0, names))
}

/// A snapshot's body after the first records of a log, with images whose digests it names.
fn body(log: &Log, records: usize) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let (mut books, tail) = folded(log, records, |_| ());
    let images = Images::keyed(folder.path(), log.partition, KEY);
    let (mut frozen, mut written) = (books.freeze(), Written::default());
    each_once(&mut frozen);
    images.write_frozen(&frozen, || &books, &mut written).unwrap();
    postcard::to_allocvec(&(&books, tail, images.named(&written))).unwrap()
}

/// The serialized state at every position of a log, and the snapshot's body at its end.
fn states(log: &Log) -> Vec<u8> {
    let mut states = vec![];
    folded(log, log.records.len(), |books| {
        states.extend(postcard::to_allocvec(books).unwrap());
        states.extend(books.players().flat_map(|player| postcard::to_allocvec(&player).unwrap()));
    });
    [states, body(log, log.records.len())].concat()
}

#[test]
fn state_version_the_state_is_that_of_its_version() {
    let digest = |log: &Log| (log.name.clone(), digests::digest(&states(log)));
    digests::check("state.digests", "STATE_VERSION", STATE_VERSION, &logs::all().iter().map(digest).collect());
}

/// The serialization of a field could change without changing a digest if the field were empty in all logs.
#[test]
fn state_version_every_field_of_the_state_has_a_value_in_some_log() {
    let mut shape = Shape::default();
    for log in logs::all() {
        folded(&log, log.records.len(), |books| {
            shape.note(books);
            books.players().for_each(|(_, _, player)| shape.note(player));
        });
    }
    // A proposed retirement is without its figures.
    let empty: Vec<_> = shape.empty().into_iter().filter(|field| !field.starts_with("PoolRetired.")).collect();
    assert_eq!(empty, [] as [&str; 0], "add a log with a value of them to tests/kit/src/logs");
}

/// The digests can differ: each record of a log counts, and so do the players' images.
#[test]
fn state_version_another_state_has_another_digest() {
    for log in logs::all() {
        let all = log.records.len();
        assert_ne!(body(&log, all), body(&log, all - 1), "{}", log.name);
        assert_eq!(body(&log, all), body(&log, all), "{}", log.name);
    }
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let named = |folder: &Path, rounds_started| {
        let images = Images::keyed(folder, 0, KEY);
        let mut state = motherlode_books::PlayerState::default();
        state.rounds_started = rounds_started;
        let changed = crate::images::Changed { operator: "acme".into(), player: "ann".into(), state: Arc::new(state) };
        let mut written = Written::default();
        images.write(vec![changed], &mut written).unwrap();
        postcard::to_allocvec(&images.named(&written)).unwrap()
    };
    assert_ne!(named(one.path(), 1), named(other.path(), 2));
}

/// A snapshot of the same number is used by any build, and one of another number by none.
#[test]
fn state_version_only_snapshots_of_this_version_are_used() {
    let log = &logs::golden()[0];
    let sealed = |magic: &[u8], version| {
        let header = Header { version, program: None, partition: 0, position: log.records.len() as u64, hash: [1; 32] };
        let mut sealed = postcard::to_allocvec(&header).unwrap();
        sealed.extend(body(log, log.records.len()));
        [magic, &Sha256::digest(&sealed)[..], &sealed].concat()
    };
    assert!(decode(&sealed(&MAGIC, STATE_VERSION), 0).is_ok());
    for (magic, version) in [(&MAGIC, STATE_VERSION + 1), (&MAGIC, 0), (b"MLSNAP02", STATE_VERSION)] {
        assert!(matches!(decode(&sealed(magic, version), 0), Err(Unusable::OtherVersion)), "{version}");
    }
    assert!(matches!(decode(&sealed(&MAGIC, STATE_VERSION), 1), Err(Unusable::OtherPartition(0))));
}
