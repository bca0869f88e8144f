use crate::common::*;
use motherlode_state::*;

fn alice() -> StreamId {
    player("alice")
}

fn state(world: &World) -> &PlayerState {
    world.books.player(&alice()).unwrap()
}

#[test]
fn bw_05_the_pick_of_the_witch_is_remembered() {
    let mut world = World::with_players(&["alice"]);
    let pick = |witch: i64| Event::CollectionChanged {
        game: POOL.into(),
        scope: "".into(),
        changes: vec![("witch".into(), witch)],
    };
    assert_eq!(state(&world).collection(POOL, ""), None);
    world.write(alice(), vec![pick(1)]);
    world.play("alice", 100, "0.2", 0);
    assert_eq!(state(&world).collection(POOL, "").unwrap()["witch"], 1);
    world.write(alice(), vec![pick(2)]);
    assert_eq!(state(&world).collection(POOL, "").unwrap()["witch"], 2);
    let clean = World::with_players(&["alice"]);
    world.write(alice(), vec![pick(0)]);
    assert_eq!(state(&world).collection(POOL, ""), None, "0 removes the key, and the empty collection with it");
    assert_eq!(state(&world).collections().count(), state(&clean).collections().count());
}

#[test]
fn bw_05_collections_are_kept_apart_by_game_and_bet_level() {
    let mut world = World::with_players(&["alice"]);
    for (game, scope, value) in [("a", "", 1), ("a", "high", 2), ("b", "", 3)] {
        let changes = vec![("crystals".into(), value)];
        let event = Event::CollectionChanged { game: game.into(), scope: scope.into(), changes };
        world.write(alice(), vec![event]);
    }
    let all: Vec<_> = state(&world).collections().map(|(game, scope, kept)| (game, scope, kept["crystals"])).collect();
    assert_eq!(all, [("a", "", 1), ("a", "high", 2), ("b", "", 3)]);
}

#[test]
fn pl_33_a_cancelled_request_does_nothing_and_is_of_a_player_who_is_known() {
    let mut world = World::default();
    let currency = Currency::USD;
    assert_eq!(world.try_write(alice(), vec![Event::RequestCancelled]), Err(Refused::UnknownPlayer));
    assert_eq!(world.try_write(StreamId::Rates, vec![Event::RequestCancelled]), Err(Refused::WrongStream));
    let opened = Event::AccountOpened { currency };
    world.write(alice(), vec![opened]);
    let before = state(&world).clone();
    let acted = Event::ActedBy { actor: "acme/c0".into(), reference: String::new() };
    world.write(alice(), vec![Event::RequestCancelled, acted]);
    let mut after = state(&world).clone();
    assert_eq!(after.head.version, before.head.version + 1);
    after.head = before.head;
    assert_eq!(after, before);
    let deposited = Event::Deposited { currency, amount: Minor(5) };
    for events in [vec![Event::RequestCancelled, deposited.clone()], vec![deposited, Event::RequestCancelled]] {
        assert_eq!(world.try_write(alice(), events), Err(Refused::NotCancelled));
    }
}

#[test]
fn pl_42_requests_on_shared_streams_are_cancelled_on_the_systems_stream_at_home() {
    let mut world = World::default();
    world.write(StreamId::System, vec![Event::RequestCancelled]);
    let reseeded = Event::GeneratorReseeded { key: None };
    assert_eq!(
        world.try_write(StreamId::System, vec![Event::RequestCancelled, reseeded.clone()]),
        Err(Refused::NotCancelled)
    );
    let mut elsewhere = World { partition: 1, ..World::default() };
    let cancelled = vec![Event::RequestCancelled];
    assert_eq!(elsewhere.try_write(StreamId::System, cancelled), Err(Refused::DecidedAtHome));
    let part = Event::PartOf { request_id: "whole".into() };
    world.write(StreamId::System, vec![reseeded, part.clone()]);
    assert_eq!(world.try_write(StreamId::Rates, vec![part.clone()]), Err(Refused::WrongStream));
    let (opened, currency) = (Event::AccountOpened { currency: Currency::USD }, Currency::USD);
    world.write(alice(), vec![opened, part]);
    assert_eq!(state(&world).balance(currency), Some(Minor(0)));
}

