use crate::common::*;
use motherlode_state::*;

const EUR: Currency = Currency::EUR;
const EXPIRES: i64 = 10_000;

fn spring(rounds: u32) -> Campaign {
    Campaign {
        id: "spring".into(),
        game: POOL.into(),
        currency: EUR,
        bet: Minor(300),
        coin_value: coin("0.2"),
        lines: 15,
        coins_per_line: 1,
        rounds,
        expires_ms: EXPIRES,
    }
}

fn granted(rounds: u32) -> World {
    let mut world = World::with_players(&["alice"]);
    world.write(player("alice"), vec![Event::CampaignGranted(spring(rounds))]);
    world
}

fn free(world: &World) -> RoundStarted {
    let paid = world.start("alice", POOL, EUR, 300, "0.2");
    RoundStarted { contribution: None, campaign: Some("spring".into()), ..paid }
}

fn whole(started: RoundStarted, win: i64) -> Vec<Event> {
    let round = started.round;
    vec![Event::RoundStarted(started.into()), step(round, 1, win), settled(round, win)]
}

fn left(world: &World) -> u64 {
    world.books.player(&player("alice")).unwrap().campaign("spring").unwrap().left()
}

fn cancel() -> Vec<Event> {
    vec![Event::CampaignCancelled { campaign: "spring".into(), reason: "typo".into(), actor: "ann".into() }]
}

fn over(over: CampaignOver) -> Refused {
    Refused::CampaignOver { campaign: "spring".into(), over }
}

#[test]
fn pl_18_a_free_round_costs_the_player_nothing_pays_real_money_and_the_promotion_pays_the_house() {
    let mut world = granted(2);
    let before = world.balance("alice", EUR);
    let due = world.books.holding(Account::ContributionsDue(POOL), EUR);
    let house = world.books.holding(Account::House("acme"), EUR);
    let round = whole(free(&world), 700);
    world.write(player("alice"), round);
    assert_eq!(world.balance("alice", EUR), before + 700);
    assert_eq!(world.books.holding(Account::Promotion("acme"), EUR), -nano("3"));
    assert_eq!(world.books.holding(Account::House("acme"), EUR).0 - house.0, nano("3").0 - nano("7").0);
    assert_eq!(
        world.books.holding(Account::ContributionsDue(POOL), EUR),
        due,
        "a free round contributes nothing to the pool"
    );
    assert_eq!(left(&world), 1);
    let withdrawn = Event::Withdrawn { currency: EUR, amount: Minor(world.balance("alice", EUR)) };
    world.write(player("alice"), vec![withdrawn]);
    let round = whole(free(&world), 0);
    world.write(player("alice"), round);
    assert_eq!((world.balance("alice", EUR), left(&world)), (0, 0));
}

#[test]
fn pl_18_no_way_into_the_log_grants_one_round_too_many() {
    let mut world = granted(2);
    for _ in 0..2 {
        let round = whole(free(&world), 0);
        world.write(player("alice"), round);
    }
    let third = whole(free(&world), 0);
    assert_eq!(world.try_write(player("alice"), third), Err(over(CampaignOver::UsedUp)));
    let mut world = granted(1);
    let first = free(&world);
    let second = RoundStarted { round: first.round + 1, ..first.clone() };
    let both = [whole(first, 0), whole(second, 0)].concat();
    assert_eq!(world.try_write(player("alice"), both), Err(over(CampaignOver::UsedUp)));
    let again = vec![Event::CampaignGranted(spring(5))];
    let exists = Refused::CampaignExists { campaign: "spring".into() };
    assert_eq!(world.try_write(player("alice"), again), Err(exists));
}

#[test]
fn pl_18_a_campaign_expires_by_the_logs_time() {
    let mut world = granted(2);
    world.now_ms = EXPIRES - 1;
    let started = free(&world);
    let round = started.round;
    world.write(player("alice"), vec![Event::RoundStarted(started.into()), step(round, 1, 0)]);
    world.now_ms = EXPIRES;
    world.write(player("alice"), vec![step(round, 2, 50), settled(round, 50)]);
    let late = whole(free(&world), 0);
    assert_eq!(world.try_write(player("alice"), late), Err(over(CampaignOver::Expired)));
    let expired = Campaign { id: "autumn".into(), ..spring(1) };
    let bad = Refused::BadCampaign { reason: "the campaign expires before it is granted".to_owned() };
    assert_eq!(world.try_write(player("alice"), vec![Event::CampaignGranted(expired)]), Err(bad));
}

