//! The table on the disk: whatever is there at an opening, each request is found where its commit is, and no other.

use super::{Name, Requests, Tail, sealer::Sealing};
use crate::{error::OpenError, options::Options};
use bytes::Bytes;
use motherlode_books::{Commit, StreamId};
use motherlode_log::{MemoryStore, Position, ReadError, Reader, Record, Store};
use motherlode_proto::convert::record::{self, Logged};
use proptest::prelude::*;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Commits of a run as it's first written.
const RUN: usize = 8;

/// A log of commits by made-up requests.
struct Log {
    store: MemoryStore,
    name: &'static str,
}

impl Log {
    fn new(name: &'static str, commits: u64) -> Self {
        let mut log = Self { store: MemoryStore::new(0), name };
        log.append(commits);
        log
    }

    fn request(&self, number: u64) -> (StreamId, String) {
        (StreamId::player("acme", format!("p{}", number % 7)), format!("{}-{number}", self.name))
    }

    fn append(&mut self, commits: u64) {
        for number in self.store.end() + 1..=self.store.end() + commits {
            let (stream, request_id) = self.request(number);
            let commit = Commit {
                partition: 0,
                position: number,
                stream,
                version: 1,
                previous: 0,
                request_id: request_id.into(),
                fingerprint: [1; 16],
                time_ms: 0,
                events: vec![],
            };
            let bytes = record::encode(
                &self.store.head(),
                &Logged { commit, balances_after: vec![], due_after: vec![], proposer: None },
            );
            self.store.append(self.store.end(), &[bytes]).unwrap();
        }
    }
}

fn options() -> Options {
    Options { request_run_commits: RUN, ..Options::default() }
}

/// A table, and the thread behind it as its steps.
struct Table {
    requests: Arc<Requests>,
    sealing: Sealing,
}

impl Table {
    fn try_open(folder: &Path, log: &Log, tail: Option<Tail>, known: Position) -> Result<Self, OpenError> {
        Self::open_with(folder, log, tail, known, &options())
    }

    fn open_with(
        folder: &Path,
        log: &Log,
        tail: Option<Tail>,
        known: Position,
        options: &Options,
    ) -> Result<Self, OpenError> {
        let reader: Arc<dyn Reader> = log.store.reader();
        let (requests, files) = Requests::load(folder, &reader, 0, tail, known, options)?;
        let sealing = Sealing::new(Arc::clone(&requests), files);
        let table = Self { requests, sealing };
        table.take(log);
        Ok(table)
    }

    /// Opened as by a start without a snapshot: all that no run has is folded.
    fn open(folder: &Path, log: &Log) -> Self {
        Self::try_open(folder, log, None, 0).unwrap()
    }

    /// Takes the names of what the log has.
    fn take(&self, log: &Log) {
        for number in self.requests.to() + 1..=log.store.end() {
            let (stream, request_id) = log.request(number);
            self.requests.push(&[self.requests.name(&stream, &request_id)]);
        }
    }

    /// The log is durable, and all is done that is to be done.
    fn seal(&mut self) {
        self.requests.settled();
        while self.sealing.step().unwrap() {}
    }

    fn find(&self, log: &Log, number: u64) -> Vec<Position> {
        let (stream, request_id) = log.request(number);
        self.requests.candidates(self.requests.name(&stream, &request_id)).unwrap()
    }

    /// Each request of the log is found, and no other.
    fn check(&self, log: &Log) {
        let end = log.store.end();
        assert_eq!(self.requests.to(), end);
        for number in 1..=end {
            assert_eq!(self.find(log, number), [number]);
        }
        for number in end + 1..end + 100 {
            assert!(self.find(log, number).is_empty(), "{number}");
        }
    }