#[test]
fn pl_15_deposits_and_withdrawals_move_the_balance() {
    let mut world = World::default();
    let currency = Currency::USD;
    let deposit = |amount| vec![Event::Deposited { currency, amount: Minor(amount) }];
    let withdraw = |amount| vec![Event::Withdrawn { currency, amount: Minor(amount) }];
    assert_eq!(world.try_write(alice(), deposit(5)), Err(Refused::UnknownAccount { currency }));
    world.write(alice(), vec![Event::AccountOpened { currency }]);
    let again = world.try_write(alice(), vec![Event::AccountOpened { currency }]);
    assert_eq!(again, Err(Refused::AccountExists { currency }));
    world.write(alice(), deposit(500));
    world.write(alice(), withdraw(120));
    assert_eq!(state(&world).balances().collect::<Vec<_>>(), [(currency, Minor(380))]);
    let short = Refused::InsufficientFunds { currency, balance: Minor(380), needed: Minor(381) };
    assert_eq!(world.try_write(alice(), withdraw(381)), Err(short));
    for amount in [0, -5] {
        let refused = Err(Refused::BadAmount { amount: Minor(amount) });
        assert_eq!(world.try_write(alice(), deposit(amount)), refused);
        assert_eq!(world.try_write(alice(), withdraw(amount)), refused);
    }
    world.write(alice(), withdraw(380));
    assert_eq!(world.books.holding(Account::External("acme"), currency), Nano::ZERO);
}

#[test]
fn pl_09_a_balance_that_does_not_fit_is_refused() {
    let mut world = World::with_players(&["alice"]);
    let event = Event::Deposited { currency: Currency::EUR, amount: Minor(i64::MAX) };
    let refused = world.try_write(alice(), vec![event]);
    assert_eq!(refused, Err(Refused::Money(MoneyError::OutOfRange)));
}

#[test]
fn pl_09_every_event_of_a_win_has_its_postings() {
    let mut world = World::with_players(&["alice"]);
    let started = world.start("alice", POOL, Currency::EUR, 200, "0.2");
    let commit = world.next(alice(), vec![Event::RoundStarted(started.into()), step(1, 1, 350), settled(1, 350)]);
    let postings = world.books.postings(&commit, None).unwrap();
    let lines: Vec<_> = postings.iter().map(|p| format!("{} {} {}", p.account, p.currency, p.amount)).collect();
    assert_eq!(
        lines,
        [
            "player/acme/alice EUR -2.00",
            "house/acme EUR 2.00",
            "house/acme EUR -0.01",
            "contributions-due/bewitched EUR 0.01",
            "house/acme EUR -3.50",
            "player/acme/alice EUR 3.50",
        ]
    );
    world.write(commit.stream, commit.events);
    assert_eq!(world.books.holding(Account::House("acme"), Currency::EUR), nano("-1.51"));
}

#[test]
fn pl_09_a_jackpot_in_a_foreign_currency_sums_to_zero_in_both() {
    let mut world = World::with_players(&[]);
    let rate = "0.0871".parse().unwrap();
    let set = Event::RateSet { currency: Currency::SEK, rate, source: "test".into() };
    world.write(StreamId::Rates, vec![set]);
    world.open_account("sven", Currency::SEK, 1_000_000);
    world.hit("sven", Currency::SEK, 1_000, "10");
    let award = world.settle_pool().remove(0);
    world.pay(&award).unwrap();
    let exchange = |currency| world.books.holding(Account::Exchange, currency);
    assert_eq!(exchange(Currency::EUR), award.paid);
    assert_eq!(exchange(Currency::SEK), -award.amount.to_nano(Currency::SEK));
    assert_eq!(world.books.holding(Account::JackpotPayable(POOL), Currency::EUR), Nano::ZERO);
}

