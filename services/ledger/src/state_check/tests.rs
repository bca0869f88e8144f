use super::*;
use crate::{
    players::{Changed, Players, Written, key},
    recovery::fold,
};
use motherlode_log::{Hash, LogStart, MemoryStore, Store, genesis};
use motherlode_proto::convert::record::{Logged, encode};
use motherlode_state::{Books, Currency, Event, Minor};
use motherlode_testkit::logs::{self, Log};
use std::cell::Cell;

const ANOTHER: Option<Hash> = Some([7; 32]);

fn reader(log: &Log) -> Arc<dyn Reader> {
    let mut store = MemoryStore::new(log.partition);
    store.append(0, &log.records).unwrap();
    store.reader()
}

fn books(log: &Log, records: u64) -> Books {
    let (reader, mut books) = (reader(log), Books::new());
    for record in reader.read(1, usize::try_from(records).unwrap(), usize::MAX).unwrap() {
        let commit = record::decode(&record.bytes).unwrap().commit;
        fold(&*reader, &mut books, &commit, hash(&record.bytes)).unwrap();
    }
    books
}

#[test]
fn mf_34_1_a_sample_is_folded_to_the_state_of_the_whole_fold() {
    for log in logs::all() {
        for bits in [0, 1] {
            let reader = reader(&log);
            let (mut sample, mut books) = (Sample { bits, ..Sample::new([3; 16]) }, Books::new());
            for record in reader.read(1, usize::MAX, usize::MAX).unwrap() {
                sample.take(&*reader, &record).unwrap();
                let commit = record::decode(&record.bytes).unwrap().commit;
                fold(&*reader, &mut books, &commit, hash(&record.bytes)).unwrap();
                let at = format!("{} at {}", log.name, record.position);
                for player in sample.players.values() {
                    assert_eq!(books.player(&player.stream), Some(&player.state), "{at}");
                }
                let expected =
                    books.players().filter(|(operator, name, _)| sample.has(&format!("player/{operator}/{name}")));
                assert_eq!(sample.players.len(), expected.count(), "{at}");
                let difference = sample.share.difference(&books.common(), |stream| sample.has(&stream.to_string()));
                assert_eq!(difference, None, "{at}");
            }
        }
    }
}

fn many(players: usize) -> Log {
    let (mut records, mut head) = (vec![], genesis(0));
    for number in 0..players {
        let (currency, amount) = (Currency::EUR, Minor(1 + i64::try_from(number).unwrap()));
        let commit = Commit {
            partition: 0,
            position: 1 + number as u64,
            stream: StreamId::player("acme", format!("p{number}")),
            version: 1,
            previous: 0,
            request_id: "open".into(),
            fingerprint: [0; 16],
            time_ms: 1,
            events: vec![Event::AccountOpened { currency }, Event::Deposited { currency, amount }],
        };
        let record = encode(
            &head,
            &Logged { commit, balances_after: vec![(currency, amount)], due_after: vec![], proposer: None },
        );
        head = hash(&record);
        records.push(record);
    }
    Log { name: "many".to_owned(), partition: 0, records }
}

#[test]
fn mf_34_1_the_sample_narrows_and_stays_within_its_bounds() {
    let players = 3 * PLAYERS_MIN;
    let log = many(players);
    let (reader, mut sample) = (reader(&log), Sample::new(rand_key()));
    for record in reader.read(1, usize::MAX, usize::MAX).unwrap() {
        sample.take(&*reader, &record).unwrap();
        assert!(sample.players.len() <= PLAYERS_MIN);
    }
    assert!(sample.bits > 0 && sample.players.len() > PLAYERS_MIN / 4, "{} of {players}", sample.players.len());
    assert!(sample.players.keys().all(|name| sample.has(name)));
}

fn check(log: &Log, records: u64, change: impl Fn(&StreamId, &mut PlayerState)) -> (tempfile::TempDir, StateCheck) {
    let (folder, books) = (tempfile::tempdir().unwrap(), books(log, records));
    let players = Players::new(&Arc::new(motherlode_views::Store::open(folder.path(), log.partition)), usize::MAX);
    let changed = |(operator, name, state): (&str, &str, &PlayerState)| {
        let mut state = state.clone();
        change(&StreamId::player(operator, name), &mut state);
        (key(operator, name), Arc::new(state))
    };
    let mut written = Written::default();
    players.write(books.players().map(changed).collect::<Vec<Changed>>(), records, &mut written).unwrap();
    players.take(written);
    let (players, shared) = (players.fixed(), books.common());
    (folder, StateCheck { partition: log.partition, reader: reader(log), position: records, players, shared })
}

