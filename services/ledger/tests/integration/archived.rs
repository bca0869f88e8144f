use motherlode_ledger::{AppendError, ChainHead, FetchError, Handle, OpenError, Options, Proposal, Recovered, rounds};
use motherlode_log::{LogStart, MemoryStore, ReadError, Store, hash};
use motherlode_runtime::{Reason, Refusal};
use motherlode_state::{Currency, Event, Minor, StreamId};
use motherlode_testkit::{archiving::ArchivingStore, logs};
use std::path::Path;

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