#[test]
fn pl_10_bw_29_a_bet_above_the_balance_is_refused_and_nothing_is_played() {
    let mut world = World::with_players(&[]);
    let currency = Currency::EUR;
    world.open_account("alice", currency, 99);
    let started = world.start("alice", POOL, currency, 100, "0.2");
    let refused = world.try_write(alice(), vec![Event::RoundStarted(started.into())]);
    let short = Refused::InsufficientFunds { currency, balance: Minor(99), needed: Minor(100) };
    assert_eq!(refused, Err(short));
    assert_eq!((state(&world).rounds_started, state(&world).open_rounds().count()), (0, 0));
}

#[test]
fn pl_02_a_round_waits_open_with_all_that_continues_it() {
    let mut world = World::with_players(&["alice"]);
    world.now_ms = 5_000;
    let started = world.start("alice", POOL, Currency::EUR, 100, "0.2");
    let opened = world.write(alice(), vec![Event::RoundStarted(started.clone().into()), step(1, 1, 30)]);
    world.now_ms = 9_000;
    let last = world.write(alice(), vec![step(1, 2, 80)]);
    let open = state(&world).open_round(1).unwrap();
    let times = (open.opened_at, open.opened_ms, open.last_position, open.last_ms);
    assert_eq!(times, (opened, 5_000, last, 9_000));
    assert_eq!((&*open.started, open.win, open.steps.len()), (&started, Minor(80), 2));
    assert_eq!(open.steps[1], Step { drawn: Drawn::Seed([9; 32]), choice: vec![4].into() });
    assert!(matches!(world.try_write(alice(), vec![settled(1, 30)]), Err(Refused::WrongAmount { .. })));
    world.write(alice(), vec![settled(1, 80)]);
    assert_eq!(world.balance("alice", Currency::EUR), 100_000_000 - 100 + 80);
    assert_eq!(state(&world).open_rounds().count(), 0);
    assert_eq!(world.try_write(alice(), vec![settled(1, 80)]), Err(Refused::NoSuchRound { round: 1 }));
}

#[test]
fn pl_03_a_round_says_whether_its_latest_step_was_automatic() {
    let mut world = World::with_players(&["alice"]);
    let started = world.start("alice", POOL, Currency::EUR, 100, "0.2");
    world.write(alice(), vec![Event::RoundStarted(started.into()), step(1, 1, 30)]);
    assert_eq!(state(&world).open_round(1).unwrap().automatic, None);
    for why in [Some(Automatic::TimeOver), None] {
        let number = 1 + u32::try_from(state(&world).open_round(1).unwrap().steps.len()).unwrap();
        let Event::StepResolved(next) = step(1, number, 30) else { panic!("a step") };
        world.write(alice(), vec![Event::StepResolved(StepResolved { automatic: why.clone(), ..*next }.into())]);
        assert_eq!(state(&world).open_round(1).unwrap().automatic, why);
    }
}

#[test]
fn pl_20_an_operators_open_rounds_are_known_the_oldest_bet_first() {
    let mut world = World::with_players(&["alice", "bob", "carl"]);
    let mut opened = vec![];
    for name in ["carl", "alice", "bob"] {
        let started = world.start(name, POOL, Currency::EUR, 100, "0.2");
        opened.push((world.write(player(name), vec![Event::RoundStarted(started.into()), step(1, 1, 30)]), name));
    }
    let listed = |world: &World, after| {
        let open = world.books.open_rounds("acme", after);
        open.map(|(name, open)| (open.opened_at, name.to_owned())).collect::<Vec<_>>()
    };
    let expected: Vec<_> = opened.iter().map(|(at, name)| (*at, (*name).to_owned())).collect();
    assert_eq!(listed(&world, 0), expected);
    assert_eq!(listed(&world, expected[0].0), expected[1..]);
    assert_eq!(world.books.open_rounds("other", 0).count(), 0);
    world.write(player("carl"), vec![step(1, 2, 40)]);
    assert_eq!(listed(&world, 0), expected);
    world.write(player("alice"), vec![settled(1, 30)]);
    world.void("bob", 1, 100, 0).unwrap();
    assert_eq!(listed(&world, 0), expected[..1]);
}

