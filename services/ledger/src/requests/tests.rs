use super::{Name, Requests, table::REQUESTS};
use crate::{chain::record_hash, error::OpenError, options::Options, requests::Key};
use motherlode_log::{MemoryStore, Position, Reader, Store as _};
use motherlode_proto::convert::record::{self, Logged};
use motherlode_state::{Commit, StreamId};
use motherlode_views::{Checkpoint, Store};
use proptest::prelude::*;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

const STRETCH: usize = 8;

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
    Options { request_run_commits: STRETCH, ..Options::default() }
}

struct Table {
    requests: Requests,
    store: Arc<Store>,
}

impl Table {
    fn open_with(folder: &Path, log: &Log, options: &Options) -> Result<Self, OpenError> {
        let (store, reader) = (Arc::new(Store::open(folder, 0)), log.store.reader());
        let confirmed = |of: &Checkpoint| record_hash(&*reader, of.position).unwrap() == Some(of.hash);
        let found = store.checkpoints().into_iter().find(|(_, checkpoint)| confirmed(checkpoint));
        let checkpoint = found.as_ref().map(|(id, checkpoint)| {
            store.adopt(*id, checkpoint);
            (Key(checkpoint.state[..].try_into().unwrap()), checkpoint)
        });
        let reader: Arc<dyn Reader> = reader;
        let table = Self { requests: Requests::open(&store, checkpoint, &reader, options)?, store };
        table.take(log);
        Ok(table)
    }

    fn open(folder: &Path, log: &Log) -> Self {
        Self::open_with(folder, log, &options()).unwrap()
    }

    fn take(&self, log: &Log) {
        for number in self.requests.to() + 1..=log.store.end() {
            let (stream, request_id) = log.request(number);
            self.requests.push(&[self.requests.name(&stream, &request_id)]);
        }
    }

    fn checkpoint(&self, log: &Log, position: Position) {
        self.requests.write(position).unwrap();
        let hash = record_hash(&*log.store.reader(), position).unwrap().unwrap();
        let (keyspaces, state) = (vec![self.requests.tables()], self.requests.key().0.to_vec());
        let mut checkpoint =
            Checkpoint { sequence: 0, partition: 0, position, hash, keyspaces, state_version: 1, state };
        self.store.commit(&mut checkpoint).unwrap();
    }

    fn merge(&self) {
        while self.requests.merge().unwrap() {}
    }

    fn find(&self, log: &Log, number: u64) -> Result<Vec<Position>, String> {
        let (stream, request_id) = log.request(number);
        self.requests.candidates(self.requests.name(&stream, &request_id)).map_err(|error| error.to_string())
    }

