use crate::common::*;
use motherlode_state::*;

const EUR: Currency = Currency::EUR;

fn alice() -> StreamId {
    player("alice")
}

fn world() -> World {
    let mut world = World::with_players(&["bob"]);
    world.write(alice(), vec![Event::AccountOpened { currency: EUR }, Event::SeamlessChosen]);
    world
}

fn wallet(world: &World) -> &Wallet {
    world.books.player(&alice()).unwrap().wallet().unwrap()
}

fn named(world: &mut World, request_id: &str, events: Vec<Event>) -> Result<(), Refused> {
    let commit = Commit { request_id: request_id.into(), ..world.next(alice(), events) };
    let recalled = world.recall(&commit);
    let applied = world.books.apply_recalling(&commit, recalled.as_ref());
    if applied.is_ok() {
        world.log.push(commit);
    }
    check(&world.books);
    let owing = wallet(world).dues.iter().any(|due| !due.held);
    assert_eq!(world.books.owing_players("acme", "").count(), usize::from(owing), "a held call is not sent");
    applied
}

fn choose(world: &mut World, rounds: bool) {
    named(world, &format!("chosen-{rounds}-{}", world.log.len()), vec![Event::RoundReportsChosen { rounds }]).unwrap();
}

fn play(world: &mut World, request_id: &str, win: i64) -> u64 {
    let amount = Minor(100);
    let asked = DebitAsked { request_id: request_id.into(), fingerprint: [0; 16], currency: EUR, amount, facts: None };
    named(world, &format!("debit/{request_id}"), vec![Event::DebitAsked(asked)]).unwrap();
    let started = world.start("alice", POOL, EUR, 100, "0.2");
    let number = started.round;
    let confirmed = Event::DebitConfirmed { amount, reported_balance: Minor(0), answer: None };
    let events = vec![confirmed, Event::RoundStarted(started.into()), step(number, 1, win), settled(number, win)];
    named(world, request_id, events).unwrap();
    number
}

fn dues(world: &World) -> Vec<(&str, i64, u64, bool)> {
    wallet(world).dues.iter().map(|due| (due.request_id.as_str(), due.amount.0, due.closes, due.held)).collect()
}

fn paid(request_id: &str, amount: i64) -> Event {
    let (request_id, amount, reported_balance) = (request_id.into(), Minor(amount), Minor(0));
    Event::CreditPaid { request_id, currency: EUR, amount, reported_balance, answer: None }
}

fn reported(request_id: &str, round: u64, skipped: bool) -> Event {
    Event::CloseReported { request_id: request_id.into(), currency: EUR, round, skipped }
}

fn held(request_id: &str, close: u64) -> Event {
    let reason = "no".to_owned();
    Event::WalletCallHeld { request_id: request_id.into(), currency: EUR, close, reason, code: 3 }
}

fn released(request_id: &str, close: u64) -> Event {
    Event::WalletCallReleased { request_id: request_id.into(), currency: EUR, close }
}

#[test]
fn pl_39_ends_of_rounds_are_due_once_that_is_chosen_and_never_in_older_logs() {
    let mut world = world();
    play(&mut world, "old", 0);
    play(&mut world, "won", 30);
    assert_eq!(dues(&world), [("won", 30, 0, false)], "as ever");
    choose(&mut world, true);
    let lost = play(&mut world, "lost", 0);
    let won = play(&mut world, "again", 40);
    assert_eq!(dues(&world), [("won", 30, 0, false), ("lost", 0, lost, false), ("again", 40, won, false)]);
    assert_eq!(wallet(&world).due(EUR), Minor(70));
    choose(&mut world, false);
    play(&mut world, "off", 0);
    assert_eq!(dues(&world).len(), 3);
}

#[test]
fn pl_39_an_end_is_reported_once_in_its_turn() {
    let mut world = world();
    choose(&mut world, true);
    let (won, lost) = (play(&mut world, "won", 30), play(&mut world, "lost", 0));
    assert_eq!(
        named(&mut world, "a", vec![reported("lost", lost, false)]),
        Err(Refused::NoSuchDue),
        "the credit is sent first"
    );
    assert_eq!(named(&mut world, "b", vec![reported("won", won, false)]), Err(Refused::NoSuchDue), "it's a credit");
    named(&mut world, "c", vec![paid("won", 30)]).unwrap();
    assert_eq!(named(&mut world, "d", vec![paid("lost", 0)]), Err(Refused::NoSuchDue), "the due call is not a credit");
    assert_eq!(named(&mut world, "e", vec![reported("lost", won, false)]), Err(Refused::NoSuchDue), "another round");
    assert_eq!(named(&mut world, "f", vec![reported("lost", 0, false)]), Err(Refused::NoSuchDue));
    named(&mut world, "g", vec![reported("lost", lost, false)]).unwrap();
    assert_eq!(named(&mut world, "h", vec![reported("lost", lost, false)]), Err(Refused::NoSuchDue), "once");
    assert!(!wallet(&world).is_busy());
}