#[test]
fn pl_02_steps_and_rounds_are_dense() {
    let mut world = World::with_players(&["alice"]);
    let mut started = world.start("alice", POOL, Currency::EUR, 100, "0.2");
    started.round = 2;
    let refused = world.try_write(alice(), vec![Event::RoundStarted(started.clone().into())]);
    assert_eq!(refused, Err(Refused::WrongRound { expected: 1, found: 2 }));
    started.round = 1;
    world.write(alice(), vec![Event::RoundStarted(started.into())]);
    assert_eq!(world.try_write(alice(), vec![settled(1, 0)]), Err(Refused::NothingResolved { round: 1 }));
    let refused = world.try_write(alice(), vec![step(1, 2, 0)]);
    assert_eq!(refused, Err(Refused::WrongStep { expected: 1, found: 2 }));
    let refused = world.try_write(alice(), vec![step(2, 1, 0)]);
    assert_eq!(refused, Err(Refused::NoSuchRound { round: 2 }));
    let refused = world.try_write(alice(), vec![step(1, 1, -1)]);
    assert_eq!(refused, Err(Refused::BadAmount { amount: Minor(-1) }));
}

#[test]
fn pl_20_a_game_has_one_open_round_a_player() {
    let mut world = World::with_players(&["alice"]);
    let first = world.start("alice", POOL, Currency::EUR, 100, "0.2");
    world.write(alice(), vec![Event::RoundStarted(first.into())]);
    for bet in [100, 900_000_000] {
        let second = world.start("alice", POOL, Currency::EUR, bet, "0.2");
        let refused = world.try_write(alice(), vec![Event::RoundStarted(second.into())]);
        assert_eq!(refused, Err(Refused::RoundOpen { round: 1 }), "an open round prevents a bet, whatever the balance");
    }
    let other = world.start("alice", "neptune", Currency::EUR, 100, "0.2");
    world.write(alice(), vec![Event::RoundStarted(other.into())]);
    let open: Vec<_> = state(&world).open_rounds().map(|round| round.started.round).collect();
    assert_eq!(open, [1, 2], "open rounds are listed oldest first");
    assert_eq!(state(&world).open_round_of("neptune", Currency::EUR).unwrap().started.round, 2);
}

#[test]
fn bw_28_a_void_of_an_unsettled_round_refunds_the_bet() {
    let mut world = World::with_players(&["alice"]);
    let started = world.start("alice", POOL, Currency::EUR, 100, "0.2");
    world.write(alice(), vec![Event::RoundStarted(started.into()), step(1, 1, 500)]);
    assert!(matches!(world.void("alice", 1, 99, 0), Err(Refused::WrongAmount { .. })));
    assert!(matches!(world.void("alice", 1, 100, 500), Err(Refused::WrongAmount { .. })));
    world.void("alice", 1, 100, 0).unwrap();
    assert_eq!(world.balance("alice", Currency::EUR), 100_000_000, "the void reverts the bet and the win");
    assert_eq!(state(&world).open_rounds().count(), 0);
    assert_eq!(world.void("alice", 1, 100, 0), Err(Refused::AlreadyVoided { round: 1 }));
    assert_eq!(world.void("alice", 2, 100, 0), Err(Refused::NoSuchRound { round: 2 }));
    world.settle_pool();
    assert_eq!((world.pool().contributions, world.pool().increments), (Nano::ZERO, Nano::ZERO));
    assert_eq!(world.books.holding(Account::House("acme"), Currency::EUR), Nano::ZERO);
}