    fn runs(&self) -> usize {
        self.requests.see(|parts| parts.runs())
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// A folder with the runs of a log.
fn sealed(log: &Log) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    Table::open(folder.path(), log).seal();
    assert!(!files(folder.path()).is_empty());
    folder
}

#[test]
fn pl_11_a_request_is_found_wherever_it_is_and_after_each_opening() {
    let folder = tempfile::tempdir().unwrap();
    let mut log = Log::new("one", 0);
    let mut table = Table::open(folder.path(), &log);
    for _ in 0..60 {
        log.append(5);
        table.take(&log);
        table.check(&log);
        table.seal();
        table.check(&log);
    }
    // 37 runs of 8 were made: two of 16 times 8, one of four times, one of 8.
    assert_eq!((table.runs(), files(folder.path()).len()), (4, 4));
    let again = Table::open(folder.path(), &log);
    again.check(&log);
    assert_eq!(again.runs(), 4, "no more was made");
}

#[test]
fn pl_11_no_file_has_its_name_before_the_log_is_durable() {
    let folder = tempfile::tempdir().unwrap();
    let log = Log::new("one", 50);
    let mut table = Table::open(folder.path(), &log);
    while table.sealing.step().unwrap() {}
    assert_eq!(table.runs(), 6, "memory is bounded all the same");
    table.check(&log);
    let named = |of: &Path| files(of).iter().filter(|file| file.extension().unwrap() == "run").count();
    assert_eq!((files(folder.path()).len(), named(folder.path())), (6, 0));
    // A process that ended then has left nothing that is used.
    let other = Log::new("other", 50);
    Table::open(folder.path(), &other).check(&other);
    assert!(files(folder.path()).is_empty());
    let mut table = Table::open(folder.path(), &log);
    table.seal();
    assert_eq!(named(folder.path()), table.runs());
}

#[test]
fn pl_11_the_tail_of_a_snapshot_spares_reading_the_log_and_nothing_else_is_believed() {
    let folder = tempfile::tempdir().unwrap();
    let mut log = Log::new("one", 30);
    let mut table = Table::open(folder.path(), &log);
    table.seal();
    let tail = table.requests.tail(29);
    assert_eq!((tail.from, tail.to()), (24, 29), "what no run has");
    log.append(10);
    // With its runs, without one of them, without any, and with those that came later.
    let run = files(folder.path()).pop().unwrap();
    Table::try_open(folder.path(), &log, Some(tail.clone()), 29).unwrap().check(&log);
    fs::remove_file(run).unwrap();
    Table::try_open(folder.path(), &log, Some(tail.clone()), 29).unwrap().check(&log);
    files(folder.path()).into_iter().for_each(|run| fs::remove_file(run).unwrap());
    let mut table = Table::try_open(folder.path(), &log, Some(tail.clone()), 29).unwrap();
    table.check(&log);
    table.seal();
    Table::try_open(folder.path(), &log, Some(tail.clone()), 29).unwrap().check(&log);
    // Of another key: as if there was none.
    let other = Table::open(tempfile::tempdir().unwrap().path(), &log).requests.tail(29);
    Table::try_open(folder.path(), &log, Some(other), 29).unwrap().check(&log);
    Table::try_open(folder.path(), &log, None, 29).unwrap().check(&log);
}

#[test]
fn uf_11_a_missing_run_is_made_again() {
    let log = Log::new("one", 200);
    let folder = sealed(&log);
    let whole = files(folder.path());
    for missing in &whole {
        fs::remove_file(missing).unwrap();
        let mut table = Table::open(folder.path(), &log);
        table.check(&log);
        table.seal();
        table.check(&log);
        Table::open(folder.path(), &log).check(&log);
    }
}

#[test]
fn uf_11_a_run_that_is_garbled_or_cut_is_made_again_wherever_it_is() {
    let log = Log::new("one", 40);
    let folder = sealed(&log);
    let run = files(folder.path()).into_iter().next().unwrap();
    let sound = fs::read(&run).unwrap();
    let mut garbled: Vec<Vec<u8>> = (0..sound.len())
        .step_by(41)
        .map(|at| {
            let mut bytes = sound.clone();
            bytes[at] ^= 0x10;
            bytes
        })
        .collect();
    garbled.extend((0..sound.len()).step_by(173).map(|length| sound[..length].to_vec()));
    garbled.extend([[&sound[..], b"x"].concat(), vec![0; sound.len()]]);
    for bytes in garbled {
        fs::write(&run, bytes).unwrap();
        let mut table = Table::open(folder.path(), &log);
        // What is not seen at the opening is seen before it's believed.
        let found = (1..=40).all(|number| {
            let (stream, request_id) = log.request(number);
            let name = table.requests.name(&stream, &request_id);
            table.requests.candidates(name).is_ok_and(|found| found == [number])
                || table.requests.see(|parts| parts.damaged().is_some())
        });
        assert!(found, "each is found, or the run is known to be damaged");
        table.seal();
        table.check(&log);
        Table::open(folder.path(), &log).check(&log);
    }
}

#[test]
fn uf_11_a_bucket_that_turns_out_to_be_damaged_is_refused_and_then_made_again() {
    let log = Log::new("one", 40);
    let folder = sealed(&log);
    let mut table = Table::open(folder.path(), &log);
    let run = files(folder.path()).into_iter().next().unwrap();
    let mut bytes = fs::read(&run).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&run, bytes).unwrap();
    let (stream, request_id) = log.request(1);
    let name = table.requests.name(&stream, &request_id);
    assert!(table.requests.candidates(name).is_err(), "a repetition is no new request");
    table.seal();
    table.check(&log);
}