#[test]
fn pl_39_a_held_call_waits_and_later_ones_go_on() {
    let mut world = world();
    choose(&mut world, true);
    let first = play(&mut world, "r1", 30);
    let lost = play(&mut world, "r2", 0);
    play(&mut world, "r3", 50);
    assert_eq!(named(&mut world, "x", vec![released("r1", 0)]), Err(Refused::NoSuchDue), "the call is not held");
    named(&mut world, "a", vec![held("r1", 0)]).unwrap();
    assert_eq!(named(&mut world, "y", vec![held("r1", 0)]), Err(Refused::NoSuchDue), "it's held");
    assert_eq!(named(&mut world, "z", vec![paid("r1", 30)]), Err(Refused::NoSuchDue), "a held credit is not sent");
    named(&mut world, "b", vec![held("r2", lost)]).unwrap();
    named(&mut world, "c", vec![paid("r3", 50)]).unwrap();
    assert_eq!(dues(&world), [("r1", 30, first, true), ("r2", 0, lost, true)]);
    assert!(wallet(&world).is_busy() && !wallet(&world).is_owing());
    named(&mut world, "d", vec![released("r1", 0), released("r2", lost)]).unwrap();
    named(&mut world, "e", vec![paid("r1", 30)]).unwrap();
    named(&mut world, "f", vec![reported("r2", lost, false)]).unwrap();
    assert!(!wallet(&world).is_busy());
}

fn void(world: &mut World, request_id: &str, round: u64, left: Option<i64>) -> Result<(), Refused> {
    let due = left.map(|left| Event::ReversalDue { round, amount: Minor(left) });
    named(world, request_id, [voided(round, 100, 100)].into_iter().chain(due).collect())
}

fn taken(request_id: &str, round: u64, amount: i64) -> Event {
    let (request_id, amount, reported_balance) = (request_id.into(), Minor(amount), Minor(0));
    Event::ReversalTaken { request_id, round, currency: EUR, amount, reported_balance, answer: None }
}

fn house(world: &World) -> i128 {
    world.books.holding(Account::House("acme"), EUR).0
}

#[test]
fn pl_39_the_win_that_a_void_leaves_is_taken_back_once_from_the_operators_wallet() {
    let mut world = world();
    let round = play(&mut world, "won", 500);
    named(&mut world, "a", vec![paid("won", 500)]).unwrap();
    let wrong = Err(Refused::WrongAmount { expected: Minor(400), found: Minor(401) });
    assert_eq!(void(&mut world, "v", round, Some(401)), wrong);
    assert_eq!(void(&mut world, "v", round + 1, Some(400)), Err(Refused::NoSuchRound { round: round + 1 }));
    void(&mut world, "v", round, Some(400)).unwrap();
    assert_eq!(dues(&world), [("v", -400, round, false)]);
    assert_eq!(wallet(&world).due(EUR), Minor(0), "the money is in no account before the wallet confirms the reversal");
    let before = house(&world);
    for (round, amount) in [(round, 399), (round + 1, 400)] {
        assert!(named(&mut world, "b", vec![taken("v", round, amount)]).is_err());
    }
    named(&mut world, "c", vec![taken("v", round, 400)]).unwrap();
    assert_eq!(house(&world) - before, 400 * 10_000_000, "minor units as nanos");
    assert_eq!(named(&mut world, "d", vec![taken("v", round, 400)]), Err(Refused::NoSuchDue), "once");
    let again = vec![Event::ReversalDue { round, amount: Minor(400) }];
    assert_eq!(named(&mut world, "e", again), Err(Refused::NoSuchDue), "only a void can make a reversal due");
    assert!(!wallet(&world).is_busy());
    world.settle_pool();
    let older = play(&mut world, "older", 500);
    named(&mut world, "f", vec![paid("older", 500)]).unwrap();
    void(&mut world, "w", older, None).unwrap();
    assert!(!wallet(&world).is_busy(), "in older logs the player keeps the win");
}

#[test]
fn pl_39_a_reversal_waits_for_earlier_credits_held_or_not_and_closes_its_round() {
    let mut world = world();
    choose(&mut world, true);
    let round = play(&mut world, "won", 500);
    void(&mut world, "v", round, Some(400)).unwrap();
    world.settle_pool();
    assert_eq!(
        dues(&world),
        [("won", 500, round, false), ("v", -400, round, false)],
        "the reversal also reports the void"
    );
    assert_eq!(
        named(&mut world, "a", vec![taken("v", round, 400)]),
        Err(Refused::NoSuchDue),
        "a reversal waits for the credit of the win"
    );
    named(&mut world, "b", vec![held("won", 0)]).unwrap();
    assert_eq!(
        named(&mut world, "c", vec![taken("v", round, 400)]),
        Err(Refused::NoSuchDue),
        "a reversal also waits for a held credit"
    );
    let lost = play(&mut world, "lost", 0);
    named(&mut world, "d", vec![reported("lost", lost, false)]).unwrap();
    named(&mut world, "e", vec![released("won", 0), paid("won", 500)]).unwrap();
    named(&mut world, "f", vec![held("v", 0)]).unwrap();
    assert_eq!(
        named(&mut world, "g", vec![taken("v", round, 400)]),
        Err(Refused::NoSuchDue),
        "a refused reversal is held"
    );
    named(&mut world, "h", vec![released("v", 0), taken("v", round, 400)]).unwrap();
    assert!(!wallet(&world).is_busy());
}

