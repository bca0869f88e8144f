use motherlode_ledger::{AppendError, Options, Proposal};
use motherlode_log::{AppendError as Failed, Chained, Hash, LogStart, MemoryStore, Position, Reader, Store};
use motherlode_runtime::{Config, Operators};
use motherlode_state::{Currency, Event, StreamId};
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::sync::mpsc;

struct Slow {
    store: MemoryStore,
    disk: Arc<Mutex<()>>,
}

impl Store for Slow {
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

    fn append_chained(&mut self, after: Position, chained: &Chained) -> Result<(), Failed> {
        let _works: MutexGuard<'_, ()> = self.disk.lock().unwrap();
        self.store.append_chained(after, chained)
    }

    fn reader(&self) -> Arc<dyn Reader> {
        self.store.reader()
    }
}

fn opening(operator: &str, number: u64) -> Proposal {
    Proposal {
        stream: StreamId::player(operator, format!("p{number}")),
        expected_version: None,
        request_id: "open".into(),
        fingerprint: [0; 16],
        events: vec![Event::AccountOpened { currency: Currency::EUR }],
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn uf_05_proposals_of_one_operator_leave_the_others_their_places_in_the_queue() {
    let index = tempfile::tempdir().unwrap();
    let disk = Arc::new(Mutex::new(()));
    let store = Slow { store: MemoryStore::new(0), disk: Arc::clone(&disk) };
    let options = Options { queue_length_max: 16, operators: 2, batch_commits_max: 1, ..Options::default() };
    let ledger = motherlode_ledger::open(Box::new(store), index.path(), options).unwrap();
    let (sender, mut verdicts) = mpsc::unbounded_channel();
    {
        let _held = disk.lock().unwrap();
        ledger.propose((0..100).map(|number| (number, opening("acme", number), None)), &sender);
        ledger.propose((100..104).map(|number| (number, opening("other", number), None)), &sender);
    }
    let mut busy = vec![];
    let mut left = 104;
    while left > 0 {
        for (ticket, verdict) in verdicts.recv().await.unwrap() {
            left -= 1;
            match verdict {
                Ok(_) => {}
                Err(AppendError::Busy) => busy.push(ticket),
                Err(error) => panic!("{ticket}: {error}"),
            }
        }
    }
    // The operator has 12 slots (4 reserved, 8 shared) for 100 proposals. The writer may have taken one proposal.
    assert!((87..=88).contains(&busy.len()), "{busy:?}");
    assert!(busy.iter().all(|ticket| *ticket < 100), "the other operator's proposals must be accepted: {busy:?}");
    ledger.close().await;
}

async fn order(options: Options, proposals: Vec<Proposal>) -> Vec<String> {
    let index = tempfile::tempdir().unwrap();
    let disk = Arc::new(Mutex::new(()));
    let store = Slow { store: MemoryStore::new(0), disk: Arc::clone(&disk) };
    let ledger = motherlode_ledger::open(Box::new(store), index.path(), options).unwrap();
    let (sender, mut verdicts) = mpsc::unbounded_channel();
    let count = proposals.len();
    {
        let _held = disk.lock().unwrap();
        ledger.propose((0..).zip(proposals).map(|(number, proposal)| (number, proposal, None)), &sender);
    }
    let mut commits = std::collections::BTreeMap::new();
    while commits.len() < count {
        for (ticket, verdict) in verdicts.recv().await.unwrap() {
            let logged = verdict.unwrap_or_else(|error| panic!("{ticket}: {error}"));
            let StreamId::Player { operator, .. } = &logged.commit.stream else { panic!("a player's") };
            commits.insert(logged.commit.position, operator.to_string());
        }
    }
    ledger.close().await;
    commits.into_values().collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn at_b3_operators_take_turns_in_the_queue_by_weight_and_bytes() {
    let options = || Options { queue_length_max: 4_096, operators: 2, batch_commits_max: 8, ..Options::default() };
    let flood = || (0..400).map(|number| opening("acme", number));
    let others = || (0..40).map(|number| opening("other", number));
    let last = |order: &[String]| order.iter().rposition(|operator| operator == "other").unwrap();
    let even = order(options(), flood().chain(others()).collect()).await;
    assert!(last(&even) < 80 + 6 + 16, "{}", last(&even));
    let configured = Operators::of_config(&Config::parse("[[operators]]\nid = 'acme'\nweight = 4").unwrap());
    let weighted = order(Options { configured, ..options() }, flood().chain(others()).collect()).await;
    assert!((160..=240).contains(&last(&weighted)), "{}", last(&weighted));
    let currencies = [Currency::EUR, Currency::USD, Currency::SEK, Currency::JPY, Currency::KWD];
    let long = |proposal: Proposal| Proposal {
        events: currencies.map(|currency| Event::AccountOpened { currency }).into(),
        ..proposal
    };
    let bytes = order(options(), flood().map(long).chain(others()).collect()).await;
    assert!(last(&bytes) < last(&even), "{} and {}", last(&bytes), last(&even));
}
