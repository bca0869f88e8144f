use motherlode_ledger::{AppendError, Handle, Options, Proposal, Standing, Verdicts};
use motherlode_log::{AppendError as Failed, Chained, Hash, LogStart, MemoryStore, Position, Reader, Store};
use motherlode_state::{Currency, Event, Minor, Refused, StreamId};
use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    time::Duration,
};
use tempfile::TempDir;
use tokio::{
    runtime::{Builder, Runtime},
    sync::mpsc,
};

struct ScriptedStore {
    store: MemoryStore,
    begun: Sender<usize>,
    told: Receiver<Do>,
}

enum Do {
    Append,
    Refuse,
    LoseTheReply,
}

impl Store for ScriptedStore {
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
        self.begun.send(chained.records().len()).unwrap();
        match self.told.recv() {
            Ok(Do::Append) | Err(_) => self.store.append_chained(after, chained),
            Ok(Do::Refuse) => Err(Failed::Unavailable(io::Error::other("told so"))),
            Ok(Do::LoseTheReply) => Err(Failed::Unknown(io::Error::other("told so"))),
        }
    }

    fn reader(&self) -> std::sync::Arc<dyn Reader> {
        self.store.reader()
    }
}

struct Desk {
    ledger: Handle,
    begun: Receiver<usize>,
    tell: Sender<Do>,
    sender: mpsc::UnboundedSender<Verdicts>,
    verdicts: mpsc::UnboundedReceiver<Verdicts>,
    _index: TempDir,
}

impl Desk {
    fn open() -> Self {
        Self::open_with(Options::default())
    }

    fn open_with(options: Options) -> Self {
        let index = tempfile::tempdir().unwrap();
        let (begun, appends) = channel();
        let (tell, told) = channel();
        let store = ScriptedStore { store: MemoryStore::new(0), begun, told };
        let ledger = motherlode_ledger::open(Box::new(store), index.path(), options).unwrap();
        let (sender, verdicts) = mpsc::unbounded_channel();
        Self { ledger, begun: appends, tell, sender, verdicts, _index: index }
    }

    fn propose(&self, proposals: impl IntoIterator<Item = (u64, Proposal)>) {
        let proposals = proposals.into_iter().map(|(ticket, proposal)| (ticket, proposal, None));
        self.ledger.propose(proposals, &self.sender);
    }

    fn begun(&self) -> usize {
        self.begun.recv().unwrap()
    }

    fn tell(&self, what: Do) {
        self.tell.send(what).unwrap();
    }

    async fn verdicts(&mut self, count: usize) -> Vec<(u64, Result<Position, AppendError>)> {
        let mut all = vec![];
        while all.len() < count {
            let some = self.verdicts.recv().await.unwrap();
            all.extend(some.into_iter().map(|(ticket, verdict)| (ticket, verdict.map(|made| made.commit.position))));
        }
        assert_eq!(all.len(), count);
        all.sort_unstable_by_key(|(ticket, _)| *ticket);
        all
    }

    fn none_yet(&mut self) {
        assert!(self.verdicts.try_recv().is_err(), "no verdict may be sent before its commit is durable");
    }

    fn balance(&self, player: &str) -> Option<Minor> {
        self.ledger.player(&StreamId::player("acme", player)).unwrap()?.balance(Currency::EUR)
    }
}

fn proposal(player: &str, request_id: &str, event: Event) -> Proposal {
    Proposal {
        stream: StreamId::player("acme", player),
        expected_version: None,
        request_id: request_id.into(),
        fingerprint: [7; 16],
        events: vec![event],
    }
}

fn opening(player: &str) -> Proposal {
    proposal(player, "open", Event::AccountOpened { currency: Currency::EUR })
}

fn deposit(player: &str, request_id: &str, amount: i64) -> Proposal {
    proposal(player, request_id, Event::Deposited { currency: Currency::EUR, amount: Minor(amount) })
}

fn withdrawal(player: &str, request_id: &str, amount: i64) -> Proposal {
    proposal(player, request_id, Event::Withdrawn { currency: Currency::EUR, amount: Minor(amount) })
}