#[test]
fn pl_39_a_credit_overtakes_reports_of_other_rounds_only() {
    let mut world = world();
    choose(&mut world, true);
    let lost = play(&mut world, "lost", 0);
    named(&mut world, "v", vec![voided(lost, 100, 0)]).unwrap();
    world.settle_pool();
    let won = play(&mut world, "won", 30);
    play(&mut world, "more", 40);
    let order = [("lost", 0, lost, false), ("v", 100, lost, false), ("won", 30, won, false), ("more", 40, 3, false)];
    assert_eq!(dues(&world), order);
    assert_eq!(
        named(&mut world, "a", vec![paid("v", 100)]),
        Err(Refused::NoSuchDue),
        "the credit waits for the report of its round's end"
    );
    assert_eq!(named(&mut world, "b", vec![paid("more", 40)]), Err(Refused::NoSuchDue), "credits keep their order");
    named(&mut world, "c", vec![paid("won", 30)]).unwrap();
    named(&mut world, "d", vec![paid("more", 40)]).unwrap();
    named(&mut world, "e", vec![reported("lost", lost, false)]).unwrap();
    named(&mut world, "f", vec![paid("v", 100)]).unwrap();
    assert!(!wallet(&world).is_busy());
}

#[test]
fn pl_39_a_report_that_the_settings_no_longer_have_is_skipped_held_or_not() {
    let mut world = world();
    choose(&mut world, true);
    play(&mut world, "won", 30);
    let lost = play(&mut world, "lost", 0);
    named(&mut world, "a", vec![held("lost", lost)]).unwrap();
    named(&mut world, "b", vec![reported("lost", lost, true)]).unwrap();
    assert_eq!(named(&mut world, "c", vec![reported("won", 1, true)]), Err(Refused::NoSuchDue), "never a credit");
    assert_eq!(dues(&world), [("won", 30, 1, false)]);
}

#[test]
fn pl_39_waiting_reports_are_bounded() {
    let mut world = world();
    choose(&mut world, true);
    for number in 0..Wallet::CLOSES_MAX {
        assert_eq!(wallet(&world).full(), None);
        play(&mut world, &format!("r{number}"), 0);
    }
    assert_eq!(wallet(&world).full(), Some(Wallet::CLOSES_MAX));
}

#[test]
fn pl_39_a_free_round_is_opened_at_the_wallet_without_money_and_nothing_else_is() {
    let mut world = world();
    let asked = |facts: Option<DebitFacts>| {
        let (request_id, amount) = ("r".into(), Minor::ZERO);
        let facts = facts.map(Box::new);
        Event::DebitAsked(DebitAsked { request_id, fingerprint: [0; 16], currency: EUR, amount, facts })
    };
    let none = Err(Refused::BadAmount { amount: Minor::ZERO });
    assert_eq!(named(&mut world, "debit/r", vec![asked(None)]), none);
    assert_eq!(named(&mut world, "debit/r", vec![asked(Some(DebitFacts::default()))]), none);
    let free = DebitFacts { campaign: Some("spring".into()), ..DebitFacts::default() };
    named(&mut world, "debit/r", vec![asked(Some(free))]).unwrap();
    let started = world.start("alice", POOL, EUR, 100, "0.2");
    let confirmed = Event::DebitConfirmed { amount: Minor::ZERO, reported_balance: Minor(0), answer: None };
    assert_eq!(named(&mut world, "r", vec![confirmed, Event::RoundStarted(started.into())]), Err(Refused::DebitUnused));
}

#[test]
fn pl_39_a_session_reference_changes_nothing() {
    let mut world = world();
    let session = |text: &str| vec![Event::OperatorSession { session: text.into() }];
    let before = wallet(&world).clone();
    named(&mut world, "s", session("op-7")).unwrap();
    assert_eq!(*wallet(&world), before);
    assert_eq!(named(&mut world, "t", session("")), Err(Refused::NoSuchSession));
}

#[test]
fn pl_39_waiting_reports_are_bounded_for_new_rounds() {
    let mut world = world();
    choose(&mut world, true);
    for number in 0..Wallet::CLOSES_MAX {
        play(&mut world, &format!("r{number}"), 0);
    }
    let amount = Minor(100);
    let asked = DebitAsked { request_id: "last".into(), fingerprint: [0; 16], currency: EUR, amount, facts: None };
    named(&mut world, "debit/last", vec![Event::DebitAsked(asked)]).unwrap();
    let started = world.start("alice", POOL, EUR, 100, "0.2");
    let number = started.round;
    let confirmed = Event::DebitConfirmed { amount, reported_balance: Minor(0), answer: None };
    let events = vec![confirmed, Event::RoundStarted(started.into()), step(number, 1, 0), settled(number, 0)];
    let commit = Commit { request_id: "last".into(), ..world.next(alice(), events) };
    assert_eq!(world.books.admit(&commit), Err(Refused::DuesWaiting { most: Wallet::CLOSES_MAX }));
}