#[test]
fn uf_11_a_damaged_run_is_never_merged() {
    let mut log = Log::new("one", 31);
    let folder = sealed(&log);
    for run in files(folder.path()) {
        let mut bytes = fs::read(&run).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        fs::write(&run, bytes).unwrap();
    }
    log.append(1);
    let mut table = Table::open(folder.path(), &log);
    table.seal();
    table.check(&log);
    assert_eq!(table.runs(), 1);
}

#[test]
fn uf_11_runs_of_another_log_partition_or_key_are_not_used() {
    let (one, other) = (Log::new("one", 100), Log::new("other", 100));
    let elsewhere = sealed(&other);
    let folder = sealed(&one);
    // In the place of its own, and beside them under another name.
    for run in files(elsewhere.path()) {
        fs::copy(&run, folder.path().join(run.file_name().unwrap())).unwrap();
    }
    fs::copy(&files(elsewhere.path())[0], folder.path().join("00000000000000000001-00000000000000000099.run")).unwrap();
    let mut table = Table::open(folder.path(), &one);
    table.seal();
    table.check(&one);
    // Of the same log, by another process with a key of its own.
    let again = sealed(&one);
    let run = files(again.path()).pop().unwrap();
    fs::copy(&run, folder.path().join(run.file_name().unwrap())).unwrap();
    let mut table = Table::open(folder.path(), &one);
    table.seal();
    table.check(&one);
    let reader: Arc<dyn Reader> = one.store.reader();
    let (requests, _) = Requests::load(folder.path(), &reader, 1, None, 0, &options()).unwrap();
    assert_eq!((requests.to(), files(folder.path()).len()), (0, 0), "of partition 0 they are, not of 1");
}

#[test]
fn uf_11_what_a_merge_left_behind_is_in_nobodys_way() {
    let mut log = Log::new("one", 31);
    let folder = sealed(&log);
    let before: Vec<_> = files(folder.path()).into_iter().map(|run| (fs::read(&run).unwrap(), run)).collect();
    assert_eq!(before.len(), 3);
    log.append(1);
    Table::open(folder.path(), &log).seal();
    assert_eq!(files(folder.path()).len(), 1);
    // The power failed before they were removed.
    for (bytes, run) in &before {
        fs::write(run, bytes).unwrap();
    }
    Table::open(folder.path(), &log).check(&log);
    assert_eq!(files(folder.path()).len(), 1);
}

#[test]
fn pl_30_a_log_that_is_shorter_than_its_runs_is_refused() {
    let folder = sealed(&Log::new("one", 100));
    for end in [0, 1, 50, 95] {
        match Table::try_open(folder.path(), &Log::new("one", end), None, 0).map(|_| ()) {
            Err(OpenError::Shortened { end: found, held: 96, .. }) => assert_eq!(found, end),
            opened => panic!("{end}: {opened:?}"),
        }
    }
    let other = Log::new("other", 50);
    Table::open(folder.path(), &other).check(&other);
}

#[test]
fn uf_11_while_runs_cannot_be_written_all_is_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("requests");
    fs::write(&place, "no folder").unwrap();
    let mut log = Log::new("one", 100);
    for known in [0, 100] {
        let mut table = Table::try_open(&place, &log, None, known).unwrap();
        table.requests.settled();
        assert!(table.sealing.step().is_err());
        table.check(&log);
        assert_eq!(table.runs(), 0);
    }
    let mut table = Table::open(&place, &log);
    table.requests.settled();
    assert!(table.sealing.step().is_err());
    fs::remove_file(&place).unwrap();
    log.append(30);
    table.take(&log);
    table.seal();
    table.check(&log);
    assert!(table.runs() > 0);
}

#[test]
fn pl_11_without_memory_for_filters_requests_are_found_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let log = Log::new("one", 300);
    for request_filter_bytes_max in [0, 40] {
        let options = Options { request_filter_bytes_max, ..options() };
        for _ in 0..2 {
            let mut table = Table::open_with(folder.path(), &log, None, 0, &options).unwrap();
            table.seal();
            table.check(&log);
            let filters: u64 = table.requests.see(|parts| parts.filter_bytes());
            assert!(filters <= request_filter_bytes_max);
        }
    }
}