#[tokio::test]
async fn pl_12_the_next_group_is_judged_by_what_is_being_appended_and_read_by_nobody_before() {
    let mut desk = Desk::open();
    desk.propose([(1, opening("alice"))]);
    assert_eq!(desk.begun(), 1);
    desk.propose([(2, deposit("alice", "d", 500))]);
    desk.propose([(3, withdrawal("alice", "w", 200))]);
    desk.none_yet();
    assert_eq!((desk.balance("alice"), desk.ledger.durable(), desk.ledger.waiting()), (None, 0, 3));
    desk.tell(Do::Append);
    assert_eq!(desk.verdicts(1).await, [(1, Ok(1))]);
    assert_eq!(desk.begun(), 2);
    assert_eq!((desk.balance("alice"), desk.ledger.durable()), (Some(Minor(0)), 1));
    desk.none_yet();
    desk.tell(Do::Append);
    assert_eq!(desk.verdicts(2).await, [(2, Ok(2)), (3, Ok(3))]);
    assert_eq!((desk.balance("alice"), desk.ledger.waiting()), (Some(Minor(300)), 0));
    desk.ledger.clone().close().await;
}

#[tokio::test]
async fn pl_11_a_rejection_or_a_repetition_that_rests_on_a_staged_commit_waits_for_it() {
    let mut desk = Desk::open();
    desk.propose([(1, opening("alice"))]);
    desk.begun();
    let again = proposal("alice", "other", Event::AccountOpened { currency: Currency::EUR });
    let changed = Proposal { fingerprint: [8; 16], ..opening("alice") };
    desk.propose([(2, opening("alice")), (3, again), (4, changed), (5, withdrawal("alice", "w", 1))]);
    desk.none_yet();
    desk.tell(Do::Append);
    let refused = |refused| Err(AppendError::Refused(refused));
    assert_eq!(
        desk.verdicts(5).await,
        [
            (1, Ok(1)),
            (2, Ok(1)),
            (3, refused(Refused::AccountExists { currency: Currency::EUR })),
            (4, Err(AppendError::RequestIdReused { request_id: "open".into() })),
            (5, refused(Refused::InsufficientFunds { currency: Currency::EUR, balance: Minor(0), needed: Minor(1) })),
        ]
    );
    desk.propose([(6, deposit("alice", "d", 1))]);
    desk.begun();
    desk.propose([(7, opening("alice"))]);
    assert_eq!(desk.verdicts(1).await, [(7, Ok(1))]);
    desk.tell(Do::Append);
    assert_eq!(desk.verdicts(1).await, [(6, Ok(2))]);
    desk.ledger.clone().close().await;
}

#[tokio::test]
async fn pl_12_a_failed_append_undoes_all_that_was_staged_past_it() {
    let mut desk = Desk::open();
    desk.propose([(1, opening("alice")), (2, opening("bob"))]);
    desk.begun();
    desk.propose([(3, deposit("alice", "d", 500)), (4, opening("alice")), (5, withdrawal("bob", "w", 1))]);
    desk.tell(Do::Refuse);
    for (ticket, verdict) in desk.verdicts(5).await {
        assert!(matches!(verdict, Err(AppendError::Unavailable { .. })), "{ticket}: {verdict:?}");
    }
    assert_eq!((desk.balance("alice"), desk.ledger.durable(), desk.ledger.waiting()), (None, 0, 0));
    assert!(desk.begun.try_recv().is_err(), "commits staged after the failed group must not be appended");
    let mut standing = desk.ledger.standing();
    standing.wait_for(|standing| *standing == Standing::Takes).await.unwrap();
    desk.propose([(6, opening("alice")), (7, deposit("alice", "d", 500))]);
    assert_eq!(desk.begun(), 2);
    desk.tell(Do::Append);
    assert_eq!(desk.verdicts(2).await, [(6, Ok(1)), (7, Ok(2))]);
    assert_eq!(desk.balance("alice"), Some(Minor(500)));
    desk.ledger.clone().close().await;
}

#[tokio::test]
async fn at_a1_while_an_append_hangs_others_are_refused_at_once_and_its_own_requests_are_unknown() {
    let silence_max = Duration::from_millis(1);
    let mut desk = Desk::open_with(Options { silence_max, ..Options::default() });
    desk.propose([(1, opening("alice"))]);
    desk.begun();
    let mut standing = desk.ledger.standing();
    standing.wait_for(|standing| matches!(standing, Standing::Stalled(_))).await.unwrap();
    desk.propose([(2, opening("bob")), (3, opening("alice"))]);
    let verdicts = desk.verdicts(2).await;
    assert!(matches!(verdicts[0], (2, Err(AppendError::Unavailable { .. }))), "{verdicts:?}");
    assert!(matches!(verdicts[1], (3, Err(AppendError::Unknown { .. }))), "{verdicts:?}");
    desk.none_yet();
    desk.tell(Do::Append);
    assert_eq!(desk.verdicts(1).await, [(1, Ok(1))]);
    standing.wait_for(|standing| *standing == Standing::Takes).await.unwrap();
    desk.propose([(4, opening("alice"))]);
    assert_eq!(desk.verdicts(1).await, [(4, Ok(1))], "a repeated request must get the first commit");
    desk.ledger.clone().close().await;
}

