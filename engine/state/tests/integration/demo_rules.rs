use crate::common::*;
use motherlode_state::*;

const PLAY: Currency = Currency::PLAY;

fn given(amount: i64) -> World {
    let mut world = World::with_players(&["alice"]);
    let events = vec![Event::AccountOpened { currency: PLAY }, Event::PlayMoneyGiven { amount: Minor(amount) }];
    world.write(player("alice"), events);
    world
}

fn demo(world: &World) -> RoundStarted {
    RoundStarted { contribution: None, ..world.start("alice", POOL, PLAY, 300, "0.2") }
}

fn whole(started: RoundStarted, win: i64) -> Vec<Event> {
    let round = started.round;
    vec![Event::RoundStarted(started.into()), step(round, 1, win), settled(round, win)]
}

#[test]
fn pl_17_play_money_is_given_bet_and_won_in_books_of_its_own() {
    let mut world = given(1_000);
    let euros = world.balance("alice", Currency::EUR);
    let round = whole(demo(&world), 700);
    world.write(player("alice"), round);
    assert_eq!((world.balance("alice", PLAY), world.balance("alice", Currency::EUR)), (1_400, euros));
    let held = |account| world.books.holding(account, PLAY);
    assert_eq!(held(Account::External("acme")), -nano("10"));
    assert_eq!(held(Account::House("acme")), -nano("4"));
    assert_eq!(world.books.holding(Account::House("acme"), Currency::EUR), Nano::ZERO);
    assert_eq!(world.pool().increments, Nano::ZERO);
    let unfunded = world.try_write(player("alice"), whole(RoundStarted { bet: Minor(1_401), ..demo(&world) }, 0));
    assert!(matches!(unfunded, Err(Refused::InsufficientFunds { .. })));
}

#[test]
fn pl_17_nothing_turns_money_into_play_money_or_back() {
    let mut world = given(1_000);
    let amount = Minor(1);
    let campaign = Campaign {
        id: "spring".into(),
        game: POOL.into(),
        currency: PLAY,
        bet: Minor(300),
        coin_value: coin("0.2"),
        lines: 15,
        coins_per_line: 1,
        rounds: 1,
        expires_ms: 1_000,
    };
    let pooled = world.start("alice", POOL, PLAY, 300, "0.2");
    assert!(pooled.contribution.is_some());
    for events in [
        vec![Event::Deposited { currency: PLAY, amount }],
        vec![Event::Withdrawn { currency: PLAY, amount }],
        vec![Event::CampaignGranted(campaign)],
        whole(pooled, 0),
    ] {
        assert_eq!(world.try_write(player("alice"), events), Err(Refused::PlayMoney));
    }
    let hit = Event::JackpotHit { round: 1, pool: POOL.into() };
    let won = vec![Event::RoundStarted(demo(&world).into()), step(1, 1, 0), hit, settled(1, 0)];
    assert_eq!(world.try_write(player("alice"), won), Err(Refused::HitUnfounded { round: 1 }));
    let rate = Event::RateSet { currency: PLAY, rate: FxRate::ONE, source: "test".into() };
    assert_eq!(world.try_write(StreamId::Rates, vec![rate]), Err(Refused::WrongRate { currency: PLAY }));
    let nothing = Event::PlayMoneyGiven { amount: Minor(0) };
    assert_eq!(world.try_write(player("alice"), vec![nothing]), Err(Refused::BadAmount { amount: Minor(0) }));
}

#[test]
fn pl_17_rounds_and_sessions_of_demo_and_real_play_know_nothing_of_each_other() {
    let mut world = given(1_000);
    let (ours, theirs) = (Some([1; 16]), Some([2; 16]));
    world.now_ms = 5_000;
    let real = RoundStarted { session: ours, ..world.start("alice", POOL, Currency::EUR, 300, "0.2") };
    world.write(player("alice"), vec![Event::RoundStarted(real.into()), step(1, 1, 0)]);
    world.now_ms = 6_000;
    let played = RoundStarted { session: theirs, ..demo(&world) };
    world.write(player("alice"), vec![Event::RoundStarted(played.into()), step(2, 1, 0)]);
    let again = world.try_write(player("alice"), whole(demo(&world), 0));
    assert_eq!(
        again,
        Err(Refused::RoundOpen { round: 2 }),
        "one open round with real money and one with play money are allowed"
    );
    let state = world.books.player(&player("alice")).unwrap();
    let open = |currency| state.open_round_of(POOL, currency).unwrap().started.round;
    assert_eq!((open(Currency::EUR), open(Currency::USD), open(PLAY)), (1, 1, 2));
    assert_eq!(state.last_bet_ms(), Some(6_000), "PL-26: the time between bets counts over both kinds of money");
    assert_eq!((state.session_net(POOL, [1; 16]), state.session_net(POOL, [2; 16])), (Some(-300), Some(-300)));
}

#[test]
fn pl_17_a_demo_session_stands_beside_a_real_one() {
    let of = |currency| SessionOf {
        stream: player("alice"),
        currency,
        game: POOL.into(),
        jurisdiction: "".into(),
        profile: Profile::default(),
        loss_max: None,
        bet_max: None,
        operator_session: "".into(),
    };
    let mut sessions = Sessions::<()>::new(SessionLimits::default());
    assert_eq!(sessions.open(of(Currency::EUR), "real", 1, 0), Ok(1));
    assert_eq!(sessions.open(of(PLAY), "demo", 2, 0), Ok(2));
    assert_eq!(sessions.open(of(Currency::USD), "other", 3, 0), Err(SessionRefused::InUse));
    assert_eq!(sessions.open(of(PLAY), "other", 3, 0), Err(SessionRefused::InUse));
    let crossed = sessions.bet(2, &player("alice"), (POOL, Currency::EUR), 0).err();
    assert_eq!(crossed, Some(SessionRefused::Mismatch));
    sessions.close(2, 0);
    assert!(sessions.bet(1, &player("alice"), (POOL, Currency::EUR), 0).is_ok());
    assert_eq!(sessions.open(of(PLAY), "other", 3, 0), Ok(3));
}