/// The aim of runs: memory doesn't grow with the log but by the filters, and these have a budget.
#[test]
fn pl_11_a_commit_costs_less_than_two_bytes_of_memory() {
    /// Runs name records of the log, whatever these are.
    struct Blank;

    impl Reader for Blank {
        fn first(&self) -> Position {
            1
        }

        fn end(&self) -> Position {
            0
        }

        fn read(&self, from: Position, _: usize, _: usize) -> Result<Vec<Record>, ReadError> {
            Ok(vec![Record { position: from, bytes: Bytes::new() }])
        }
    }

    let folder = tempfile::tempdir().unwrap();
    let options = Options { request_run_commits: 4_096, ..options() };
    let mut bytes = vec![];
    for (request_filter_bytes_max, commits) in [(u64::MAX, 40_960_u64), (u64::MAX, 81_920), (30_000, 81_920)] {
        let options = Options { request_filter_bytes_max, ..options.clone() };
        let reader: Arc<dyn Reader> = Arc::new(Blank);
        let place = folder.path().join(bytes.len().to_string());
        let (requests, files) = Requests::load(&place, &reader, 0, None, 0, &options).unwrap();
        let mut sealing = Sealing::new(Arc::clone(&requests), files);
        let tail = requests.bytes();
        requests.settled();
        for number in 1..=commits {
            requests.push(&[Name(number.wrapping_mul(0x9E37_79B9_7F4A_7C15))]);
        }
        while sealing.step().unwrap() {}
        assert_eq!(requests.candidates(Name(7_u64.wrapping_mul(0x9E37_79B9_7F4A_7C15))).unwrap(), [7]);
        assert_eq!(requests.bytes() - tail, requests.see(|parts| parts.bytes()));
        bytes.push(requests.bytes() - tail);
    }
    assert!(bytes[0] < 40_960 * 2 && bytes[1] < 81_920 * 2, "{bytes:?}");
    assert!(bytes[2] < 32_000, "the budget of filters, and tables: {bytes:?}");
}

#[derive(Debug, Clone)]
enum Deed {
    Commit(u64),
    Step,
    Settle,
    Reopen { tail: bool },
    Lose(usize),
    Garble(usize, usize),
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let deed = prop_oneof![
        4 => (1_u64..12).prop_map(Deed::Commit),
        4 => Just(Deed::Step),
        1 => Just(Deed::Settle),
        2 => any::<bool>().prop_map(|tail| Deed::Reopen { tail }),
        1 => any::<usize>().prop_map(Deed::Lose),
        1 => (any::<usize>(), any::<usize>()).prop_map(|(file, at)| Deed::Garble(file, at)),
    ];
    prop::collection::vec(deed, 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20, ..ProptestConfig::default() })]

    /// Whatever happens to the table and its files, it answers as a plain map does; where it can't, it says so, and can after
    /// the next step.
    #[test]
    fn pl_11_the_table_answers_as_a_plain_map_does(deeds in deeds()) {
        let folder = tempfile::tempdir().unwrap();
        let mut log = Log::new("one", 0);
        let mut map: BTreeMap<(String, String), Vec<Position>> = BTreeMap::new();
        let mut table = Table::open(folder.path(), &log);
        for deed in deeds {
            match deed {
                Deed::Commit(commits) => {
                    let before = log.store.end();
                    log.append(commits);
                    for number in before + 1..=log.store.end() {
                        let (stream, request_id) = log.request(number);
                        map.entry((stream.to_string(), request_id)).or_default().push(number);
                    }
                    table.take(&log);
                }
                Deed::Step => drop(table.sealing.step().unwrap()),
                Deed::Settle => table.requests.settled(),
                Deed::Reopen { tail } => {
                    let known = log.store.end() / 2;
                    let tail = tail.then(|| table.requests.tail(known));
                    table = Table::try_open(folder.path(), &log, tail, known).unwrap();
                }
                Deed::Lose(file) => {
                    let files = files(folder.path());
                    if let Some(file) = files.get(file % files.len().max(1)).filter(|file| file.extension().unwrap() == "run") {
                        fs::remove_file(file).unwrap();
                    }
                }
                Deed::Garble(file, at) => {
                    let files = files(folder.path());
                    if let Some(file) = files.get(file % files.len().max(1)).filter(|file| file.extension().unwrap() == "run") {
                        let mut bytes = fs::read(file).unwrap();
                        let at = at % bytes.len();
                        bytes[at] ^= 0x20;
                        fs::write(file, bytes).unwrap();
                    }
                }
            }
        }
        table.seal();
        for number in 1..=log.store.end() + 10 {
            let (stream, request_id) = log.request(number);
            let name = table.requests.name(&stream, &request_id);
            let expected = map.get(&(stream.to_string(), request_id)).cloned().unwrap_or_default();
            let found = table.requests.candidates(name).or_else(|_| {
                table.seal();
                table.requests.candidates(name)
            });
            prop_assert_eq!(found.unwrap(), expected);
        }
    }
}
