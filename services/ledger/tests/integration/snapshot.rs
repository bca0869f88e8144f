use motherlode_ledger::{AppendError, Handle, OpenError, Options, Proposal};
use motherlode_log::{Chained, Hash, LogStart, Position, ReadError, Reader, Record, SegmentStore, Store};
use motherlode_state::{Books, Currency, Event, Minor, StreamId};
use std::{
    collections::BTreeSet,
    fs,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

struct Watched {
    store: SegmentStore,
    first: Arc<AtomicU64>,
}

struct WatchedReader {
    reader: Arc<dyn Reader>,
    first: Arc<AtomicU64>,
}

impl Store for Watched {
    fn partition(&self) -> u32 {
        self.store.partition()
    }

    fn start(&self) -> LogStart {
        self.store.start()
    }

    fn end(&self) -> Position {
        self.store.end()
    }

    fn head(&self) -> Hash {
        self.store.head()
    }

    fn append_chained(&mut self, after: Position, chained: &Chained) -> Result<(), motherlode_log::AppendError> {
        self.store.append_chained(after, chained)
    }

    fn reader(&self) -> Arc<dyn Reader> {
        Arc::new(WatchedReader { reader: self.store.reader(), first: Arc::clone(&self.first) })
    }
}

impl Reader for WatchedReader {
    fn first(&self) -> Position {
        self.reader.first()
    }

    fn end(&self) -> Position {
        self.reader.end()
    }

    fn read(&self, from: Position, max_records: usize, max_bytes: usize) -> Result<Vec<Record>, ReadError> {
        if max_records > 1 {
            self.first.fetch_min(from, Ordering::AcqRel);
        }
        self.reader.read(from, max_records, max_bytes)
    }
}

struct Folder {
    folder: tempfile::TempDir,
}

impl Folder {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn index(&self) -> PathBuf {
        self.folder.path().join("index")
    }

    fn views(&self) -> PathBuf {
        self.index().with_extension("views")
    }

    fn snapshot(&self) -> PathBuf {
        files(self.views().join("checkpoints")).next().unwrap()
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    fn try_open(&self) -> Result<(Handle, Position), OpenError> {
        let store = SegmentStore::open(&self.log(), 0, motherlode_log::Options::default()).unwrap();
        let first = Arc::new(AtomicU64::new(u64::MAX));
        let store = Watched { store, first: Arc::clone(&first) };
        let options = Options { snapshot_commits: 1, request_run_commits: 8, ..Options::default() };
        let ledger = motherlode_ledger::open(Box::new(store), &self.index(), options)?;
        Ok((ledger, first.load(Ordering::Acquire)))
    }

    fn open(&self) -> (Handle, Position) {
        self.try_open().unwrap()
    }

    async fn commit(&self, players: std::ops::Range<usize>) -> Books {
        let (ledger, _) = self.open();
        for player in players {
            ledger.append(opened(player)).await.unwrap();
            ledger.append(deposited(player, 100)).await.unwrap();
        }
        let books = whole(&ledger);
        ledger.close().await;
        books
    }
}

fn whole(ledger: &Handle) -> Books {
    for player in 0..40 {
        ledger.player(&StreamId::player("acme", format!("p{player}"))).unwrap();
    }
    ledger.books(Books::clone)
}

fn proposal(player: usize, request_id: &str, fingerprint: u8, event: Event) -> Proposal {
    Proposal {
        stream: StreamId::player("acme", format!("p{player}")),
        expected_version: None,
        request_id: request_id.into(),
        fingerprint: [fingerprint; 16],
        events: vec![event],
    }
}

fn opened(player: usize) -> Proposal {
    proposal(player, "open", 1, Event::AccountOpened { currency: Currency::EUR })
}

fn deposited(player: usize, amount: i64) -> Proposal {
    let fingerprint = u8::try_from(amount % 251).unwrap();
    proposal(player, "deposit", fingerprint, Event::Deposited { currency: Currency::EUR, amount: Minor(amount) })
}

#[tokio::test]
async fn pl_30_a_start_folds_only_what_is_past_the_snapshot_and_comes_to_the_same() {
    let folder = Folder::new();
    let before = folder.commit(0..20).await;
    let (ledger, first) = folder.open();
    assert_eq!(first, 41, "the snapshot must cover 40 commits");
    assert_eq!(whole(&ledger), before);
    ledger.close().await;
    let before = folder.commit(20..30).await;
    let (ledger, first) = folder.open();
    assert_eq!(first, 61);
    assert_eq!(whole(&ledger), before);
    ledger.close().await;
}

#[tokio::test]
async fn pl_11_requests_before_a_snapshot_are_known_for_ever() {
    let folder = Folder::new();
    folder.commit(0..20).await;
    let (ledger, first) = folder.open();
    assert_eq!(first, 41);
    for player in 0..20 {
        let again = ledger.append(deposited(player, 100)).await.unwrap();
        assert_eq!(again.commit.position, 2 * (player as u64 + 1), "a repeated request must get its earlier commit");
        let other = ledger.append(deposited(player, 101)).await.unwrap_err();
        assert_eq!(other, AppendError::RequestIdReused { request_id: "deposit".into() });
    }
    assert_eq!(ledger.durable(), 40, "nothing was applied twice");
    ledger.close().await;
    let runs = || files(folder.views().join("tables")).collect::<Vec<_>>();
    assert!(!runs().is_empty());
    for garble in [true, false] {
        for run in runs() {
            match garble {
                true => fs::write(run, "garbled").unwrap(),
                false => fs::remove_file(run).unwrap(),
            }
        }
        let (ledger, _) = folder.open();
        for player in 0..20 {
            let again = ledger.append(deposited(player, 100)).await.unwrap();
            assert_eq!(again.commit.position, 2 * (player as u64 + 1));
        }
        assert_eq!(ledger.durable(), 40);
        ledger.close().await;
    }
}

#[tokio::test]
async fn pl_30_a_damaged_snapshot_is_not_used_wherever_it_is_damaged() {
    let folder = Folder::new();
    let before = folder.commit(0..3).await;
    let sound = fs::read(folder.snapshot()).unwrap();
    let places = (0..sound.len()).step_by(sound.len() / 40).chain(0..8).chain(sound.len() - 3..sound.len());
    let mut damaged: Vec<Vec<u8>> = places
        .map(|at| {
            let mut bytes = sound.clone();
            bytes[at] ^= 0x10;
            bytes
        })
        .collect();
    damaged.extend([vec![], sound[..20].to_vec(), sound[..sound.len() - 1].to_vec(), [&sound[..], b"x"].concat()]);
    for bytes in damaged {
        fs::write(folder.snapshot(), bytes).unwrap();
        let (ledger, first) = folder.open();
        assert_eq!(first, 1);
        assert_eq!(whole(&ledger), before);
        ledger.close().await;
    }
}

#[tokio::test]
async fn pl_30_a_folder_of_an_earlier_version_is_replayed_once() {
    let folder = Folder::new();
    let before = folder.commit(0..3).await;
    fs::remove_dir_all(folder.views()).unwrap();
    let old = ["index.snapshot", "index.requests/1.run", "index.images/1.images", "index/held", "index/sled/db"]
        .map(|name| folder.folder.path().join(name));
    for file in &old {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "of an earlier version").unwrap();
    }
    for first_read in [1, 7] {
        let (ledger, first) = folder.open();
        assert_eq!((first, whole(&ledger)), (first_read, before.clone()));
        ledger.close().await;
        assert!(old.iter().all(|file| !file.exists()));
    }
}

#[tokio::test]
async fn pl_30_a_snapshot_of_another_log_is_not_used() {
    let (one, other) = (Folder::new(), Folder::new());
    one.commit(0..3).await;
    let before = other.commit(5..10).await;
    let own = other.snapshot();
    fs::copy(one.snapshot(), own.with_file_name(one.snapshot().file_name().unwrap())).unwrap();
    fs::remove_file(own).unwrap();
    let (ledger, first) = other.open();
    assert_eq!(first, 1);
    assert_eq!(whole(&ledger), before);
    ledger.close().await;
}

#[tokio::test]
async fn pl_30_a_log_that_is_shorter_than_its_snapshot_is_refused() {
    let (one, other) = (Folder::new(), Folder::new());
    one.commit(0..5).await;
    other.commit(0..3).await;
    fs::remove_dir_all(one.log()).unwrap();
    fs::rename(other.log(), one.log()).unwrap();
    match one.try_open().map(|_| ()) {
        Err(OpenError::Shortened { end: 6, acknowledged: 10, by }) => assert_eq!(by, one.views()),
        opened => panic!("{opened:?}"),
    }
}

fn files(folder: PathBuf) -> impl Iterator<Item = PathBuf> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|file| file.path());
    files.filter(|file| file.extension().is_none_or(|extension| extension != "new"))
}

