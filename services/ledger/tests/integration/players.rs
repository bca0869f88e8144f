use motherlode_ledger::{AppendError, Handle, Options, Proposal};
use motherlode_log::SegmentStore;
use motherlode_runtime::{Reason, Refusal};
use motherlode_state::{Books, Currency, Event, FxRate, Minor, PlayerState, StreamId};
use proptest::prelude::*;
use std::{fs, path::PathBuf};

const PLAYERS: usize = 24;
const FEW: usize = 3;

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn index(&self) -> PathBuf {
        self.0.path().join("index")
    }

    fn snapshot(&self) -> Option<PathBuf> {
        let files = fs::read_dir(self.index().with_extension("views").join("checkpoints")).into_iter().flatten();
        files.map(|file| file.unwrap().path()).next()
    }

    fn tables(&self) -> Vec<PathBuf> {
        let files = fs::read_dir(self.index().with_extension("views").join("tables")).into_iter().flatten().flatten();
        let is_players = |file: &PathBuf| fs::read(file).unwrap().windows(7).any(|bytes| bytes == b"players");
        files.map(|file| file.path()).filter(is_players).collect()
    }

    fn open(&self, players_max: usize) -> Handle {
        let store = SegmentStore::open(&self.0.path().join("log"), 0, motherlode_log::Options::default()).unwrap();
        let options = Options { snapshot_commits: 1, players_max, ..Options::default() };
        motherlode_ledger::open(Box::new(store), &self.index(), options).unwrap()
    }
}

fn stream(player: usize) -> StreamId {
    StreamId::player(if player.is_multiple_of(2) { "acme" } else { "zeta" }, format!("p{player}"))
}

fn deposit(player: usize, request_id: String, is_first: bool) -> Proposal {
    let open = is_first.then_some(Event::AccountOpened { currency: Currency::EUR });
    let deposit = Event::Deposited { currency: Currency::EUR, amount: Minor(5) };
    Proposal {
        stream: stream(player),
        expected_version: None,
        request_id: request_id.into(),
        fingerprint: [1; 16],
        events: open.into_iter().chain([deposit]).collect(),
    }
}

fn states(ledger: &Handle) -> Vec<Option<PlayerState>> {
    (0..PLAYERS).map(|player| ledger.player(&stream(player)).unwrap()).collect()
}

fn rest(ledger: &Handle) -> String {
    ledger.books(|books| {
        let totals = ["acme", "zeta"].map(|operator| books.players_total(operator, Currency::EUR));
        format!("{:?} {totals:?} {:?}", books.end(0).position, books.trial_balance())
    })
}

#[derive(Debug, Clone)]
enum Act {
    Deposit(Vec<usize>),
    Restart,
    Anew,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        8 => prop::collection::vec(0..PLAYERS, 1..8).prop_map(Act::Deposit),
        3 => Just(Act::Restart),
        1 => Just(Act::Anew),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pl_30_books_with_few_players_in_memory_answer_as_books_with_all(acts in prop::collection::vec(act(), 1..16)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (all, few) = (Folder::new(), Folder::new());
            let mut ledgers = [all.open(usize::MAX), few.open(FEW)];
            let mut known = [0_u32; PLAYERS];
            for (number, act) in acts.into_iter().enumerate() {
                if let Act::Deposit(players) = &act {
                    for (place, player) in players.iter().enumerate() {
                        known[*player] += 1;
                        let proposal = deposit(*player, format!("{number}-{place}"), known[*player] == 1);
                        for ledger in &ledgers {
                            let made = ledger.append(proposal.clone()).await.unwrap();
                            assert_eq!(made.balances_after, [(Currency::EUR, Minor(5 * i64::from(known[*player])))]);
                        }
                    }
                } else {
                    for ledger in ledgers {
                        ledger.close().await;
                    }
                    if matches!(act, Act::Anew) {
                        few.snapshot().into_iter().for_each(|snapshot| fs::remove_file(snapshot).unwrap());
                    }
                    ledgers = [all.open(usize::MAX), few.open(FEW)];
                    let in_memory = ledgers[1].players_in_memory();
                    assert!(in_memory <= FEW as u64, "{in_memory} players are in memory after a start");
                }
                let [all, few] = &ledgers;
                assert_eq!(states(few), states(all));
                assert_eq!(rest(few), rest(all));
            }
            for ledger in ledgers {
                ledger.close().await;
            }
        });
    }
}

#[tokio::test]
async fn pl_30_a_start_reads_no_player_before_it_is_asked_for() {
    let folder = Folder::new();
    let ledger = folder.open(usize::MAX);
    for player in 0..PLAYERS {
        ledger.append(deposit(player, "first".into(), true)).await.unwrap();
    }
    let before = states(&ledger);
    ledger.close().await;
    let ledger = folder.open(usize::MAX);
    assert_eq!((ledger.players_in_memory(), ledger.player_reloads()), (0, 0));
    let again = ledger.append(deposit(3, "first".into(), true)).await.unwrap();
    assert_eq!((again.commit.position, ledger.durable()), (4, PLAYERS as u64));
    assert_eq!(ledger.player(&StreamId::player("acme", "nobody")).unwrap(), None);
    assert_eq!((ledger.players_in_memory(), ledger.player_reloads()), (0, 0));
    let twice = ledger.append(deposit(5, "second".into(), true)).await.unwrap_err();
    assert!(matches!(twice, AppendError::Refused(_)), "the account is open: {twice:?}");
    assert_eq!((ledger.players_in_memory(), ledger.player_reloads()), (1, 1));
    assert_eq!(states(&ledger), before);
    ledger.close().await;
}