#[test]
fn pl_04_a_settled_round_is_voided_with_what_the_log_says_of_it() {
    let mut world = World::with_players(&["alice"]);
    let (round, opened_at) = world.play("alice", 100, "0.2", 350);
    world.play("alice", 200, "0.2", 0);
    let void = world.next(alice(), vec![voided(round, 100, 350)]);
    assert_eq!(world.books.clone().apply(&void), Err(Refused::RecallNeeded { round }));
    let recalled = world.recall(&void).unwrap();
    assert_eq!((recalled.started.bet, recalled.win, recalled.opened_at), (Minor(100), Minor(350), opened_at));
    let other = SettledRound { started: RoundStarted { round: 2, ..(*recalled.started).clone() }.into(), ..recalled };
    let refused = world.books.clone().apply_recalling(&void, Some(&other));
    assert_eq!(refused, Err(Refused::RecallNeeded { round }), "the facts of another round are not accepted");
    world.void("alice", round, 100, 350).unwrap();
    assert_eq!(world.balance("alice", Currency::EUR), 100_000_000 - 200);
    assert_eq!(world.void("alice", round, 100, 350), Err(Refused::AlreadyVoided { round }));
    assert_eq!(state(&world).voided_at(round), Some(void.position));
}

#[test]
fn pl_04_a_spent_win_is_taken_back_as_far_as_the_balance_goes() {
    let mut world = World::with_players(&["alice"]);
    let (round, _) = world.play("alice", 100, "0.2", 350);
    let currency = Currency::EUR;
    let rest = world.balance("alice", currency) - 40;
    world.write(alice(), vec![Event::Withdrawn { currency, amount: Minor(rest) }]);
    assert!(matches!(world.void("alice", round, 100, 350), Err(Refused::WrongAmount { .. })));
    world.void("alice", round, 100, 140).unwrap();
    assert_eq!(world.balance("alice", currency), 0, "never negative");
}

#[test]
fn pl_11_a_commit_written_twice_is_refused() {
    let mut world = World::with_players(&["alice"]);
    world.play("alice", 100, "0.2", 0);
    let last = world.log.last().unwrap().clone();
    let expected = last.position + 1;
    let refused = world.books.apply(&last);
    assert_eq!(refused, Err(Refused::WrongPosition { expected, found: last.position }));
    let again = Commit { position: expected, ..last.clone() };
    let refused = world.books.apply(&again);
    let (expected, found) = (last.version + 1, last.version);
    assert_eq!(refused, Err(Refused::WrongVersion { expected, found }));
}

#[test]
fn pl_12_a_commit_out_of_place_is_refused() {
    let mut world = World::with_players(&["alice"]);
    world.now_ms = 1_000;
    world.play("alice", 100, "0.2", 0);
    let good = world.next(alice(), vec![Event::Deposited { currency: Currency::EUR, amount: Minor(1) }]);
    let mut refuse = |change: fn(&mut Commit)| {
        let mut commit = good.clone();
        change(&mut commit);
        world.books.apply(&commit).unwrap_err()
    };
    assert!(matches!(refuse(|c| c.position += 1), Refused::WrongPosition { .. }));
    assert!(matches!(refuse(|c| c.version += 1), Refused::WrongVersion { .. }));
    assert!(matches!(refuse(|c| c.previous -= 1), Refused::WrongPrevious { .. }));
    assert!(matches!(refuse(|c| (c.partition, c.position) = (1, 1)), Refused::WrongPartition { .. }));
    assert_eq!(refuse(|c| c.time_ms -= 1), Refused::TimeRanBack { latest: 1_000, found: 999 });
    assert_eq!(refuse(|c| c.events.clear()), Refused::Empty);
    let stranger = |c: &mut Commit| {
        (c.stream, c.version, c.previous) = (StreamId::player("acme", "a/b"), 1, 0);
    };
    assert_eq!(refuse(stranger), Refused::BadStream);
    assert_eq!(world.books.apply(&good), Ok(()));
}

