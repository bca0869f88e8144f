use motherlode_ledger::{ChainHead, Handle, Ledgers, OpenError, Options, Proposal, Recovered, Stores};
use motherlode_log::{AppendError, Chained, Hash, LogStart, MemoryStore, Position, ReadError, Reader, Record, Store};
use motherlode_state::{Books, Currency, Event, Minor, StreamId};
use std::{
    path::Path,
    sync::{Arc, Mutex},
};

#[derive(Clone)]
struct Log {
    store: Arc<Mutex<MemoryStore>>,
    reader: Arc<Watched>,
}

struct Watched {
    store: Arc<Mutex<MemoryStore>>,
    folded: Mutex<Vec<Position>>,
}

impl Log {
    fn new() -> Self {
        let store = Arc::new(Mutex::new(MemoryStore::new(0)));
        let reader = Arc::new(Watched { store: Arc::clone(&store), folded: Mutex::default() });
        Self { store, reader }
    }

    fn folded(&self) -> Vec<Position> {
        std::mem::take(&mut self.reader.folded.lock().unwrap())
    }

    fn held(&self) -> ChainHead {
        ChainHead { position: self.end(), hash: self.head() }
    }

    fn load(&self, index: &Path) -> Recovered {
        Recovered::recover(0, self.reader(), self.held(), index, &Options::default()).unwrap()
    }

    fn take_over(&self, recovered: Recovered, index: &Path) -> Handle {
        let stores = Stores { stores: vec![Box::new(self.clone())], recovered: vec![recovered] };
        Ledgers::open(stores, |_| index.to_owned(), &Options::default()).unwrap().home().clone()
    }

    fn open(&self, index: &Path) -> Handle {
        motherlode_ledger::open(Box::new(self.clone()), index, Options::default()).unwrap()
    }
}

fn whole(ledger: &Handle) -> Books {
    for player in 0..50 {
        ledger.player(&StreamId::player("acme", format!("p{player}"))).unwrap();
    }
    ledger.books(Books::clone)
}

impl Store for Log {
    fn partition(&self) -> u32 {
        0
    }

    fn start(&self) -> LogStart {
        self.store.lock().unwrap().start()
    }

    fn end(&self) -> Position {
        self.store.lock().unwrap().end()
    }

    fn head(&self) -> Hash {
        self.store.lock().unwrap().head()
    }

    fn append_chained(&mut self, after: Position, chained: &Chained) -> Result<(), AppendError> {
        self.store.lock().unwrap().append_chained(after, chained)
    }

    fn reader(&self) -> Arc<dyn Reader> {
        Arc::clone(&self.reader) as Arc<dyn Reader>
    }
}

impl Reader for Watched {
    fn first(&self) -> Position {
        self.store.lock().unwrap().start().first
    }

    fn end(&self) -> Position {
        self.store.lock().unwrap().end()
    }

    fn read(&self, from: Position, max_records: usize, max_bytes: usize) -> Result<Vec<Record>, ReadError> {
        let read = self.store.lock().unwrap().reader().read(from, max_records, max_bytes)?;
        if max_records > 1 {
            self.folded.lock().unwrap().extend(read.iter().map(|record| record.position));
        }
        Ok(read)
    }
}

fn proposal(player: usize, request_id: &str, event: Event) -> Proposal {
    let stream = StreamId::player("acme", format!("p{player}"));
    Proposal {
        stream,
        expected_version: None,
        request_id: request_id.into(),
        fingerprint: [1; 16],
        events: vec![event],
    }
}

async fn commit(ledger: &Handle, players: std::ops::Range<usize>) {
    for player in players {
        ledger.append(proposal(player, "open", Event::AccountOpened { currency: Currency::EUR })).await.unwrap();
        ledger.append(deposited(player)).await.unwrap();
    }
}

fn deposited(player: usize) -> Proposal {
    proposal(player, "deposit", Event::Deposited { currency: Currency::EUR, amount: Minor(100) })
}

#[tokio::test]
async fn pl_30_a_ledger_that_is_held_takes_over_by_what_came_since() {
    for before in [20, 0] {
        let folder = tempfile::tempdir().unwrap();
        let (writers, standbys) = (folder.path().join("writer"), folder.path().join("standby"));
        let log = Log::new();
        let writer = log.open(&writers);
        commit(&writer, 0..before).await;
        let recovered = log.load(&standbys);
        assert_eq!(recovered.position(), 2 * before as u64);
        commit(&writer, before..40).await;
        recovered.catch_up().unwrap();
        assert_eq!((recovered.partition(), recovered.position()), (0, 80));
        commit(&writer, 40..43).await;
        let books = writer.books(Books::clone);
        writer.close().await;
        log.folded();

        let ledger = log.take_over(recovered, &standbys);
        assert_eq!(log.folded(), (81..=86).collect::<Vec<_>>(), "only later records may be folded");
        assert_eq!((ledger.durable(), whole(&ledger)), (86, books));
        for player in [0, 30, 42] {
            let again = ledger.append(deposited(player)).await.unwrap();
            assert_eq!(again.commit.position, 2 * (player as u64 + 1));
        }
        commit(&ledger, 43..45).await;
        assert_eq!(ledger.durable(), 90);
        let books = whole(&ledger);
        ledger.close().await;

        let ledger = log.open(&standbys);
        assert_eq!(whole(&ledger), books);
        ledger.close().await;
        let (balances, head) = motherlode_ledger::balances(&standbys, 0).unwrap().unwrap();
        assert_eq!(head.position, 90);
        assert_eq!(balances.iter().map(|balance| balance.amount.0).sum::<i64>(), 4_500);
    }
}

#[tokio::test]
async fn pl_30_what_is_held_of_another_log_is_let_go_of() {
    let folder = tempfile::tempdir().unwrap();
    let (one, other) = (Log::new(), Log::new());
    for (log, name, players) in [(&one, "one", 0..3), (&other, "other", 5..10)] {
        let ledger = log.open(&folder.path().join(name));
        commit(&ledger, players).await;
        ledger.close().await;
    }
    let index = folder.path().join("standby");
    let ledger = other.open(&folder.path().join("other"));
    let books = whole(&ledger);
    ledger.close().await;

    let ledger = other.take_over(one.load(&index), &index);
    assert_eq!(whole(&ledger), books);
    ledger.close().await;

    std::fs::remove_dir_all(index.with_extension("views")).unwrap();
    let recovered = one.load(&index);
    std::mem::swap(&mut *one.store.lock().unwrap(), &mut *other.store.lock().unwrap());
    assert!(matches!(recovered.catch_up(), Err(OpenError::Chain(_))));
    assert_eq!(recovered.position(), 6, "no record of the other log may be applied");
    let ledger = one.take_over(recovered, &index);
    assert_eq!(whole(&ledger), books);
    ledger.close().await;
}