#[tokio::test]
async fn pl_30_a_player_whose_image_is_damaged_is_refused_with_the_place_and_the_next_start_heals() {
    let folder = Folder::new();
    let ledger = folder.open(usize::MAX);
    for player in 0..PLAYERS {
        ledger.append(deposit(player, "first".into(), true)).await.unwrap();
    }
    let before = states(&ledger);
    ledger.close().await;
    for file in folder.tables() {
        let mut bytes = fs::read(&file).unwrap();
        bytes[30] ^= 1;
        fs::write(&file, bytes).unwrap();
    }

    let ledger = folder.open(usize::MAX);
    assert_eq!(*ledger.unreadable_players().borrow(), None, "no damaged player was read");
    let refusal = Refusal::from(ledger.player(&stream(1)).unwrap_err());
    let names = folder.tables().into_iter().map(|file| file.file_name().unwrap().to_str().unwrap().to_owned());
    let places: Vec<_> = names.map(|name| format!("{name}: the block at byte 0 is damaged")).collect();
    let tells = |what: &str| places.iter().any(|place| what.contains(place));
    let told = format!("{refusal:?}");
    assert!(refusal.reason() == Reason::IndexUnreadable && tells(&told), "{told}");
    let refused = ledger.append(deposit(1, "second".into(), false)).await.unwrap_err();
    assert!(matches!(refused, AppendError::Unavailable { .. }), "{refused:?}");
    assert!(ledger.unreadable_players().borrow().as_ref().is_some_and(|why| tells(why)));
    let rate = Event::RateSet { currency: Currency::USD, rate: FxRate::ONE, source: "ECB".into() };
    let proposal = Proposal { stream: StreamId::Rates, events: vec![rate], ..deposit(1, "rate".into(), false) };
    ledger.append(proposal).await.unwrap();
    assert_eq!(folder.snapshot(), None);
    ledger.close().await;
    assert_eq!(folder.snapshot(), None, "no snapshot may be written after the damage");

    let ledger = folder.open(usize::MAX);
    assert_eq!(states(&ledger), before);
    assert_eq!(*ledger.unreadable_players().borrow(), None);
    ledger.close().await;
    let ledger = folder.open(usize::MAX);
    assert_eq!(
        (ledger.players_in_memory(), states(&ledger)),
        (0, before),
        "the players must come from rewritten tables"
    );
    ledger.close().await;
}

#[tokio::test]
async fn pl_30_a_start_that_needs_a_damaged_image_folds_the_log_anew() {
    let folder = Folder::new();
    let ledger = folder.open(usize::MAX);
    for player in 0..PLAYERS {
        ledger.append(deposit(player, "first".into(), true)).await.unwrap();
    }
    ledger.close().await;
    let snapshot = folder.snapshot().unwrap();
    let bytes = fs::read(&snapshot).unwrap();
    let files = folder.tables();
    let tables: Vec<_> = files.iter().map(|file| fs::read(file).unwrap()).collect();
    let ledger = folder.open(usize::MAX);
    for player in 0..PLAYERS {
        ledger.append(deposit(player, "second".into(), false)).await.unwrap();
    }
    let before = (states(&ledger), ledger.books(Books::clone));
    ledger.close().await;
    for (file, mut bytes) in files.iter().zip(tables) {
        bytes[30] ^= 1;
        fs::write(file, bytes).unwrap();
    }
    fs::remove_file(folder.snapshot().unwrap()).unwrap();
    fs::write(snapshot, bytes).unwrap();
    let ledger = folder.open(usize::MAX);
    assert_eq!((states(&ledger), ledger.books(Books::clone)), before);
    ledger.close().await;
    let ledger = folder.open(usize::MAX);
    assert_eq!((ledger.players_in_memory(), states(&ledger)), (0, before.0));
    ledger.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_37_the_digest_of_a_snapshot_is_that_of_the_books_whatever_its_tables() {
    let (few, many) = (Folder::new(), Folder::new());
    for (folder, players_max, restarts) in [(&few, FEW, true), (&many, 1_000, false)] {
        let mut ledger = folder.open(players_max);
        for round in 0..3 {
            for player in 0..PLAYERS {
                ledger.append(deposit(player, format!("{round}"), round == 0)).await.unwrap();
            }
            if restarts {
                ledger.close().await;
                ledger = folder.open(players_max);
            }
        }
        ledger.close().await;
    }
    let bases = [&few, &many].map(|folder| motherlode_ledger::base(&folder.index(), 0).unwrap().unwrap());
    assert_eq!(bases[0].position, 3 * PLAYERS as u64);
    let ledger = many.open(1_000);
    assert!(states(&ledger).iter().all(Option::is_some), "loaded");
    assert_eq!(ledger.books(Books::digest).unwrap(), bases[1].digest);
    let records = ledger.records(bases[1].position, 1, usize::MAX).unwrap();
    assert_eq!(motherlode_log::hash(&records[0].bytes), bases[1].record_hash);
    ledger.close().await;
    let mut whole = Books::new();
    let store = SegmentStore::open(&few.0.path().join("log"), 0, motherlode_log::Options::default()).unwrap();
    for record in motherlode_log::Store::reader(&store).read(1, usize::MAX, usize::MAX).unwrap() {
        let commit = motherlode_proto::convert::record::decode(&record.bytes).unwrap().commit;
        whole.apply_recorded(&commit, None, motherlode_log::hash(&record.bytes)).unwrap();
    }
    assert_eq!(whole.digest().unwrap(), bases[0].digest);
}
