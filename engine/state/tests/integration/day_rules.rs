use crate::common::*;
use motherlode_state::*;
use std::num::NonZeroU32;

const DAY: i64 = 86_400_000;
const MINUTE: i64 = 60_000;
const ONE: SessionName = [1; 16];
const TWO: SessionName = [2; 16];

fn opened(session: SessionName, limits: DayLimits) -> Event {
    Event::SessionOpened(SessionOpened {
        session,
        game: POOL.into(),
        currency: Currency::EUR,
        jurisdiction: "".into(),
        idle_ms: NonZeroU32::new(1_800_000).unwrap(),
        limits,
    })
}

fn loss(minor: i64) -> DayLimits {
    DayLimits { losses_max: vec![(Currency::EUR, Minor(minor))], ..DayLimits::default() }
}

fn alice(world: &World) -> &PlayerState {
    world.books.player(&player("alice")).unwrap()
}

fn log(world: &mut World, event: Event) -> Result<(), Refused> {
    world.try_write(player("alice"), vec![event])
}

fn round(world: &mut World, bet: i64, win: i64) -> Result<(), Refused> {
    let started = world.start("alice", POOL, Currency::EUR, bet, "0.2");
    let (number, settled) = (started.round, Event::RoundSettled { round: started.round, win: Minor(win) });
    world.try_write(player("alice"), vec![Event::RoundStarted(started.into()), step(number, 1, win), settled])
}

fn net(world: &World) -> i128 {
    let rates = |currency| world.books.rate(currency);
    alice(world).day(Currency::EUR).net(Currency::EUR, &rates, world.now_ms)
}

fn given() -> World {
    let mut world = World::with_players(&["alice"]);
    world.now_ms = 10 * DAY + 600 * MINUTE;
    world
}

#[test]
fn uf_06_what_was_lost_in_a_day_is_kept_over_sessions_and_the_stricter_limit_holds_to_its_end() {
    let mut world = given();
    log(&mut world, opened(ONE, loss(1_000))).unwrap();
    round(&mut world, 600, 100).unwrap();
    log(&mut world, Event::SessionEnded { session: ONE, hold_ms: 0 }).unwrap();
    log(&mut world, opened(TWO, loss(100_000))).unwrap();
    assert_eq!(net(&world), -500);
    let refused = Refused::PastLimit { currency: Currency::EUR, limit: Minor(1_000), bet: Minor(501) };
    assert_eq!(round(&mut world, 501, 9_000), Err(refused));
    round(&mut world, 500, 0).unwrap();
    assert!(round(&mut world, 1, 0).is_err(), "a bet without a session is refused too");
    world.now_ms += DAY;
    assert_eq!(net(&world), 0);
    round(&mut world, 5_000, 0).unwrap();
}

#[test]
fn uf_06_a_win_counts_for_the_day_of_its_bet() {
    let mut world = given();
    let started = world.start("alice", POOL, Currency::EUR, 400, "0.2");
    world.write(player("alice"), vec![Event::RoundStarted(started.into()), step(1, 1, 9_000)]);
    world.now_ms += DAY;
    log(&mut world, opened(ONE, loss(100))).unwrap();
    world.write(player("alice"), vec![Event::RoundSettled { round: 1, win: Minor(9_000) }]);
    assert_eq!(net(&world), 0, "yesterday's win does not raise today's loss limit");
    assert!(round(&mut world, 101, 0).is_err());
    round(&mut world, 100, 20).unwrap();
    assert_eq!(net(&world), -80);
}

#[test]
fn uf_06_losses_of_all_currencies_count_and_are_converted_against_the_player() {
    let mut world = given();
    world.open_account("alice", Currency::SEK, 1_000_000);
    let rate = FxRate::new(8, -2).unwrap();
    let set = Event::RateSet { currency: Currency::SEK, rate, source: "test".into() };
    world.write(StreamId::Rates, vec![set]);
    log(&mut world, opened(ONE, loss(1_000))).unwrap();
    let lost = world.start("alice", POOL, Currency::SEK, 10_000, "1");
    let lost = RoundStarted { rate, ..lost };
    world.write(
        player("alice"),
        vec![Event::RoundStarted(lost.into()), step(1, 1, 0), Event::RoundSettled { round: 1, win: Minor(0) }],
    );
    assert_eq!(net(&world), -801, "the loss is rounded up");
    assert!(round(&mut world, 200, 0).is_err());
    round(&mut world, 199, 0).unwrap();
    let rates = |currency| world.books.rate(currency);
    let limits = alice(&world).day(Currency::EUR).limits(world.now_ms).unwrap();
    assert_eq!(limits.loss_max(Currency::SEK, &rates), Some(Minor(12_500)), "10 EUR in kronor");
}

#[test]
fn uf_06_a_limit_of_what_a_round_may_cost_and_of_free_rounds() {
    let mut world = given();
    let limits = DayLimits { bets_max: vec![(Currency::EUR, Minor(200))], ..loss(100) };
    log(&mut world, opened(ONE, limits)).unwrap();
    log(&mut world, opened(TWO, DayLimits { bets_max: vec![(Currency::EUR, Minor(900))], ..loss(5_000) })).unwrap();
    assert!(round(&mut world, 201, 0).is_err());
    assert!(round(&mut world, 101, 0).is_err());
    round(&mut world, 100, 0).unwrap();
    let bad = DayLimits { losses_max: vec![(Currency::EUR, Minor(0))], ..DayLimits::default() };
    assert_eq!(log(&mut world, opened([3; 16], bad)), Err(Refused::BadAmount { amount: Minor(0) }));
}

