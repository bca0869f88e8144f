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

fn transit(world: &World) -> Nano {
    world.books.holding(Account::Transit("acme"), EUR)
}

fn named(world: &mut World, request_id: &str, events: Vec<Event>) -> Result<(), Refused> {
    let commit = Commit { request_id: request_id.into(), ..world.next(alice(), events) };
    let recalled = world.recall(&commit);
    let before = world.books.clone();
    let applied = world.books.apply_recalling(&commit, recalled.as_ref());
    match &applied {
        Ok(()) => world.log.push(commit),
        Err(_) => assert_eq!(world.books, before, "a refused commit changed something"),
    }
    check(&world.books);
    let busy = wallet(world).debit.is_some() || !wallet(world).dues.is_empty();
    let alice_if = |holds: bool| if holds { vec!["alice"] } else { vec![] };
    assert_eq!(world.books.busy_players("acme", "").collect::<Vec<_>>(), alice_if(busy));
    let rolling_back = wallet(world).debit.as_ref().map(|debit| debit.rolling_back);
    let owing = !wallet(world).dues.is_empty() || rolling_back == Some(true);
    assert_eq!(world.books.owing_players("acme", "").collect::<Vec<_>>(), alice_if(owing));
    let waiting = world.books.waiting_debits("acme").map(|(_, name)| name);
    assert_eq!(waiting.collect::<Vec<_>>(), alice_if(rolling_back == Some(false)));
    let due: i64 = wallet(world).dues.iter().map(|due| due.amount.0).sum();
    assert_eq!(transit(world), Minor(due).to_nano(EUR), "the money in transit equals the credits due");
    assert_eq!(world.balance("alice", EUR), 0, "the account is empty because the operator has the money");
    applied
}

fn ask(world: &mut World, request_id: &str, amount: i64) -> Result<(), Refused> {
    let asked = DebitAsked {
        request_id: request_id.into(),
        fingerprint: [0; 16],
        currency: EUR,
        amount: Minor(amount),
        facts: None,
    };
    named(world, &format!("debit/{request_id}"), vec![Event::DebitAsked(asked)])
}

fn confirmed(amount: i64) -> Event {
    Event::DebitConfirmed { amount: Minor(amount), reported_balance: Minor(77), answer: None }
}

fn round(world: &World, bet: i64, win: i64) -> Vec<Event> {
    let started = world.start("alice", POOL, EUR, bet, "0.2");
    let number = started.round;
    vec![Event::RoundStarted(started.into()), step(number, 1, win), settled(number, win)]
}

fn bet(world: &mut World, request_id: &str, amount: i64, win: i64) -> Result<(), Refused> {
    let events = [confirmed(amount)].into_iter().chain(round(world, amount, win)).collect();
    named(world, request_id, events)
}

fn pay(world: &mut World, request_id: &str, amount: i64) -> Result<(), Refused> {
    let paid = Event::CreditPaid {
        request_id: request_id.into(),
        currency: EUR,
        amount: Minor(amount),
        reported_balance: Minor(0),
        answer: None,
    };
    named(world, &format!("credit/EUR/{request_id}"), vec![paid])
}

fn roll_back(request_id: &str) -> Event {
    Event::RollbackAsked { request_id: request_id.into(), reason: "no answer".into() }
}

#[test]
fn pl_31_no_round_begins_before_its_debit_is_confirmed_in_its_own_commit() {
    let mut world = world();
    let played = round(&world, 100, 0);
    assert!(matches!(named(&mut world, "r", played.clone()), Err(Refused::InsufficientFunds { .. })));
    assert_eq!(bet(&mut world, "r", 100, 0), Err(Refused::NoSuchDebit), "no debit was requested");
    ask(&mut world, "r", 100).unwrap();
    assert!(matches!(named(&mut world, "r", played), Err(Refused::InsufficientFunds { .. })), "not confirmed");
    assert_eq!(
        named(&mut world, "r", vec![confirmed(100)]),
        Err(Refused::DebitUnused),
        "a confirmed debit needs its round"
    );
    assert_eq!(bet(&mut world, "other", 100, 0), Err(Refused::NoSuchDebit), "the debit belongs to another request");
    assert!(matches!(bet(&mut world, "r", 101, 0), Err(Refused::WrongAmount { .. })));
    let cheaper = [confirmed(100)].into_iter().chain(round(&world, 90, 0)).collect();
    assert_eq!(named(&mut world, "r", cheaper), Err(Refused::DebitUnused));
    bet(&mut world, "r", 100, 0).unwrap();
    assert!(!wallet(&world).is_busy(), "a lost round makes no credit due");
}

