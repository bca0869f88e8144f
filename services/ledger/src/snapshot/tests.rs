//! The version of the state: what the logs with every event are folded to, as it is serialized.

use super::*;
use crate::{recovery::fold, requests::Key};
use motherlode_log::{MemoryStore, Store};
use motherlode_testkit::{
    digests,
    logs::{self, Log},
};

/// A snapshot's body after the first records of a log, with images whose digests it names.
fn body(log: &Log, records: usize) -> Vec<u8> {
    let (folder, key) = (tempfile::tempdir().unwrap(), Key([7; 16]));
    let mut store = MemoryStore::new(log.partition);
    store.append(0, &log.records).unwrap();
    let reader = store.reader();
    let (mut books, mut names) = (Books::new(), vec![]);
    books.watch();
    for (record, logged) in log.records.iter().zip(log.commits()).take(records) {
        fold(&*reader, &mut books, &logged.commit, motherlode_log::hash(record)).unwrap();
        names.push(key.name(&logged.commit.stream, &logged.commit.request_id));
    }
    let images = Images::keyed(folder.path(), log.partition, key);
    let (mut frozen, mut written) = (books.freeze(), Written::default());
    each_once(&mut frozen);
    images.write_frozen(&frozen, || &books, &mut written).unwrap();
    postcard::to_allocvec(&(&books, Tail::new(0, names), images.named(&written))).unwrap()
}

#[test]
fn state_version_the_state_is_that_of_its_version() {
    let digest = |log: &Log| (log.name.clone(), digests::digest(&body(log, log.records.len())));
    digests::check("state.digests", "STATE_VERSION", STATE_VERSION, &logs::all().iter().map(digest).collect());
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
        let images = Images::keyed(folder, 0, Key([7; 16]));
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
        let header = Header { version, partition: 0, position: log.records.len() as u64, hash: [1; 32] };
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