#[test]
fn uf_06_time_played_is_the_time_between_actions_but_for_breaks_whatever_the_sessions() {
    let mut world = given();
    let day = |world: &World| alice(world).day(Currency::EUR).clone();
    round(&mut world, 10, 0).unwrap();
    for session in [ONE, TWO] {
        log(&mut world, opened(session, DayLimits::default())).unwrap();
        world.now_ms += 9 * MINUTE;
        round(&mut world, 10, 0).unwrap();
        log(&mut world, Event::SessionEnded { session, hold_ms: 0 }).unwrap();
    }
    world.now_ms += 2 * MINUTE;
    let now = world.now_ms;
    assert_eq!((day(&world).played_ms(now), day(&world).unseen_ms(now)), (20 * MINUTE, 20 * MINUTE));
    assert_eq!(
        day(&world).played_ms(now + BREAK_MS),
        18 * MINUTE,
        "a pause of more than BREAK_MS does not count as time played"
    );
    log(&mut world, opened(ONE, DayLimits::default())).unwrap();
    log(&mut world, Event::RealityCheckAcknowledged { session: ONE }).unwrap();
    world.now_ms += MINUTE;
    let now = world.now_ms;
    assert_eq!((day(&world).played_ms(now), day(&world).unseen_ms(now)), (21 * MINUTE, MINUTE));
    world.now_ms = 11 * DAY - 5 * MINUTE;
    round(&mut world, 10, 0).unwrap();
    world.now_ms = 11 * DAY + 3 * MINUTE;
    round(&mut world, 10, 0).unwrap();
    let now = world.now_ms;
    assert_eq!((day(&world).played_ms(now), day(&world).unseen_ms(now)), (3 * MINUTE, 8 * MINUTE));
}

#[test]
fn bw_27_uf_06_the_log_tells_who_sits_where_and_what_is_held() {
    let mut world = given();
    let seated = |world: &World, ms| alice(world).live_seat(Currency::EUR, world.now_ms + ms).map(|seat| seat.session);
    let held =
        |world: &World, ms| alice(world).seat(POOL, Currency::EUR).and_then(|seat| seat.held_ms(world.now_ms + ms));
    assert_eq!(log(&mut world, Event::SessionEnded { session: ONE, hold_ms: 0 }), Err(Refused::NoSuchSession));
    log(&mut world, opened(ONE, DayLimits::default())).unwrap();
    assert_eq!((seated(&world, 1_799_999), seated(&world, 1_800_000)), (Some(ONE), None), "an idle session expires");
    assert_eq!(alice(&world).live_seat(Currency::PLAY, world.now_ms), None);
    log(&mut world, opened(TWO, DayLimits::default())).unwrap();
    for event in
        [Event::SessionEnded { session: ONE, hold_ms: 30_000 }, Event::RealityCheckAcknowledged { session: ONE }]
    {
        assert_eq!(log(&mut world, event), Err(Refused::NoSuchSession));
    }
    world.now_ms += 5_000;
    round(&mut world, 10, 0).unwrap();
    assert_eq!(
        (seated(&world, 1_799_999), seated(&world, 1_800_000)),
        (Some(TWO), None),
        "the idle time counts from the last action"
    );
    log(&mut world, Event::SessionEnded { session: TWO, hold_ms: 30_000 }).unwrap();
    assert_eq!(log(&mut world, Event::SessionEnded { session: TWO, hold_ms: 0 }), Err(Refused::NoSuchSession));
    assert_eq!(
        (seated(&world, 0), held(&world, 0), held(&world, 29_999), held(&world, 30_000)),
        (None, Some(30_000), Some(1), None)
    );
    assert_eq!(held(&world, -DAY), Some(30_000), "uf_07: the remaining hold never exceeds the whole hold");
    log(&mut world, opened([3; 16], DayLimits::default())).unwrap();
    assert_eq!(held(&world, 0), None);
}

#[test]
fn uf_06_a_player_has_few_seats_whatever_is_logged() {
    let mut world = given();
    for number in 0..100_u8 {
        let Event::SessionOpened(session) = opened([number + 10; 16], DayLimits::default()) else { unreachable!() };
        let session = SessionOpened { game: format!("game-{number}").into(), ..session };
        log(&mut world, Event::SessionOpened(session)).unwrap();
    }
    let seats = (0..100).filter(|number| alice(&world).seat(&format!("game-{number}"), Currency::EUR).is_some());
    assert_eq!(seats.collect::<Vec<_>>(), (68..100).collect::<Vec<_>>());
}

#[test]
fn pl_17_play_money_has_days_of_its_own_and_the_seconds_a_round_are_the_players() {
    let mut world = given();
    world.write(player("alice"), vec![Event::AccountOpened { currency: Currency::PLAY }]);
    world.write(player("alice"), vec![Event::PlayMoneyGiven { amount: Minor(10_000) }]);
    log(&mut world, opened(ONE, loss(100))).unwrap();
    let started = RoundStarted { contribution: None, ..world.start("alice", POOL, Currency::PLAY, 5_000, "0.2") };
    let settled = Event::RoundSettled { round: 1, win: Minor(0) };
    world.write(player("alice"), vec![Event::RoundStarted(started.into()), step(1, 1, 0), settled]);
    assert_eq!((net(&world), alice(&world).last_bet_ms()), (0, Some(world.now_ms)));
}