#[test]
fn pl_32_a_debit_ends_in_exactly_one_way() {
    type End = fn(&mut World) -> Result<(), Refused>;
    let ends: [End; 3] = [
        |world| bet(world, "r", 100, 30),
        |world| named(world, "r", vec![Event::DebitRefused { reason: "poor".into(), code: 0 }]),
        |world| named(world, "r", vec![Event::DebitRolledBack]),
    ];
    for (number, end) in ends.iter().enumerate() {
        let mut world = world();
        ask(&mut world, "r", 100).unwrap();
        assert_eq!(ask(&mut world, "s", 100), Err(Refused::DebitOpen), "a player can have only one debit at a time");
        assert_eq!(named(&mut world, "r", vec![Event::RequestCancelled]), Err(Refused::DebitOpen));
        named(&mut world, "t", vec![Event::RequestCancelled]).unwrap();
        if number == 2 {
            assert_eq!(end(&mut world), Err(Refused::NoSuchDebit), "a rollback must be requested first");
            named(&mut world, "rollback/r", vec![roll_back("r")]).unwrap();
            assert_eq!(named(&mut world, "again", vec![roll_back("r")]), Err(Refused::NoSuchDebit));
            assert_eq!(ends[0](&mut world), Err(Refused::NoSuchDebit));
            assert_eq!(ends[1](&mut world), Err(Refused::NoSuchDebit));
        }
        end(&mut world).unwrap();
        assert_eq!(wallet(&world).debit, None);
        for other in ends {
            assert_eq!(other(&mut world), Err(Refused::NoSuchDebit));
        }
        assert_eq!(named(&mut world, "rollback/r", vec![roll_back("r")]), Err(Refused::NoSuchDebit));
        ask(&mut world, "next", 50).unwrap();
    }
}

#[test]
fn pl_31_what_a_commit_leaves_is_due_and_paid_in_order_each_once() {
    let mut world = world();
    ask(&mut world, "r1", 100).unwrap();
    bet(&mut world, "r1", 100, 30).unwrap();
    ask(&mut world, "r2", 100).unwrap();
    bet(&mut world, "r2", 100, 7).unwrap();
    let dues: Vec<_> = wallet(&world).dues.iter().map(|due| (due.request_id.as_str(), due.amount.0)).collect();
    assert_eq!(dues, [("r1", 30), ("r2", 7)]);
    assert_eq!(pay(&mut world, "r2", 7), Err(Refused::NoSuchDue), "an earlier credit must be paid first");
    assert!(matches!(pay(&mut world, "r1", 29), Err(Refused::WrongAmount { .. })));
    pay(&mut world, "r1", 30).unwrap();
    assert_eq!(pay(&mut world, "r1", 30), Err(Refused::NoSuchDue), "once");
    pay(&mut world, "r2", 7).unwrap();
    assert_eq!(pay(&mut world, "r2", 7), Err(Refused::NoSuchDue));
    assert_eq!(transit(&world), Nano::ZERO);
    let outside = world.books.holding(Account::External("acme"), EUR);
    let of_bob = Minor(-100_000_000).to_nano(EUR);
    assert_eq!(Nano(outside.0 - of_bob.0), Minor(30 + 7 - 100 - 100).to_nano(EUR));
}

