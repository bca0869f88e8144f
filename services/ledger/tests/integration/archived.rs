use motherlode_ledger::{AppendError, ChainHead, FetchError, Handle, OpenError, Options, Proposal, Recovered, rounds};
use motherlode_log::{LogStart, MemoryStore, Position, ReadError, SegmentStore, Store, hash};
use motherlode_runtime::{Reason, Refusal};
use motherlode_state::{Currency, Event, Minor, StreamId};
use motherlode_testkit::{archiving::ArchivingStore, conformance::start_file, logs};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

fn open(log: &ArchivingStore, index: &Path) -> Handle {
    motherlode_ledger::open(Box::new(log.clone()), index, Options::default()).unwrap()
}

fn proposal(player: usize, request_id: &str, event: Event) -> Proposal {
    let stream = StreamId::player("acme", format!("p{player}"));
    let (expected_version, request_id, events) = (None, request_id.into(), vec![event]);
    Proposal { stream, expected_version, request_id, fingerprint: [1; 16], events }
}

fn deposit(player: usize) -> Proposal {
    proposal(player, "deposit", Event::Deposited { currency: Currency::EUR, amount: Minor(100) })
}

fn balance(ledger: &Handle, player: usize) -> Option<Minor> {
    ledger.player(&deposit(player).stream).unwrap()?.balance(Currency::EUR)
}

async fn six_players(index: &Path) -> (ArchivingStore, Handle) {
    let log = ArchivingStore::new(0);
    let ledger = open(&log, index);
    for player in 0..6 {
        ledger.append(proposal(player, "open", Event::AccountOpened { currency: Currency::EUR })).await.unwrap();
        ledger.append(deposit(player)).await.unwrap();
    }
    ledger.close().await;
    let ledger = open(&log, index);
    (log, ledger)
}

#[tokio::test]
async fn pl_37_a_repetition_of_an_archived_request_is_refused_and_never_applied() {
    let folder = tempfile::tempdir().unwrap();
    let (log, ledger) = six_players(folder.path()).await;
    log.archive_below(5);
    let refused = ledger.append(deposit(0)).await.unwrap_err();
    assert_eq!(refused, AppendError::Archived { position: 2, first: 5 });
    let refusal = Refusal::from(refused.clone());
    assert_eq!((refusal.reason(), refusal.metadata("first_position")), (Reason::Archived, Some("5")));
    let Proposal { stream, fingerprint, .. } = deposit(0);
    assert_eq!(ledger.find(&stream, "deposit", fingerprint).unwrap_err(), refused);
    assert_eq!(ledger.find_position(&stream, "deposit").unwrap_err(), refused);
    log.answer_nothing(true);
    let refused = ledger.append(deposit(1)).await.unwrap_err();
    assert!(matches!(refused, AppendError::Unknown { .. }), "{refused:?}");
    log.answer_nothing(false);
    assert_eq!((ledger.durable(), balance(&ledger, 0), balance(&ledger, 1)), (12, Some(Minor(100)), Some(Minor(100))));
    assert_eq!(ledger.append(deposit(4)).await.unwrap().commit.position, 10);
    let another = Proposal { request_id: "another".into(), ..deposit(0) };
    assert_eq!(ledger.append(another).await.unwrap().commit.position, 13);
    assert_eq!(balance(&ledger, 0), Some(Minor(200)));
    ledger.close().await;
}

#[tokio::test]
async fn pl_37_reads_of_archived_records_are_refused_and_those_past_the_end_are_empty() {
    let folder = tempfile::tempdir().unwrap();
    let (log, ledger) = six_players(folder.path()).await;
    log.archive_below(5);
    let is_archived = |error: &FetchError| matches!(error, FetchError::Read(ReadError::Archived { first: 5, .. }));
    for position in 1..5 {
        let refused = ledger.fetch(position).unwrap_err();
        assert!(is_archived(&refused), "{refused}");
        let refusal = Refusal::from(refused);
        assert_eq!((refusal.reason(), refusal.metadata("first_position")), (Reason::Archived, Some("5")));
        assert!(is_archived(&ledger.read(position, 100).unwrap_err()));
        assert!(is_archived(&ledger.read_apart(position, 100).await.unwrap_err()));
        assert!(matches!(ledger.records(position, 100, 100), Err(ReadError::Archived { first: 5, .. })));
    }
    assert_eq!((ledger.read(5, 100).unwrap().len(), ledger.read(13, 100).unwrap().len()), (8, 0));
    assert!(matches!(ledger.fetch(13), Err(FetchError::Missing(13))));
    ledger.close().await;
}