#[tokio::test]
async fn at_e_an_append_ages_until_it_ends() {
    let mut desk = Desk::open();
    assert_eq!(desk.ledger.append_age(), Duration::ZERO);
    desk.propose([(1, opening("alice"))]);
    desk.begun();
    let young = desk.ledger.append_age();
    while desk.ledger.append_age() == young {
        tokio::task::yield_now().await;
    }
    desk.propose([(2, opening("bob"))]);
    assert!(desk.ledger.append_age() > young && young > Duration::ZERO);
    desk.tell(Do::Append);
    desk.begun();
    desk.tell(Do::Append);
    desk.verdicts(2).await;
    let ended = async { while desk.ledger.append_age() > Duration::ZERO {} };
    tokio::time::timeout(Duration::from_secs(60), ended).await.unwrap();
    desk.ledger.clone().close().await;
}

#[tokio::test]
async fn at_e_the_age_of_a_record_is_that_of_the_oldest_after_a_position_by_the_logs_time() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), Arc::new(AtomicI64::new(1_000_000)));
    let time = Arc::clone(&clock);
    let options = Options::on_clock(move || time.load(Ordering::SeqCst));
    let ledger = motherlode_ledger::open(Box::new(MemoryStore::new(0)), folder.path(), options).unwrap();
    assert_eq!(ledger.age_after(0).unwrap(), Duration::ZERO, "the log is empty");
    for (player, later_ms) in [("alice", 0), ("bob", 90_000), ("carol", 5_000)] {
        clock.fetch_add(later_ms, Ordering::SeqCst);
        ledger.append(opening(player)).await.unwrap();
    }
    clock.fetch_add(1_000, Ordering::SeqCst);
    let ages = [0, 1, 2, 3, 4].map(|position| ledger.age_after(position).unwrap().as_secs());
    assert_eq!(ages, [96, 6, 1, 0, 0]);
    ledger.close().await;
}

#[tokio::test]
async fn pl_11_of_an_append_in_doubt_only_its_own_requests_are_unknown() {
    let mut desk = Desk::open();
    desk.propose([(1, opening("alice"))]);
    desk.begun();
    desk.propose([(2, deposit("alice", "d", 500)), (3, opening("alice"))]);
    desk.tell(Do::LoseTheReply);
    let verdicts = desk.verdicts(3).await;
    assert!(
        matches!(
            verdicts.as_slice(),
            [
                (1, Err(AppendError::Unknown { .. })),
                (2, Err(AppendError::Unavailable { .. })),
                (3, Err(AppendError::Unknown { .. }))
            ]
        ),
        "{verdicts:?}"
    );
    desk.ledger.clone().close().await;
}

fn one_durable() -> (Desk, Runtime) {
    let (mut desk, runtime) = (Desk::open(), Builder::new_current_thread().build().unwrap());
    desk.ledger.publish_on(runtime.handle());
    desk.propose([(1, opening("alice"))]);
    desk.begun();
    desk.propose([(2, deposit("alice", "d", 500))]);
    desk.tell(Do::Append);
    assert_eq!(desk.begun(), 1);
    desk.none_yet();
    assert_eq!(desk.balance("alice"), None);
    (desk, runtime)
}

#[test]
fn pl_12_a_durable_group_is_published_where_it_was_said_and_by_the_appender_when_that_has_ended() {
    let (mut desk, runtime) = one_durable();
    desk.propose([(3, withdrawal("alice", "w", 400))]);
    assert_eq!(positions(runtime.block_on(desk.verdicts.recv())), [(1, Ok(1))]);
    assert_eq!(desk.balance("alice"), Some(Minor(0)));
    desk.tell(Do::Append);
    desk.begun();
    desk.none_yet();
    drop(runtime);
    assert_eq!(positions(desk.verdicts.blocking_recv()), [(2, Ok(2))]);
    desk.tell(Do::Append);
    assert_eq!(
        positions(desk.verdicts.blocking_recv()),
        [(3, Ok(3))],
        "the verdict must take unpublished commits into account"
    );
    assert_eq!(desk.balance("alice"), Some(Minor(100)));
}