    fn check(&self, log: &Log) {
        let end = log.store.end();
        assert_eq!(self.requests.to(), end);
        for number in 1..=end {
            assert_eq!(self.find(log, number), Ok(vec![number]));
        }
        for number in end + 1..end + 100 {
            assert_eq!(self.find(log, number), Ok(vec![]), "{number}");
        }
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> =
        fs::read_dir(folder.join("tables")).into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn written(log: &Log) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let table = Table::open(folder.path(), log);
    (1..=log.store.end() / 10).for_each(|tenth| table.checkpoint(log, tenth * 10));
    assert!(!files(folder.path()).is_empty());
    folder
}

#[test]
fn pl_11_a_request_is_found_wherever_it_is_and_after_each_opening() {
    let folder = tempfile::tempdir().unwrap();
    let mut log = Log::new("one", 0);
    let mut table = Table::open(folder.path(), &log);
    for round in 0..60 {
        log.append(5);
        table.take(&log);
        table.check(&log);
        match round % 4 {
            0 => table.checkpoint(&log, log.store.end() - 2),
            1 => table.requests.write_full(log.store.end()).unwrap(),
            2 => table.merge(),
            _ => table = Table::open(folder.path(), &log),
        }
        table.check(&log);
    }
    table.merge();
    table.checkpoint(&log, 300);
    table.check(&log);
    assert!(files(folder.path()).len() < 8, "runs were merged: {}", files(folder.path()).len());
    let runs = table.requests.runs();
    assert_eq!(runs.iter().map(|run| run.to() - run.from()).sum::<u64>(), 300);
    assert!(runs.windows(2).all(|pair| pair[0].to() == pair[1].from()));
}

#[test]
fn uf_11_a_missing_or_damaged_run_is_rebuilt_at_the_start() {
    let log = Log::new("one", 200);
    let folder = written(&log);
    for file in files(folder.path()) {
        let sound = fs::read(&file).unwrap();
        let last = sound.len() - 1;
        let flipped = [&sound[..last], &[sound[last] ^ 1]].concat();
        for bytes in [None, Some(&flipped), Some(&sound[..last].to_vec()), Some(&vec![])] {
            match bytes {
                None => fs::remove_file(&file).unwrap(),
                Some(bytes) => fs::write(&file, bytes).unwrap(),
            }
            let table = Table::open(folder.path(), &log);
            table.check(&log);
            assert_eq!(fs::read(&file).unwrap(), sound);
        }
    }
}

#[test]
fn uf_11_a_damaged_block_is_refused_and_never_merged_and_then_rebuilt() {
    let log = Log::new("one", 40);
    let folder = written(&log);
    let table = Table::open(folder.path(), &log);
    let file = &files(folder.path())[1];
    let sound = fs::read(file).unwrap();
    fs::write(file, [&[sound[0] ^ 1], &sound[1..]].concat()).unwrap();
    let refused = (1..=40).filter(|number| table.find(&log, *number).is_err()).count();
    assert_eq!(refused, 10, "a repeated request must not count as new");
    assert!(table.requests.merge().is_err());
    table.requests.repair().unwrap();
    table.check(&log);
    assert_eq!(fs::read(file).unwrap(), sound);
    table.merge();
    table.check(&log);
    assert_eq!(table.requests.runs().len(), 1);
}

#[test]
fn uf_11_runs_of_another_version_are_rebuilt_from_the_log() {
    let log = Log::new("one", 50);
    let folder = written(&log);
    let table = Table::open(folder.path(), &log);
    let (_, mut checkpoint) = table.store.checkpoints().remove(0);
    checkpoint.keyspaces[0].version = REQUESTS.version + 1;
    table.store.commit(&mut checkpoint).unwrap();
    drop(table);
    let table = Table::open(folder.path(), &log);
    table.check(&log);
    assert_eq!(table.requests.runs().iter().map(|run| run.to() - run.from()).collect::<Vec<_>>(), [16, 16, 16, 2]);
}

#[test]
fn uf_11_while_runs_cannot_be_written_all_is_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("views");
    let mut log = Log::new("one", 100);
    let sound = written(&log);
    let blocked = || fs::write(&place, "no folder").unwrap();
    blocked();
    let table = Table::open(&place, &log);
    assert!(table.requests.write(100).is_err() && table.requests.write_replayed().is_err());
    table.check(&log);
    assert!(table.requests.runs().is_empty());
    fs::remove_file(&place).unwrap();
    log.append(30);
    table.take(&log);
    table.checkpoint(&log, 120);
    table.check(&log);
    assert_eq!(table.requests.runs().iter().map(|run| run.to() - run.from()).sum::<u64>(), 120);
    let lost = files(sound.path()).remove(3);
    fs::remove_file(&lost).unwrap();
    fs::create_dir(&lost).unwrap();
    let table = Table::open(sound.path(), &log);
    table.check(&log);
    assert_eq!(table.requests.runs().len(), 9);
    table.merge();
    table.check(&log);
    fs::remove_dir(&lost).unwrap();
    table.checkpoint(&log, 130);
    table.check(&log);
    table.merge();
    table.check(&log);
    assert_eq!(table.requests.runs().iter().map(|run| run.to() - run.from()).sum::<u64>(), 130);
}