fn run(check: StateCheck, before: Option<Hash>) -> (bool, Option<String>, bool) {
    let (provenance, removed) = (Provenance::new(Some(before)), Cell::new(false));
    check.run(&provenance, || false, || removed.set(true));
    let failure = provenance.failure().borrow().clone();
    assert_eq!(provenance.take_stale(), provenance.is_own() && before != program::digest());
    (provenance.is_own(), failure, removed.get())
}

#[test]
fn mf_34_1_a_player_in_another_state_than_this_build_folds_is_found() {
    for log in logs::all() {
        for records in [log.records.len() as u64, log.records.len() as u64 / 2] {
            assert_eq!(run(check(&log, records, |_, _| ()).1, ANOTHER), (true, None, false), "{}", log.name);
            for (operator, name, _) in books(&log, records).players() {
                let stream = StreamId::player(operator, name);
                let one_more = |of: &StreamId, state: &mut PlayerState| {
                    state.rounds_started += u64::from(*of == stream);
                };
                let (_folder, check) = check(&log, records, one_more);
                let (is_own, failure, removed) = run(check, ANOTHER);
                let failure = failure.unwrap();
                assert!(!is_own && removed && failure.contains(&format!("the state of {stream} differs")), "{failure}");
            }
        }
    }
}

#[test]
fn mf_34_1_what_players_are_judged_by_is_compared_as_well() {
    for what in ["the rates", "the state of the system stream", "the pools' terms or statuses", "the unpaid awards"] {
        let found = logs::all().iter().any(|log| {
            (1..=log.records.len() as u64).any(|records| {
                let (_folder, check) = check(log, records, |_, _| ());
                let shared = books(log, records - 1).common();
                let (_, failure, _) = run(StateCheck { shared, ..check }, ANOTHER);
                failure.is_some_and(|failure| failure.contains(what))
            })
        });
        assert!(found, "{what}");
    }
}

#[test]
fn mf_34_1_only_another_builds_state_is_checked_and_a_check_that_is_broken_off_says_nothing() {
    let log = &logs::golden()[0];
    let differs = || check(log, 20, |_, state| state.rounds_started += 1);
    let (_folder, of_this) = differs();
    assert_eq!(run(of_this, program::digest()), (true, None, false));
    let (_folder, of_unknown) = differs();
    assert!(run(of_unknown, None).1.is_some(), "a build without a digest must count as another build");
    let (_folder, broken_off) = differs();
    let provenance = Provenance::new(Some(ANOTHER));
    broken_off.run(&provenance, || true, || unreachable!("the check ended early, so it must not remove the snapshot"));
    assert_eq!((provenance.program(), provenance.has_failed(), provenance.take_stale()), (ANOTHER, false, false));
    assert_eq!(Provenance::new(None).program(), program::digest(), "this build folded the state");
}

#[test]
fn mf_34_1_a_log_that_this_build_does_not_fold_is_a_difference() {
    let log = &logs::golden()[0];
    let refused = Log {
        records: [log.records.clone(), vec![log.records[5].clone()]].concat(),
        name: String::new(),
        partition: 0,
    };
    let (_folder, check) = check(log, log.records.len() as u64, |_, _| ());
    let reader: Arc<dyn Reader> = Arc::new(Unchained(refused.records.clone()));
    let position = refused.records.len() as u64;
    let (_, failure, _) = run(StateCheck { reader, position, ..check }, ANOTHER);
    assert!(failure.is_some_and(|failure| failure.contains("cannot compute the state from the log")));
    let archived = MemoryStore::starting(0, LogStart { first: 5, previous: [1; 32] }).reader();
    for reader in [Arc::new(Unchained(vec![])) as Arc<dyn Reader>, archived] {
        let (_folder, unread) = self::check(log, 20, |_, _| ());
        assert_eq!(run(StateCheck { reader, ..unread }, ANOTHER), (false, None, false));
    }
}

struct Unchained(Vec<bytes::Bytes>);

impl Reader for Unchained {
    fn first(&self) -> Position {
        1
    }

    fn end(&self) -> Position {
        self.0.len() as u64
    }

    fn read(&self, from: Position, _: usize, _: usize) -> Result<Vec<Record>, ReadError> {
        let records = (1..).zip(self.0.iter().cloned()).map(|(position, bytes)| Record { position, bytes });
        Ok(records.skip_while(|record| record.position < from).collect())
    }
}