#[test]
fn pl_12_a_failed_append_undoes_nothing_that_is_durable_and_not_published_yet() {
    let (mut desk, _runtime) = one_durable();
    desk.propose([(3, withdrawal("alice", "w", 400))]);
    desk.tell(Do::Refuse);
    assert_eq!(positions(desk.verdicts.blocking_recv()), [(1, Ok(1))]);
    let refused = positions(desk.verdicts.blocking_recv());
    assert!(
        matches!(&refused[..], [(2, Err(AppendError::Unavailable { .. })), (3, Err(AppendError::Unavailable { .. }))]),
        "{refused:?}"
    );
    assert_eq!(desk.balance("alice"), Some(Minor(0)));
}

#[test]
fn pl_12_what_is_durable_and_not_published_is_answered_when_the_ledger_closes() {
    let (mut desk, _runtime) = one_durable();
    desk.tell(Do::Append);
    Builder::new_current_thread().build().unwrap().block_on(desk.ledger.clone().close());
    let mut answered = vec![];
    while let Ok(verdicts) = desk.verdicts.try_recv() {
        answered.extend(positions(Some(verdicts)));
    }
    assert_eq!(answered, [(1, Ok(1)), (2, Ok(2))]);
}

fn positions(verdicts: Option<Verdicts>) -> Vec<(u64, Result<Position, AppendError>)> {
    verdicts.unwrap().into_iter().map(|(ticket, verdict)| (ticket, verdict.map(|made| made.commit.position))).collect()
}

#[tokio::test]
async fn mf_b2_operators_take_turns_while_a_full_group_waits_for_the_disk() {
    const GROUP: u64 = 32;
    const TURN: u64 = 2048 / 320;
    let options = Options { batch_commits_max: usize::try_from(GROUP).unwrap(), ..Options::default() };
    let mut desk = Desk::open_with(options);
    let opened = || Event::AccountOpened { currency: Currency::EUR };
    desk.propose([(0, proposal("first", "open", opened()))]);
    assert_eq!(desk.begun(), 1);
    let flood = 4 * GROUP;
    desk.propose((1..=flood).map(|ticket| (ticket, proposal(&format!("flood-{ticket}"), "open", opened()))));
    let other = Proposal { stream: StreamId::player("other", "bob"), ..proposal("bob", "open", opened()) };
    desk.propose([(flood + 1, other)]);
    for _ in 0..3 {
        desk.tell(Do::Append);
    }
    let verdicts = desk.verdicts(usize::try_from(1 + 2 * GROUP).unwrap()).await;
    let place = |ticket: u64| verdicts.iter().find(|(of, _)| *of == ticket).map(|(_, made)| made.clone().unwrap());
    let bob = place(flood + 1).expect("the proposal must be answered with the third group");
    assert!(bob <= 1 + GROUP + TURN + 1, "bob's commit is at {bob}");
    for _ in 0..3 {
        desk.tell(Do::Append);
    }
    let rest = desk.verdicts(usize::try_from(flood + 2 - (1 + 2 * GROUP)).unwrap()).await;
    let flooded = verdicts.into_iter().chain(rest).filter(|(ticket, _)| (1..=flood).contains(ticket));
    let positions: Vec<_> = flooded.map(|(_, made)| made.unwrap()).collect();
    assert!(positions.is_sorted(), "one operator's proposals must keep their order");
    let Desk { ledger, tell, .. } = desk;
    drop(tell);
    ledger.close().await;
}

#[tokio::test]
async fn mf_b2_what_waits_for_its_turn_is_answered_when_the_disk_fails_and_at_the_end() {
    for fails in [true, false] {
        let test = async {
            let mut desk = Desk::open();
            let opened = || Event::AccountOpened { currency: Currency::EUR };
            desk.propose([(0, proposal("first", "open", opened()))]);
            assert_eq!(desk.begun(), 1);
            desk.propose((1..=2_000).map(|ticket| (ticket, proposal(&format!("p-{ticket}"), "open", opened()))));
            if fails {
                desk.tell(Do::Refuse);
                let verdicts = desk.verdicts(2_001).await;
                let is_told = |made: &Result<_, _>| matches!(made, Err(AppendError::Unavailable { .. }));
                assert!(verdicts.iter().all(|(_, made)| is_told(made)));
                let Desk { ledger, tell, .. } = desk;
                drop(tell);
                return ledger.close().await;
            }
            let Desk { ledger, tell, mut verdicts, .. } = desk;
            drop(tell);
            ledger.close().await;
            let mut answered = 0;
            while let Ok(some) = verdicts.try_recv() {
                answered += some.len();
            }
            assert_eq!(answered, 2_001);
        };
        test.await;
    }
}