fn copy(from: &Folder, to: &Folder) {
    let folders = |folder: &Folder| {
        let views = folder.views();
        [views.join("checkpoints"), views.join("tables")]
    };
    let names = || folders(from).map(|folder| files(folder).collect::<BTreeSet<_>>());
    loop {
        let before = names();
        let copied = folders(from).into_iter().zip(folders(to)).all(|(from, to)| {
            let _ = fs::remove_dir_all(&to);
            fs::create_dir_all(&to).unwrap();
            files(from).all(|file| fs::copy(&file, to.join(file.file_name().unwrap())).is_ok())
        });
        if copied && names() == before && before[0].len() == 1 {
            break;
        }
    }
    fs::create_dir_all(to.log()).unwrap();
    for file in files(from.log()).filter(|file| file.extension().is_some_and(|of| of == "log")) {
        fs::copy(&file, to.log().join(file.file_name().unwrap())).unwrap();
    }
}

#[tokio::test]
async fn pl_30_snapshots_that_are_written_while_commits_go_on_are_the_books_at_their_positions() {
    let folder = Folder::new();
    let (ledger, _) = folder.open();
    for player in 0..30 {
        ledger.append(opened(player)).await.unwrap();
    }
    let (mut taken, mut round) = (vec![], 0_usize);
    let mut latest = vec![];
    while taken.len() < 4 {
        assert!(round < 20_000, "no snapshot was written while commits continued");
        let deposits = (0..40).map(|more| {
            let proposal = deposited((round * 7 + more) % 30, 3);
            ledger.append(Proposal { request_id: format!("{round}-{more}").into(), ..proposal })
        });
        for done in futures_util::future::join_all(deposits).await {
            done.unwrap();
        }
        round += 1;
        let now: Vec<_> = files(folder.views().join("checkpoints")).collect();
        if now.len() == 1 && now != latest {
            let to = Folder::new();
            copy(&folder, &to);
            taken.push(to);
            latest = now;
        }
    }
    ledger.close().await;
    for copied in taken {
        let aside = copied.views().with_added_extension("aside");
        fs::rename(copied.views(), &aside).unwrap();
        let (ledger, first) = copied.open();
        let by_log = (first, whole(&ledger));
        ledger.close().await;
        fs::remove_dir_all(copied.views()).unwrap();
        fs::rename(aside, copied.views()).unwrap();
        let (ledger, first) = copied.open();
        assert!(first > 1, "the snapshot must be used: replay began at {first}");
        assert_eq!(by_log, (1, whole(&ledger)), "the state must match a fold of the whole log");
        ledger.close().await;
    }
}