#[test]
fn pl_12_an_event_on_a_stream_of_another_kind_is_refused() {
    let mut world = World::with_players(&["alice"]);
    let reseeded = || vec![Event::GeneratorReseeded { key: None }];
    for stream in [alice(), pool_stream(), StreamId::Rates] {
        assert_eq!(world.try_write(stream, reseeded()), Err(Refused::WrongStream));
    }
    world.write(StreamId::System, reseeded());
    world.write(StreamId::System, reseeded());
    let deposit = || vec![Event::Deposited { currency: Currency::EUR, amount: Minor(1) }];
    for stream in [pool_stream(), StreamId::Rates, StreamId::System] {
        assert_eq!(world.try_write(stream, deposit()), Err(Refused::WrongStream));
    }
    let collection = Event::CollectionChanged { game: POOL.into(), scope: "".into(), changes: vec![] };
    assert_eq!(world.try_write(player("nobody"), vec![collection]), Err(Refused::UnknownPlayer));
}

#[test]
fn pl_09_a_bet_records_the_current_rate() {
    let mut world = World::with_players(&[]);
    let currency = Currency::KWD;
    let set =
        |currency, rate: &str| vec![Event::RateSet { currency, rate: rate.parse().unwrap(), source: "test".into() }];
    world.write(StreamId::Rates, set(currency, "3.2"));
    world.open_account("alice", currency, 100_000);
    let stale = world.start("alice", POOL, currency, 100, "1");
    world.write(StreamId::Rates, set(currency, "3.1"));
    let refused = world.try_write(alice(), vec![Event::RoundStarted(stale.into())]);
    assert_eq!(refused, Err(Refused::WrongRate { currency }));
    let refused = world.try_write(StreamId::Rates, set(Currency::EUR, "1.1"));
    assert_eq!(refused, Err(Refused::WrongRate { currency: Currency::EUR }));
    let usd = Currency::USD;
    world.open_account("bob", usd, 100_000);
    let started = RoundStarted { currency: usd, ..world.start("alice", POOL, currency, 100, "1") };
    let refused = world.try_write(player("bob"), vec![Event::RoundStarted(started.into())]);
    assert_eq!(refused, Err(Refused::NoRate { currency: usd }));
}

#[test]
fn a_batch_is_read_by_nobody_before_it_is_absorbed_and_dropped_without_a_trace() {
    let mut world = World::with_players(&["alice"]);
    let before = world.books.clone();
    let first = world.start("alice", POOL, Currency::EUR, 100, "0.2");
    let commit = world.next(alice(), vec![Event::RoundStarted(first.into()), step(1, 1, 0)]);
    let mut stage = Stage::new();
    stage.apply(&world.books, &commit).unwrap();
    assert_eq!(world.books, before);
    assert_eq!(stage.head(&world.books, &alice()).version, commit.version);
    assert_eq!(stage.end(&world.books, 0).position, commit.position);
    let second = Commit {
        position: commit.position + 1,
        version: commit.version + 1,
        previous: commit.position,
        events: vec![settled(1, 0)],
        ..commit.clone()
    };
    stage.apply(&world.books, &second).unwrap();
    drop(stage.clone());
    assert_eq!(world.books, before);
    world.books.absorb(stage);
    check(&world.books);
    assert_eq!(world.books.end(0).position, second.position);
}

#[test]
fn a_group_is_judged_by_those_before_it_and_becomes_durable_after_them() {
    let mut world = World::with_players(&["alice"]);
    let first = world.start("alice", POOL, Currency::EUR, 100, "0.2");
    let bet = world.next(alice(), vec![Event::RoundStarted(first.into()), step(1, 1, 0)]);
    let settle = Commit {
        position: bet.position + 1,
        version: bet.version + 1,
        previous: bet.position,
        events: vec![settled(1, 0)],
        ..bet.clone()
    };
    let mut stage = Stage::new();
    stage.apply(&world.books, &bet).unwrap();
    stage.seal();
    stage.apply(&world.books, &settle).unwrap();
    assert!(matches!(stage.apply(&world.books, &settle), Err(Refused::WrongPosition { .. })));
    let mut alone = world.books.clone();
    world.books.absorb_oldest(&mut stage);
    alone.apply(&bet).unwrap();
    assert_eq!(world.books, alone, "only the first group is absorbed");
    assert_eq!(stage.head(&world.books, &alice()).version, settle.version, "the second group stays staged");
    world.books.absorb_oldest(&mut stage);
    alone.apply(&settle).unwrap();
    assert_eq!(world.books, alone);
    check(&world.books);
    world.books.absorb_oldest(&mut stage);
    assert_eq!(world.books, alone, "no further group is absorbed");
}

