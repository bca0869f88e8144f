use super::*;
use crate::{players::key, recovery::fold};
use motherlode_log::{MemoryStore, Store};
use motherlode_testkit::{
    digests,
    logs::{self, Log},
    shape::Shape,
};

const KEY: Key = Key([7; 16]);

fn folded(log: &Log, records: usize, mut each: impl FnMut(&Books)) -> Books {
    let mut store = MemoryStore::new(log.partition);
    store.append(0, &log.records).unwrap();
    let reader = store.reader();
    let mut books = Books::new();
    books.watch();
    for (record, logged) in log.records.iter().zip(log.commits()).take(records) {
        fold(&*reader, &mut books, &logged.commit, motherlode_log::hash(record)).unwrap();
        each(&books);
    }
    books
}

fn body(log: &Log, records: usize) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let mut books = folded(log, records, |_| ());
    let players = Players::new(&views(folder.path(), log.partition), usize::MAX);
    let (mut frozen, mut written) = (books.freeze(), Written::default());
    each_once(&mut frozen);
    players.write_frozen(&frozen, records as u64, || &books, &mut written).unwrap();
    postcard::to_allocvec(&(None::<Hash>, KEY, &books, players.tables(&written))).unwrap()
}

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

// A log can contain digests of its state (bases), and later builds must compute the same digests.
#[test]
fn pl_37_the_digests_of_states_never_change() {
    let mut all = digests::Digests::new();
    for log in logs::all() {
        let hex = |digest: [u8; 32]| motherlode_proto::convert::play::hex(&digest);
        folded(&log, log.records.len(), |books| _ = all.insert(log.name.clone(), hex(books.digest().unwrap())));
    }
    digests::check("base.digests", "StateDigest::FORM", motherlode_state::StateDigest::FORM, &all);
}

/// If a field were empty in all test logs, a change of its encoding would go unnoticed.
#[test]
fn state_version_every_field_of_the_state_has_a_value_in_some_log() {
    let mut shape = Shape::default();
    for log in logs::all() {
        folded(&log, log.records.len(), |books| {
            shape.note(books);
            books.players().for_each(|(_, _, player)| shape.note(player));
        });
    }
    let empty: Vec<_> = shape.empty().into_iter().filter(|field| !field.starts_with("PoolRetired.")).collect();
    assert_eq!(empty, [] as [&str; 0], "add a log in which these fields have values to tests/kit/src/logs");
}

#[test]
fn state_version_another_state_has_another_digest() {
    for log in logs::all() {
        let all = log.records.len();
        assert_ne!(body(&log, all), body(&log, all - 1), "{}", log.name);
        assert_eq!(body(&log, all), body(&log, all), "{}", log.name);
    }
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let tables = |folder: &Path, rounds_started| {
        let players = Players::new(&views(folder, 0), usize::MAX);
        let mut state = motherlode_state::PlayerState::default();
        state.rounds_started = rounds_started;
        let mut written = Written::default();
        players.write(vec![(key("acme", "ann"), Arc::new(state))], 1, &mut written).unwrap();
        players.tables(&written)
    };
    assert_ne!(tables(one.path(), 1), tables(other.path(), 2));
}

#[test]
fn state_version_only_snapshots_of_this_version_are_used() {
    let log = &logs::golden()[0];
    let folder = tempfile::tempdir().unwrap();
    let mut store = MemoryStore::new(0);
    store.append(0, &log.records).unwrap();
    let reader = store.reader();
    let views = views(folder.path(), 0);
    let state = postcard::to_allocvec(&(None::<Hash>, KEY, Books::new()));
    let players = Players::new(&views, 9).tables(&Written::default());
    let checkpoint = |state_version, hash| Checkpoint {
        sequence: 0,
        partition: 0,
        position: 3,
        hash,
        keyspaces: vec![players.clone()],
        state_version,
        state: state.clone().unwrap(),
    };
    let read = |checkpoint| Snapshot::read(&*reader, &views, 9, &checkpoint).map(|_| ());
    let hash = record_hash(&*reader, 3).unwrap().unwrap();
    assert!(read(checkpoint(STATE_VERSION, hash)).is_ok());
    for version in [STATE_VERSION + 1, STATE_VERSION - 1, 0] {
        assert!(matches!(read(checkpoint(version, hash)), Err(Unusable::OtherVersion)), "{version}");
    }
    assert!(matches!(read(checkpoint(STATE_VERSION, [1; 32])), Err(Unusable::OtherLog)));
    let without = Checkpoint { keyspaces: vec![], ..checkpoint(STATE_VERSION, hash) };
    assert!(matches!(read(without), Err(Unusable::Players(_))));
    let damaged = Checkpoint { state: vec![9; 3], ..checkpoint(STATE_VERSION, hash) };
    assert!(matches!(read(damaged), Err(Unusable::Damaged)));
}