#[tokio::test]
async fn pl_30_a_snapshot_whose_players_are_damaged_missing_or_anothers_is_not_used() {
    let (folder, other) = (Folder::new(), Folder::new());
    let before = folder.commit(0..20).await;
    other.commit(20..40).await;
    let file = |folder: &Folder| {
        let is_players = |file: &PathBuf| fs::read(file).unwrap().windows(7).any(|bytes| bytes == b"players");
        files(folder.views().join("tables")).find(is_players).unwrap()
    };
    let of_another = fs::read(file(&other)).unwrap();
    for what in ["flipped", "short", "gone", "another's"] {
        let path = file(&folder);
        let mut bytes = fs::read(&path).unwrap();
        let (middle, last) = (bytes.len() / 2, bytes.len() - 1);
        match what {
            "flipped" => {
                bytes[last] ^= 1;
                fs::write(&path, bytes).unwrap();
            }
            "short" => fs::write(&path, &bytes[..middle]).unwrap(),
            "gone" => fs::remove_file(&path).unwrap(),
            _ => fs::write(&path, &of_another).unwrap(),
        }
        let (ledger, first) = folder.open();
        assert_eq!(first, 1, "{what}");
        assert_eq!(whole(&ledger), before, "{what}");
        ledger.close().await;
        let (ledger, first) = folder.open();
        assert_eq!(first, 41, "a new snapshot must have been written");
        ledger.close().await;
    }
    assert_eq!(files(folder.views().join("tables")).count(), 6, "unused files must be removed");
}