#[test]
fn pl_18_a_free_round_adds_to_no_pool_and_wins_none() {
    let mut world = granted(2);
    let contributes = RoundStarted { campaign: Some("spring".into()), ..world.start("alice", POOL, EUR, 300, "0.2") };
    let round = contributes.round;
    let refused = world.try_write(player("alice"), whole(contributes, 0));
    assert_eq!(refused, Err(Refused::FreeRoundPooled { round }));
    let hit = Event::JackpotHit { round, pool: POOL.into() };
    let events = vec![Event::RoundStarted(free(&world).into()), step(round, 1, 0), hit, settled(round, 0)];
    assert_eq!(world.try_write(player("alice"), events), Err(Refused::HitUnfounded { round }));
    let paid = RoundStarted { campaign: None, ..free(&world) };
    let missing = Refused::ContributionMissing { pool: POOL.into() };
    assert_eq!(world.try_write(player("alice"), whole(paid, 0)), Err(missing));
}

#[test]
fn pl_18_a_free_round_is_as_its_campaign_says() {
    let mut world = granted(2);
    world.open_account("alice", Currency::USD, 100);
    let usd = Event::RateSet { currency: Currency::USD, rate: "0.9".parse().unwrap(), source: "test".into() };
    world.write(StreamId::Rates, vec![usd]);
    let good = free(&world);
    let rate = world.books.rate(Currency::USD).unwrap();
    let others = [
        RoundStarted { game: "neptune".into(), ..good.clone() },
        RoundStarted { currency: Currency::USD, rate, ..good.clone() },
        RoundStarted { bet: Minor(301), ..good.clone() },
        RoundStarted { coin_value: coin("0.1"), ..good.clone() },
    ];
    for other in others {
        let refused = world.try_write(player("alice"), whole(other, 0));
        assert_eq!(refused, Err(Refused::NotOfCampaign { campaign: "spring".into() }));
    }
    let unknown = RoundStarted { campaign: Some("summer".into()), ..good };
    let refused = world.try_write(player("alice"), whole(unknown, 0));
    assert_eq!(refused, Err(Refused::UnknownCampaign { campaign: "summer".into() }));
    for bad in [
        Campaign { id: "a b".into(), ..spring(1) },
        Campaign { id: "x".into(), bet: Minor(0), ..spring(1) },
        Campaign { id: "x".into(), ..spring(0) },
        Campaign { id: "x".into(), ..spring(Campaign::ROUNDS_MAX + 1) },
    ] {
        let refused = world.try_write(player("alice"), vec![Event::CampaignGranted(bad)]).unwrap_err();
        assert!(matches!(refused, Refused::BadCampaign { .. }), "{refused}");
    }
    let sek = Campaign { id: "x".into(), currency: Currency::SEK, ..spring(1) };
    let refused = world.try_write(player("alice"), vec![Event::CampaignGranted(sek)]);
    assert_eq!(refused, Err(Refused::UnknownAccount { currency: Currency::SEK }));
}

#[test]
fn pl_18_a_campaign_is_cancelled_while_not_begun_and_once() {
    let mut world = granted(2);
    world.write(player("alice"), cancel());
    assert_eq!(world.try_write(player("alice"), cancel()), Err(over(CampaignOver::Cancelled)));
    let round = whole(free(&world), 0);
    assert_eq!(world.try_write(player("alice"), round), Err(over(CampaignOver::Cancelled)));

    let mut world = granted(2);
    let round = whole(free(&world), 0);
    world.write(player("alice"), round);
    let begun = Refused::CampaignBegun { campaign: "spring".into() };
    assert_eq!(world.try_write(player("alice"), cancel()), Err(begun.clone()));
    world.void("alice", 1, 0, 0).unwrap();
    assert_eq!(world.try_write(player("alice"), cancel()), Err(begun));

    let mut world = granted(2);
    world.now_ms = EXPIRES;
    assert_eq!(world.try_write(player("alice"), cancel()), Err(over(CampaignOver::Expired)));
}

#[test]
fn pl_18_a_void_takes_the_win_back_and_gives_the_round_back() {
    let mut world = granted(1);
    let before = world.balance("alice", EUR);
    let round = whole(free(&world), 700);
    world.write(player("alice"), round);
    assert_eq!(world.try_write(player("alice"), whole(free(&world), 0)), Err(over(CampaignOver::UsedUp)));
    let refunded = world.void("alice", 1, 300, 700);
    assert_eq!(
        refunded,
        Err(Refused::WrongAmount { expected: Minor(0), found: Minor(300) }),
        "the player paid nothing for the free round"
    );
    world.void("alice", 1, 0, 700).unwrap();
    assert_eq!((world.balance("alice", EUR), left(&world)), (before, 1));
    assert_eq!(world.books.holding(Account::Promotion("acme"), EUR), Nano::ZERO);
    let started = free(&world);
    world.write(player("alice"), vec![Event::RoundStarted(started.into()), step(2, 1, 0)]);
    assert_eq!(left(&world), 0);
    world.void("alice", 2, 0, 0).unwrap();
    assert_eq!((world.balance("alice", EUR), left(&world)), (before, 1));
    assert_eq!(world.books.holding(Account::Promotion("acme"), EUR), Nano::ZERO);
    world.now_ms = EXPIRES;
    assert_eq!(world.try_write(player("alice"), whole(free(&world), 0)), Err(over(CampaignOver::Expired)));
}