#[test]
fn a_pool_takes_up_only_what_was_durable_before_the_batch() {
    let mut world = World::with_players(&["alice"]);
    let started = world.start("alice", POOL, Currency::EUR, 100, "0.2");
    let bet = world.next(alice(), vec![Event::RoundStarted(started.into())]);
    let pooled = |to| Event::ContributionsPooled { partition: 0, from: 1, to, amount: nano("0.005") };
    let mut pooling = world.next(pool_stream(), vec![pooled(bet.position)]);
    pooling.position += 1;
    let mut stage = Stage::new();
    stage.apply(&world.books, &bet).unwrap();
    let refused = stage.apply(&world.books, &pooling);
    assert_eq!(refused, Err(Refused::NotDurable { to: bet.position, end: bet.position - 1 }));
    world.books.absorb(stage);
    world.books.apply(&pooling).unwrap();
    check(&world.books);
}

#[test]
fn bw_18_an_award_is_paid_once_within_a_batch_too() {
    let mut world = World::with_players(&["alice"]);
    world.hit("alice", Currency::EUR, 1_000, "1");
    let award = world.settle_pool().remove(0);
    let first = world.next(alice(), vec![paid(&award)]);
    let second =
        Commit { position: first.position + 1, version: first.version + 1, previous: first.position, ..first.clone() };
    let mut stage = Stage::new();
    stage.apply(&world.books, &first).unwrap();
    assert_eq!(stage.apply(&world.books, &second), Err(Refused::NoSuchAward { hit: award.hit }));
    stage.seal();
    assert_eq!(
        stage.apply(&world.books, &second),
        Err(Refused::NoSuchAward { hit: award.hit }),
        "the next group must not contain it either"
    );
    world.books.absorb(stage);
    assert_eq!(world.books.apply(&second), Err(Refused::NoSuchAward { hit: award.hit }));
    check(&world.books);
}

#[test]
fn pl_21_pl_26_a_session_is_counted_by_its_own_bets_wins_and_refunds() {
    let mut world = World::with_players(&["alice"]);
    let (one, other) = ([1; 16], [2; 16]);
    let net = |world: &World, session| state(world).session_net("neptune", session);
    let begin = |world: &mut World, session, bet| {
        world.now_ms += 1_000;
        let started = RoundStarted { session, ..world.start("alice", "neptune", Currency::EUR, bet, "0.2") };
        let round = started.round;
        world.write(alice(), vec![Event::RoundStarted(started.into()), step(round, 1, 70)]);
        round
    };
    assert_eq!((net(&world, one), state(&world).last_bet_ms()), (None, None));
    let round = begin(&mut world, Some(one), 100);
    assert_eq!(
        (net(&world, one), state(&world).last_bet_ms()),
        (Some(-100), Some(1_000)),
        "the bet of an open round counts"
    );
    world.write(alice(), vec![settled(round, 70)]);
    assert_eq!(net(&world, one), Some(-30));
    let round = begin(&mut world, Some(one), 50);
    world.void("alice", round, 50, 0).unwrap();
    assert_eq!(net(&world, one), Some(-30), "a void returns the bet");
    let round = begin(&mut world, None, 40);
    world.write(alice(), vec![settled(round, 70)]);
    assert_eq!(net(&world, one), Some(-30), "a round outside the session is not counted");
    let late = begin(&mut world, Some(one), 10);
    world.write(alice(), vec![settled(late, 70)]);
    assert_eq!((net(&world, one), net(&world, other)), (Some(30), None));
    begin(&mut world, Some(other), 25);
    assert_eq!((net(&world, one), net(&world, other)), (None, Some(-25)), "the next session begins at zero");
    assert_eq!(state(&world).last_bet_ms(), Some(5_000));
}