#[test]
fn pl_31_a_void_makes_the_refund_due_and_takes_back_no_more_than_it() {
    let mut world = world();
    for (request, win, due) in [("r1", 0, 100), ("r2", 30, 70), ("r3", 500, 0)] {
        ask(&mut world, request, 100).unwrap();
        bet(&mut world, request, 100, win).unwrap();
        if win > 0 {
            pay(&mut world, request, win).unwrap();
        }
        let number = world.books.player(&alice()).unwrap().rounds_started;
        let void = format!("void-{request}");
        named(&mut world, &void, vec![voided(number, 100, win.min(100))]).unwrap();
        assert_eq!(wallet(&world).dues.iter().map(|due| due.amount.0).sum::<i64>(), due);
        if due > 0 {
            pay(&mut world, &void, due).unwrap();
        }
        world.settle_pool();
    }
}

#[test]
fn pl_31_a_jackpot_is_due_with_its_payment() {
    let mut world = world();
    ask(&mut world, "r", 100).unwrap();
    let started = world.start("alice", POOL, EUR, 100, "0.2");
    let number = started.round;
    let hit = Event::JackpotHit { round: number, pool: POOL.into() };
    let events = vec![confirmed(100), Event::RoundStarted(started.into()), step(number, 1, 0), hit, settled(number, 0)];
    named(&mut world, "r", events).unwrap();
    let award = world.settle_pool().pop().unwrap();
    named(&mut world, "award/bewitched/0/9", vec![paid(&award)]).unwrap();
    let due = wallet(&world).dues.front().unwrap();
    assert_eq!((due.request_id.as_str(), due.amount), ("award/bewitched/0/9", award.amount));
    pay(&mut world, "award/bewitched/0/9", award.amount.0).unwrap();
}

#[test]
fn pl_31_money_that_the_operator_keeps_is_neither_deposited_nor_withdrawn_and_that_is_chosen_once() {
    let mut world = world();
    let amount = Minor(5);
    for event in [Event::Deposited { currency: EUR, amount }, Event::Withdrawn { currency: EUR, amount }] {
        assert_eq!(named(&mut world, "x", vec![event]), Err(Refused::SeamlessWallet));
    }
    assert_eq!(named(&mut world, "x", vec![Event::SeamlessChosen]), Err(Refused::SeamlessWallet));
    assert_eq!(world.try_write(player("bob"), vec![Event::SeamlessChosen]), Err(Refused::SeamlessWallet));
    let second = vec![Event::AccountOpened { currency: Currency::SEK }, Event::SeamlessChosen];
    assert_eq!(
        world.try_write(player("bob"), second),
        Err(Refused::SeamlessWallet),
        "bob has a transfer wallet with money"
    );
    let asked = DebitAsked { request_id: "r".into(), fingerprint: [0; 16], currency: EUR, amount, facts: None };
    let commit = world.next(player("bob"), vec![Event::DebitAsked(asked)]);
    let commit = Commit { request_id: "debit/r".into(), ..commit };
    assert_eq!(world.books.apply(&commit), Err(Refused::TransferWallet));
}

#[test]
fn pl_31_what_is_due_is_bounded_for_new_rounds() {
    let mut world = world();
    for number in 0..Wallet::DUES_MAX {
        let request = format!("r{number}");
        ask(&mut world, &request, 100).unwrap();
        bet(&mut world, &request, 100, 1).unwrap();
    }
    ask(&mut world, "last", 100).unwrap();
    let events = [confirmed(100)].into_iter().chain(round(&world, 100, 0)).collect();
    let commit = Commit { request_id: "last".into(), ..world.next(alice(), events) };
    assert_eq!(world.books.admit(&commit), Err(Refused::DuesWaiting { most: Wallet::DUES_MAX }));
    pay(&mut world, "r0", 1).unwrap();
    let commit = Commit { request_id: "last".into(), ..world.next(alice(), commit.events) };
    assert_eq!(world.books.admit(&commit), Ok(()));
}
