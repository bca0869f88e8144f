//! The writer's queue is shared by the operators (issue 10, A5).

use motherlode_books::{Currency, Event, StreamId};
use motherlode_ledger::{AppendError, Options, Proposal};
use motherlode_log::{AppendError as Failed, Chained, Hash, MemoryStore, Position, Reader, Store};
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::sync::mpsc;

/// A store whose disk works only when it's let.
struct Slow {
    store: MemoryStore,
    disk: Arc<Mutex<()>>,
}

impl Store for Slow {
    fn partition(&self) -> u32 {
        self.store.partition()
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

/// The opening of an account of an operator's player.
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
    // Four places are its own and eight are whoever's; one more is with the writer by then, or not yet.
    assert!((87..=88).contains(&busy.len()), "{busy:?}");
    assert!(busy.iter().all(|ticket| *ticket < 100), "the other operator's were taken: {busy:?}");
    ledger.close().await;
}