#[test]
fn pl_11_without_memory_for_filters_requests_are_found_all_the_same() {
    let log = Log::new("one", 300);
    let folder = written(&log);
    for request_filter_bytes_max in [0, 40, 1_000] {
        let options = Options { request_filter_bytes_max, ..options() };
        let table = Table::open_with(folder.path(), &log, &options).unwrap();
        let filters = || table.requests.runs().iter().map(|run| run.filter_bytes()).sum::<u64>();
        assert!(filters() <= request_filter_bytes_max);
        table.check(&log);
        table.merge();
        assert!(filters() <= request_filter_bytes_max);
        table.check(&log);
    }
}

#[test]
fn pl_11_a_commit_costs_less_than_two_bytes_of_memory() {
    let folder = tempfile::tempdir().unwrap();
    let log = Log::new("none", 0);
    let mut bytes = vec![];
    for (request_filter_bytes_max, commits) in [(u64::MAX, 40_960_u64), (u64::MAX, 81_920), (30_000, 81_920)] {
        let options = Options { request_filter_bytes_max, request_run_commits: 4_096, ..options() };
        let place = folder.path().join(bytes.len().to_string());
        let table = Table::open_with(&place, &log, &options).unwrap();
        let name = |number: u64| Name(number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        for number in 1..=commits {
            table.requests.push(&[name(number)]);
            if number % 4_096 == 0 {
                table.requests.write(number).unwrap();
                table.merge();
            }
        }
        assert_eq!(table.requests.candidates(name(7)).unwrap(), [7]);
        bytes.push(table.requests.runs().iter().map(|run| run.memory()).sum::<u64>());
        assert!(table.requests.bytes() > bytes[bytes.len() - 1]);
    }
    assert!(bytes[0] < 40_960 * 2 && bytes[1] < 81_920 * 2, "{bytes:?}");
    assert!(bytes[2] < 36_000, "the budget of filters, and indexes: {bytes:?}");
}

#[derive(Debug, Clone)]
enum Deed {
    Commit(u64),
    Checkpoint(u64),
    WriteFull,
    Merge,
    Repair,
    Reopen,
    Lose(usize),
    Garble(usize, usize),
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let deed = prop_oneof![
        4 => (1_u64..12).prop_map(Deed::Commit),
        3 => (0_u64..20).prop_map(Deed::Checkpoint),
        2 => Just(Deed::WriteFull),
        2 => Just(Deed::Merge),
        1 => Just(Deed::Repair),
        2 => Just(Deed::Reopen),
        1 => any::<usize>().prop_map(Deed::Lose),
        1 => (any::<usize>(), any::<usize>()).prop_map(|(file, at)| Deed::Garble(file, at)),
    ];
    prop::collection::vec(deed, 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20, ..ProptestConfig::default() })]

    /// After any sequence of steps and file damage, the table gives the same answers as a map, or fails until the next
    /// repair.
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
                Deed::Checkpoint(before) => {
                    let written = table.requests.runs().last().map_or(1, |run| run.to());
                    let position = log.store.end().saturating_sub(before).max(written);
                    if position <= log.store.end() {
                        table.checkpoint(&log, position);
                    }
                }
                Deed::WriteFull => table.requests.write_full(log.store.end()).unwrap(),
                Deed::Merge => _ = table.requests.merge(),
                Deed::Repair => table.requests.repair().unwrap(),
                Deed::Reopen => table = Table::open(folder.path(), &log),
                Deed::Lose(file) => {
                    let files = files(folder.path());
                    if let Some(file) = files.get(file % files.len().max(1)) {
                        fs::remove_file(file).unwrap();
                    }
                }
                Deed::Garble(file, at) => {
                    let files = files(folder.path());
                    if let Some(file) = files.get(file % files.len().max(1)) {
                        let mut bytes = fs::read(file).unwrap();
                        let at = at % bytes.len();
                        bytes[at] ^= 0x20;
                        fs::write(file, bytes).unwrap();
                    }
                }
            }
        }
        for number in 1..=log.store.end() + 10 {
            let (stream, request_id) = log.request(number);
            let expected = map.get(&(stream.to_string(), request_id)).cloned().unwrap_or_default();
            let found = table.find(&log, number).or_else(|_| {
                table.requests.repair().unwrap();
                table.find(&log, number)
            });
            prop_assert_eq!(found, Ok(expected));
        }
    }
}