#[tokio::test]
async fn pl_37_a_round_with_archived_records_is_refused_and_never_unknown() {
    let (mut whole, mut refused) = (0, 0);
    for golden in logs::golden().into_iter().filter(|log| log.partition == 0) {
        let (folder, mut log) = (tempfile::tempdir().unwrap(), ArchivingStore::new(0));
        log.append(0, &golden.records).unwrap();
        let ledger = open(&log, folder.path());
        let end = ledger.durable();
        let mut players = vec![];
        ledger.books(|books| {
            players.extend(
                books
                    .players()
                    .map(|(operator, name, player)| (StreamId::player(operator, name), player.rounds_started)),
            );
        });
        for first in [1, end / 3, end / 2, end] {
            log.archive_below(first);
            for (stream, count) in &players {
                for round in 1..=*count {
                    match rounds::read(&ledger, stream, round) {
                        Ok(Some(_)) => whole += 1,
                        Err(FetchError::Read(ReadError::Archived { .. })) => refused += 1,
                        other => panic!("{}, {stream} round {round} from {first}: {other:?}", golden.name),
                    }
                }
            }
        }
        ledger.close().await;
    }
    assert!(whole > 100 && refused > 100, "{whole} and {refused}");
}

#[test]
fn pl_37_a_start_without_the_first_records_is_refused_as_archived() {
    let golden = &logs::golden()[0];
    let (first, kept) = (11, &golden.records[10..]);
    let mut store = MemoryStore::starting(0, LogStart { first, previous: hash(&golden.records[9]) });
    store.append(10, kept).unwrap();
    let (folder, end) = (tempfile::tempdir().unwrap(), ChainHead { position: store.end(), hash: store.head() });
    let recovered = Recovered::recover(0, store.reader(), end, folder.path(), &Options::default());
    assert!(matches!(recovered.map(drop), Err(OpenError::Archived(11))));
    let opened = motherlode_ledger::open(Box::new(store), folder.path(), Options::default());
    let refused = opened.map(drop).unwrap_err();
    assert!(refused.to_string().starts_with("the log starts at position 11: "), "{refused}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "no file may be created");
}

const PLAYERS: usize = 60;

/// Log of small segments, the first of which were removed after a snapshot.
struct Shortened {
    folder: tempfile::TempDir,
    first: Position,
    digest: [u8; 32],
}

impl Shortened {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let ledger = open_segments(folder.path(), SegmentStore::open, usize::MAX).unwrap();
        for player in 0..PLAYERS {
            ledger.append(proposal(player, "open", Event::AccountOpened { currency: Currency::EUR })).await.unwrap();
            ledger.append(deposit(player)).await.unwrap();
        }
        let digest = ledger.books(|books| books.digest().unwrap());
        ledger.close().await;
        let log = folder.path().join("log");
        let segments: Vec<_> = files(&log).into_keys().filter_map(first_of).collect();
        assert!(segments.len() > 4, "{segments:?}");
        let first = segments[segments.len() - 2];
        let store = SegmentStore::open(&log, 0, SMALL).unwrap();
        let previous = hash(&store.reader().read(first - 1, 1, 0).unwrap()[0].bytes);
        drop(store);
        let (name, bytes) = start_file(0, LogStart { first, previous });
        fs::write(log.join(name), bytes).unwrap();
        for removed in segments.into_iter().filter(|of| *of < first) {
            fs::remove_file(log.join(format!("{removed:020}.log"))).unwrap();
        }
        Self { folder, first, digest }
    }

    fn views(&self) -> PathBuf {
        self.folder.path().join("index.views")
    }
}

const SMALL: motherlode_log::Options = motherlode_log::Options { segment_bytes: 4 << 10, zero_bytes: 1 << 10 };

type OpenLog = fn(&Path, u32, motherlode_log::Options) -> Result<SegmentStore, motherlode_log::OpenError>;

fn open_segments(folder: &Path, open: OpenLog, players_max: usize) -> Result<Handle, OpenError> {
    let store = open(&folder.join("log"), 0, SMALL).unwrap();
    let options = Options { snapshot_commits: 1, players_max, ..Options::default() };
    motherlode_ledger::open(Box::new(store), &folder.join("index"), options)
}

fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    paths.map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

fn first_of(path: PathBuf) -> Option<Position> {
    path.file_name()?.to_str()?.strip_suffix(".log")?.parse().ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_37_a_log_without_its_first_records_starts_from_a_snapshot_and_goes_on() {
    let shortened = Shortened::new().await;
    let (folder, first, end) = (shortened.folder.path(), shortened.first, 2 * PLAYERS as u64);
    let opens: [OpenLog; 3] = [SegmentStore::open, SegmentStore::open_unchanged, SegmentStore::open_by_outlines];
    for (added, open) in (0..).zip(opens) {
        let ledger = open_segments(folder, open, usize::MAX).unwrap();
        assert_eq!(ledger.durable(), end + added);
        for player in 0..PLAYERS {
            let paid = if player == 0 { 100 + 100 * i64::try_from(added).unwrap() } else { 100 };
            assert_eq!(balance(&ledger, player), Some(Minor(paid)));
        }
        if added == 0 {
            assert_eq!(ledger.books(|books| books.digest().unwrap()), shortened.digest);
        }
        for player in 0..PLAYERS {
            let position = 2 * player as u64 + 2;
            match ledger.append(deposit(player)).await {
                Ok(logged) => assert!(position >= first && logged.commit.position == position),
                Err(refused) => assert_eq!(refused, AppendError::Archived { position, first }),
            }
        }
        assert_eq!(ledger.durable(), end + added, "no repetition has an effect");
        let mut verification = ledger.verification();
        let done = verification.wait_for(|done| done.failure.is_some() || done.verified == done.unread).await.unwrap();
        assert_eq!(done.failure, None);
        drop(done);
        let another = Proposal { request_id: format!("another-{added}").into(), ..deposit(0) };
        assert_eq!(ledger.append(another).await.unwrap().commit.position, end + added + 1);
        ledger.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_37_a_log_without_its_first_records_is_refused_without_a_later_snapshot_and_nothing_changes() {
    let shortened = Shortened::new().await;
    let (folder, first) = (shortened.folder.path(), shortened.first);
    let checkpoints = shortened.views().join("checkpoints");
    let (kept, log) = (files(&checkpoints), files(&folder.join("log")));
    let refused = || match open_segments(folder, SegmentStore::open_unchanged, usize::MAX).map(drop) {
        Err(OpenError::Archived(found)) => assert_eq!(found, first),
        other => panic!("{other:?}"),
    };
    for path in kept.keys() {
        let mut damaged = fs::read(path).unwrap();
        damaged[40] ^= 1;
        fs::write(path, damaged).unwrap();
    }
    refused();
    for path in kept.keys() {
        fs::remove_file(path).unwrap();
    }
    refused();
    kept.iter().for_each(|(path, bytes)| fs::write(path, bytes).unwrap());
    assert_eq!(files(&folder.join("log")), log);
    let ledger = open_segments(folder, SegmentStore::open, usize::MAX).unwrap();
    assert_eq!(balance(&ledger, 0), Some(Minor(100)));
    ledger.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_37_a_snapshot_that_archived_records_need_is_never_removed() {
    let shortened = Shortened::new().await;
    let folder = shortened.folder.path();
    let tables = files(&shortened.views().join("tables"));
    let has = |bytes: &[u8], name: &[u8]| bytes.windows(name.len()).any(|found| found == name);
    let (path, bytes) = tables.iter().find(|(_, bytes)| has(bytes, b"players")).unwrap();
    let mut damaged = bytes.clone();
    damaged[100] ^= 1;
    fs::write(path, damaged).unwrap();
    let ledger = open_segments(folder, SegmentStore::open, usize::MAX).unwrap();
    let read: Vec<_> = (0..PLAYERS).map(|player| ledger.player(&deposit(player).stream)).collect();
    assert!(read.iter().any(Result::is_err), "the damage is found");
    let mut failure = ledger.unreadable_players();
    assert!(failure.wait_for(Option::is_some).await.unwrap().is_some());
    ledger.close().await;
    assert!(!files(&shortened.views().join("checkpoints")).is_empty());
    fs::write(path, bytes).unwrap();
    let ledger = open_segments(folder, SegmentStore::open, usize::MAX).unwrap();
    assert_eq!(balance(&ledger, 0), Some(Minor(100)));
    ledger.close().await;
}