#[test]
fn pl_18_a_free_round_loses_nothing_in_its_session() {
    let mut world = granted(3);
    let session = Some([1; 16]);
    let net = |world: &World| world.books.player(&player("alice")).unwrap().session_net(POOL, [1; 16]);
    let round = whole(RoundStarted { session, ..free(&world) }, 0);
    world.write(player("alice"), round);
    assert_eq!(net(&world), Some(0));
    let round = whole(RoundStarted { session, ..free(&world) }, 40);
    world.write(player("alice"), round);
    let paid = RoundStarted { session, ..world.start("alice", POOL, EUR, 300, "0.2") };
    world.write(player("alice"), whole(paid, 0));
    assert_eq!(net(&world), Some(-260));
    let started = RoundStarted { session, ..free(&world) };
    world.write(player("alice"), vec![Event::RoundStarted(started.into()), step(4, 1, 9)]);
    world.void("alice", 4, 0, 0).unwrap();
    assert_eq!(net(&world), Some(-260));
}

fn reserved(operator: &str, highest: &str, expires_ms: i64, cap: &str) -> Vec<Event> {
    vec![Event::LiabilityReserved(LiabilityReserved {
        operator: operator.into(),
        campaign: "spring".into(),
        players: 3,
        max_liability: nano(highest),
        expires_ms,
        cap: nano(cap),
        player_ids: vec![],
    })]
}

#[test]
fn pl_36_the_order_of_the_log_decides_which_campaign_is_past_the_cap() {
    const DAY_MS: i64 = 86_400_000;
    let mut world = World::with_players(&[]);
    let expires = DAY_MS + 5;
    world.write(StreamId::System, reserved("acme", "600", expires, "1000"));
    world.write(StreamId::System, reserved("acme", "400", expires, "1000"));
    let above =
        Refused::LiabilityAboveCap { open: nano("1000"), max_liability: nano("0.000000001"), cap: nano("1000") };
    let refused = world.try_write(StreamId::System, reserved("acme", "0.000000001", expires, "1000"));
    assert_eq!(refused, Err(above));
    world.write(StreamId::System, reserved("other", "1000", expires, "1000"));
    world.write(StreamId::System, reserved("free", "1000000", expires, "0"));
    assert_eq!(world.books.open_liability("acme", world.now_ms), nano("1000"));
    world.now_ms = 2 * DAY_MS - 1;
    assert!(world.try_write(StreamId::System, reserved("acme", "1", 3 * DAY_MS, "1000")).is_err());
    world.now_ms = 2 * DAY_MS;
    world.write(StreamId::System, reserved("acme", "1000", 3 * DAY_MS, "1000"));
    assert_eq!(world.books.open_liability("acme", world.now_ms), nano("1000"));
}

#[test]
fn pl_36_a_liability_is_well_formed_and_reserved_at_home() {
    let mut world = World::with_players(&["alice"]);
    world.now_ms = 1_000;
    for bad in [
        reserved("a b", "1", EXPIRES, "0"),
        reserved("acme", "0", EXPIRES, "0"),
        reserved("acme", "-1", EXPIRES, "0"),
        reserved("acme", "1", EXPIRES, "-1"),
        reserved("acme", "1", 1_000, "0"),
        reserved("acme", "1", i64::MAX, "0"),
    ] {
        let refused = world.try_write(StreamId::System, bad).unwrap_err();
        assert!(matches!(refused, Refused::BadCampaign { .. }), "{refused}");
    }
    let elsewhere = world.try_write(player("alice"), reserved("acme", "1", EXPIRES, "0"));
    assert_eq!(elsewhere, Err(Refused::WrongStream));
    let mut other = World { partition: 1, ..World::default() };
    let refused = other.try_write(StreamId::System, reserved("acme", "1", EXPIRES, "0"));
    assert_eq!(refused, Err(Refused::DecidedAtHome));
    let commit = world.next(StreamId::System, reserved("acme", "1", EXPIRES, "0"));
    assert!(commit.concerns("acme") && !commit.concerns("other"));
}
