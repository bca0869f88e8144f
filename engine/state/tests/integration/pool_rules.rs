use crate::common::*;
use motherlode_state::*;

fn figures(world: &World) -> [String; 4] {
    let pool = world.pool();
    [pool.increments, pool.reserve, pool.house_funding, pool.paid].map(|figure| figure.to_string())
}

#[test]
fn bw_11_every_bet_adds_half_a_percent_exactly() {
    let mut world = World::with_players(&["alice"]);
    world.play("alice", 1, "0.01", 0);
    assert_eq!(world.books.pending_contributions(POOL, 0, u64::MAX), nano("0.00005"));
    for _ in 0..999 {
        world.play("alice", 1, "0.01", 0);
    }
    world.settle_pool();
    assert_eq!(world.pool().increments, nano("0.05"), "rounding loses nothing in 1,000 bets of a cent");
}

#[test]
fn bw_11_a_foreign_bet_is_converted_at_its_recorded_rate() {
    let mut world = World::with_players(&[]);
    let set =
        |rate: &str| Event::RateSet { currency: Currency::JPY, rate: rate.parse().unwrap(), source: "test".into() };
    world.write(StreamId::Rates, vec![set("0.006123")]);
    world.open_account("kenji", Currency::JPY, 1_000_000);
    let started = world.start("kenji", POOL, Currency::JPY, 157, "1");
    let round = started.round;
    world.write(player("kenji"), vec![Event::RoundStarted(started.into()), step(round, 1, 0), settled(round, 0)]);
    world.write(StreamId::Rates, vec![set("0.007")]);
    world.settle_pool();
    // 157 yen x 0.006123 EUR x 0.005 = 0.004806555 EUR
    assert_eq!(world.pool().increments, nano("0.004806555"));
}

#[test]
fn bw_11_the_finest_fraction_rounds_half_to_even() {
    let rate: FxRate = "0.0001".parse().unwrap();
    let yen = |amount: i64| contribution(Minor(amount), Currency::JPY, rate, 5).unwrap().0;
    // 1 yen x 0.0001 EUR per yen x 5 millionths of the bet = 0.5e-9 EUR
    assert_eq!([1, 2, 3, 5, 7].map(yen), [0, 1, 2, 2, 4]);
}

#[test]
fn bw_11_a_contribution_that_is_not_the_bets_is_refused() {
    let mut world = World::with_players(&["alice"]);
    let mut started = world.start("alice", POOL, Currency::EUR, 100, "0.2");
    started.contribution.as_mut().unwrap().amount.0 += 1;
    let refused = world.try_write(player("alice"), vec![Event::RoundStarted(started.into())]);
    let (expected, found) = (nano("0.005"), nano("0.005000001"));
    assert_eq!(refused, Err(Refused::ContributionWrong { expected, found }));
}

#[test]
fn bw_11_free_spins_are_steps_and_add_nothing() {
    let mut world = World::with_players(&["alice"]);
    let started = world.start("alice", POOL, Currency::EUR, 100, "0.2");
    world.write(player("alice"), vec![Event::RoundStarted(started.into()), step(1, 1, 0)]);
    let before = world.books.pending_contributions(POOL, 0, u64::MAX);
    world.write(player("alice"), vec![step(1, 2, 50), step(1, 3, 90)]);
    assert_eq!(world.books.pending_contributions(POOL, 0, u64::MAX), before);
}

#[test]
fn bw_12_the_pool_shows_its_seed_plus_all_increments() {
    let mut world = World::with_players(&["alice"]);
    assert_eq!(world.pool().base(), nano("20000.00"));
    world.play("alice", 1_234, "0.2", 0);
    world.settle_pool();
    assert_eq!(world.pool().base(), nano("20000.0617"));
}

#[test]
fn bw_13_each_coin_value_has_its_figure() {
    let world = World::with_players(&[]);
    let shows = |value: &str| figure(world.pool(), coin(value)).unwrap().to_string();
    assert_eq!(["0.01", "0.2", "1", "10"].map(shows), ["20.00", "400.00", "2000.00", "20000.00"]);
}

#[test]
fn bw_16_a_win_takes_its_share_and_the_rest_joins_the_reserve() {
    let mut world = World::with_players(&["alice"]);
    world.play("alice", 1_234_567, "1", 0); // increments: 61.72835
    world.hit("alice", Currency::EUR, 1_000, "2.5");
    let awards = world.settle_pool();
    // pool x 0.25 = 20,061.77835 / 4 = 5,015.4445875 -> 5,015.44
    let award = &awards[0];
    assert_eq!(award.amount, Minor(501_544));
    assert!(!award.collision);
    assert_eq!(award.increments, nano("15.4445875"));
    assert_eq!((award.seed_from_reserve, award.seed_from_house), (nano("0"), nano("5000")));
    assert_eq!(award.to_reserve, nano("46.33835"), "46.3337625 of the increments, and 0.0045875 from rounding");
    assert_eq!(figures(&world), ["0.00", "46.33835", "5000.00", "5015.44"]);
    assert_eq!((world.pool().base(), world.pool().cycle), (nano("20000"), 2));
}

#[test]
fn bw_16_the_seed_share_comes_from_the_reserve_first() {
    let mut world = World::with_players(&["alice"]);
    world.play("alice", 40_000_000, "1", 0); // increments: 2,000
    world.hit("alice", Currency::EUR, 200, "0.2");
    world.settle_pool();
    world.now_ms += 3_000;
    world.hit("alice", Currency::EUR, 200, "0.5");
    let award = world.settle_pool().remove(0);
    assert_eq!((award.seed_from_reserve, award.seed_from_house), (nano("1000"), nano("0")));
    world.now_ms += 3_000;
    world.hit("alice", Currency::EUR, 200, "1");
    let award = world.settle_pool().remove(0);
    assert_eq!(award.seed_from_house, Nano(nano("2000").0 - award.seed_from_reserve.0));
    assert!(award.seed_from_reserve > nano("960"));
}

#[test]
fn bw_16_a_foreign_win_is_the_figure_of_its_coin_and_the_rate_cancels() {
    let mut world = World::with_players(&["alice"]);
    let rate = "0.0871".parse().unwrap();
    let set = Event::RateSet { currency: Currency::SEK, rate, source: "test".into() };
    world.write(StreamId::Rates, vec![set]);
    world.open_account("sven", Currency::SEK, 1_000_000);
    world.play("alice", 9_999_999, "1", 0); // increments: 499.99995
    world.hit("sven", Currency::SEK, 777, "5"); // contributes 7.77 x 0.0871 x 0.005 = 0.003383835 EUR
    let award = world.settle_pool().remove(0);
    // Pool 20,500.003333835 x coin 5 / base coin 10 = 10,250.0016669175 -> 10,250.00 SEK
    assert_eq!(award.amount, Minor(1_025_000));
    // 10,250.00 SEK x 0.0871 = 892.775 EUR
    assert_eq!(award.paid, nano("892.775"));
    // Seed 20,000 x coin 5 / base coin 10 = 10,000 SEK; 10,000 SEK x 0.0871 = 871 EUR
    assert_eq!(award.seed_from_house, nano("871"));
    world.pay(&award).unwrap();
    assert_eq!(world.balance("sven", Currency::SEK), 1_000_000 - 777 + 1_025_000);
}

#[test]
fn bw_16_no_coin_is_worth_more_than_the_base_coin() {
    let mut world = World::with_players(&["alice"]);
    let started = world.start("alice", POOL, Currency::EUR, 1_001, "10.01");
    let refused = world.try_write(player("alice"), vec![Event::RoundStarted(started.into())]);
    assert_eq!(refused, Err(Refused::CoinTooLarge));
    let started = world.start("alice", POOL, Currency::EUR, 1_000, "10");
    world.write(player("alice"), vec![Event::RoundStarted(started.into())]);
}

#[test]
fn bw_16_a_hit_is_priced_as_of_its_place_in_the_log() {
    let mut world = World::with_players(&["alice", "bob"]);
    world.hit("alice", Currency::EUR, 1_000, "10"); // increments: 0.05
    world.play("bob", 90_000_000, "10", 0);
    let award = world.settle_pool().remove(0);
    assert_eq!(award.amount, Minor(2_000_005));
    assert_eq!(world.pool().increments, nano("4500"));
}

#[test]
fn bw_16_only_the_exact_price_is_accepted() {
    let mut world = World::with_players(&["alice"]);
    world.hit("alice", Currency::EUR, 1_000, "1");
    let events = world.books.pool_step(POOL).unwrap().unwrap();
    let Event::JackpotAwarded(award) = &events[1] else { panic!("an award") };
    for change in 0..6 {
        let mut wrong = award.clone();
        match change {
            0 => wrong.amount.0 += 1,
            1 => wrong.increments.0 -= 1,
            2 => wrong.seed_from_house.0 += 1,
            3 => wrong.to_reserve.0 += 1,
            4 => wrong.paid.0 += 1,
            _ => wrong.collision = true,
        }
        let wrong = vec![events[0].clone(), Event::JackpotAwarded(wrong)];
        let refused = world.try_write(pool_stream(), wrong).unwrap_err();
        assert!(matches!(refused, Refused::AwardWrong { .. }), "{change}: {refused}");
    }
    world.write(pool_stream(), events);
}

#[test]
fn bw_17_the_second_win_within_a_refresh_gets_the_minimum_and_all_increments() {
    for (first_ms, second_ms, collides) in
        [(0, 2_999, true), (2_999, 3_000, false), (3_000, 5_999, true), (100, 6_000, false)]
    {
        let mut world = World::with_players(&["alice", "bob"]);
        world.now_ms = first_ms;
        world.hit("alice", Currency::EUR, 1_000, "1");
        world.now_ms = second_ms;
        world.play("alice", 100_000, "1", 0);
        world.hit("bob", Currency::EUR, 1_000, "1"); // contributes 0.05
        let awards = world.settle_pool();
        assert_eq!(awards[1].collision, collides, "{first_ms} {second_ms}");
        // In the same refresh interval, the second hit pays seed 20,000 x coin 1 / base coin 10, plus increments 5.05.
        // Later, it pays (20,000 + 5.05) x 1 / 10.
        let amount = if collides { 200_505 } else { 200_050 };
        assert_eq!(awards[1].amount, Minor(amount), "{first_ms} {second_ms}");
    }
}

#[test]
fn bw_17_a_foreign_second_win_gets_the_increments_at_its_rate() {
    let mut world = World::with_players(&["alice"]);
    let rate = "3.2".parse().unwrap();
    let set = Event::RateSet { currency: Currency::KWD, rate, source: "test".into() };
    world.write(StreamId::Rates, vec![set]);
    world.open_account("omar", Currency::KWD, 1_000_000);
    world.hit("alice", Currency::EUR, 1_000, "1");
    world.hit("omar", Currency::KWD, 1_000, "1"); // a bet of 1.000 KWD contributes 0.016 EUR
    let award = world.settle_pool().remove(1);
    // Seed 20,000 x coin 1 / base coin 10 = 2,000 KWD; increments 0.016 EUR / rate 3.2 = 0.005 KWD
    assert_eq!((award.amount, award.paid), (Minor(2_000_005), nano("6400.016")));
}

#[test]
fn bw_17_proportional_pools_price_every_win_alike() {
    let mut world = World::default();
    let terms = PoolTerms { collision_share: CollisionShare::Proportional, ..terms(1) };
    world.write(pool_stream(), vec![Event::PoolOpened { pool: POOL.into(), terms }]);
    world.open_account("alice", Currency::EUR, 100_000_000);
    world.hit("alice", Currency::EUR, 1_000, "1");
    world.play("alice", 100_000, "1", 0);
    world.hit("alice", Currency::EUR, 1_000, "1");
    let award = world.settle_pool().remove(1);
    assert_eq!((award.collision, award.amount), (false, Minor(200_050)));
}

#[test]
fn bw_17_order_decides_and_nothing_else() {
    let mut world = World::with_players(&["alice", "bob"]);
    let (_, first) = world.hit("alice", Currency::EUR, 1_000, "1");
    let (_, second) = world.hit("bob", Currency::EUR, 1_000, "1");
    let contribution = nano("0.10");
    let pooled = Event::ContributionsPooled { partition: 0, from: 1, to: second, amount: contribution };
    let refused = world.try_write(pool_stream(), vec![pooled]);
    assert_eq!(refused, Err(Refused::DecisionWaits { position: first }));
    let hits: Vec<_> = world.books.pending_hits(POOL).cloned().collect();
    assert_eq!(hits.iter().map(|hit| hit.position).collect::<Vec<_>>(), [first, second]);
    let early = price(world.pool(), &hits[1]).unwrap();
    let refused = world.try_write(pool_stream(), vec![Event::JackpotAwarded(early.into())]);
    assert_eq!(refused, Err(Refused::NothingToDecide { position: second }));
    assert_eq!(world.settle_pool().iter().map(|award| award.hit).collect::<Vec<_>>(), [first, second]);
}

#[test]
fn bw_17_two_awards_of_one_batch_are_those_of_two() {
    let mut world = World::with_players(&["alice", "bob"]);
    world.hit("alice", Currency::EUR, 1_000, "1");
    world.hit("bob", Currency::EUR, 1_000, "1");
    let mut books = world.books.clone();
    let from = world.log.len();
    world.settle_pool();
    let mut stage = Stage::new();
    for commit in &world.log[from..] {
        stage.apply(&books, commit).unwrap();
    }
    assert_eq!(world.log.len() - from, 2);
    books.absorb(stage);
    assert_eq!(books, world.books);
}

#[test]
fn bw_18_the_worked_example() {
    let mut world = World::with_players(&["a", "b", "c"]);
    let counters =
        |world: &World| ["0.01", "0.2", "1"].map(|value| figure(world.pool(), coin(value)).unwrap().to_string());
    world.play("c", 39_999_800, "1", 0);
    world.hit("a", Currency::EUR, 200, "0.2");
    let hit = world.books.pending_hits(POOL).next().unwrap().clone();
    let amount = world.books.pending_contributions(POOL, 0, hit.position);
    let pooled = Event::ContributionsPooled { partition: 0, from: 1, to: hit.position, amount };
    world.write(pool_stream(), vec![pooled]);
    assert_eq!(figures(&world), ["2000.00", "0.00", "0.00", "0.00"]);
    assert_eq!(counters(&world), ["22.00", "440.00", "2200.00"]);
    let award = world.settle_pool().remove(0);
    assert_eq!((award.amount, award.paid), (Minor(44_000), nano("440")));
    assert_eq!((award.increments, award.seed_from_house), (nano("40"), nano("400")));
    assert_eq!(figures(&world), ["0.00", "1960.00", "400.00", "440.00"]);
    assert_eq!(world.pool().base(), nano("20000"));
    world.now_ms += 2_000;
    world.play("c", 50_000, "1", 0);
    world.hit("b", Currency::EUR, 10_000, "1");
    let award = world.settle_pool().remove(0);
    assert!(award.collision);
    assert_eq!((award.amount, award.increments), (Minor(200_300), nano("3")));
    assert_eq!((award.seed_from_reserve, award.seed_from_house), (nano("1960"), nano("40")));
    assert_eq!(figures(&world), ["0.00", "0.00", "440.00", "2443.00"]);
    assert_eq!(world.pool().base(), nano("20000"));
    world.play("c", 20_000, "1", 0);
    world.settle_pool();
    assert_eq!(figures(&world), ["1.00", "0.00", "440.00", "2443.00"]);
    assert_eq!(world.pool().contributions, nano("2004"));
    assert!(world.pool().is_balanced());
}

#[test]
fn bw_18_an_award_reaches_its_player_once() {
    let mut world = World::with_players(&["alice", "bob"]);
    world.hit("alice", Currency::EUR, 1_000, "1");
    let award = world.settle_pool().remove(0);
    assert_eq!(world.books.unpaid_awards().count(), 1);
    let stranger = world.try_write(player("bob"), vec![paid(&award)]);
    assert_eq!(stranger, Err(Refused::NoSuchAward { hit: award.hit }));
    let more = Award { amount: Minor(award.amount.0 + 1), ..award.clone() };
    assert!(matches!(world.pay(&more), Err(Refused::WrongAmount { .. })));
    let twice = world.try_write(player("alice"), vec![paid(&award), paid(&award)]);
    assert_eq!(twice, Err(Refused::NoSuchAward { hit: award.hit }));
    let balance = world.balance("alice", Currency::EUR);
    world.pay(&award).unwrap();
    assert_eq!(world.balance("alice", Currency::EUR), balance + 200_000);
    assert_eq!(world.pay(&award), Err(Refused::NoSuchAward { hit: award.hit }));
    assert_eq!(world.books.unpaid_awards().count(), 0);
}

#[test]
fn bw_15_a_hit_needs_its_step_and_a_contribution() {
    let mut world = World::with_players(&["alice"]);
    let hit = |round| Event::JackpotHit { round, pool: POOL.into() };
    let started = world.start("alice", POOL, Currency::EUR, 100, "0.2");
    let without = RoundStarted { contribution: None, ..world.start("alice", "unpooled", Currency::EUR, 100, "0.2") };
    let skipped = vec![Event::RoundStarted(RoundStarted { contribution: None, ..started.clone() }.into())];
    let missing = Err(Refused::ContributionMissing { pool: POOL.into() });
    assert_eq!(
        world.try_write(player("alice"), skipped),
        missing,
        "bw_11: every bet must contribute to the active pool"
    );
    let unfounded = Err(Refused::HitUnfounded { round: 1 });
    let alice = || player("alice");
    let events = vec![Event::RoundStarted(without.into()), step(1, 1, 0), hit(1)];
    assert_eq!(world.try_write(alice(), events), unfounded);
    let events = vec![Event::RoundStarted(started.into()), hit(1)];
    assert_eq!(world.try_write(alice(), events.clone()), unfounded);
    let twice = vec![events[0].clone(), step(1, 1, 0), hit(1), hit(1)];
    assert_eq!(world.try_write(alice(), twice), Err(Refused::SecondDecision));
    world.write(alice(), vec![events[0].clone(), step(1, 1, 0)]);
    assert_eq!(world.try_write(alice(), vec![hit(1)]), unfounded, "the step is in an earlier commit");
    world.write(StreamId::pool("other"), vec![Event::PoolOpened { pool: "other".into(), terms: terms(1) }]);
    let elsewhere = Event::JackpotHit { round: 1, pool: "other".into() };
    assert_eq!(
        world.try_write(alice(), vec![step(1, 2, 0), elsewhere]),
        unfounded,
        "the round did not contribute to this pool"
    );
    world.write(alice(), vec![step(1, 2, 0), hit(1)]);
}

#[test]
fn bw_19_a_void_takes_back_from_increments_in_the_same_cycle() {
    let mut world = World::with_players(&["alice"]);
    let (round, _) = world.play("alice", 1_000, "1", 0);
    world.play("alice", 1_000, "1", 0);
    world.void("alice", round, 1_000, 0).unwrap();
    world.settle_pool();
    assert_eq!(figures(&world), ["0.05", "0.00", "0.00", "0.00"]);
    assert_eq!(world.pool().contributions, nano("0.05"));
}

#[test]
fn bw_19_else_from_the_reserve_else_from_the_house() {
    let mut world = World::with_players(&["alice"]);
    let (first, _) = world.play("alice", 1_000, "1", 0); // 0.05
    let (big, _) = world.play("alice", 100_000, "1", 0); // 5.00
    world.hit("alice", Currency::EUR, 1_000, "1");
    world.settle_pool();
    assert_eq!(figures(&world), ["0.00", "4.59", "2000.00", "2000.51"]);
    world.play("alice", 1_000, "1", 0); // increments: 0.05
    world.void("alice", first, 1_000, 0).unwrap();
    world.settle_pool();
    assert_eq!(figures(&world), ["0.05", "4.54", "2000.00", "2000.51"]);
    world.void("alice", big, 100_000, 0).unwrap();
    world.settle_pool();
    assert_eq!(figures(&world), ["0.05", "0.00", "2000.46", "2000.51"], "no figure is negative");
}

#[test]
fn bw_19_an_award_is_not_taken_back_by_a_void() {
    let mut world = World::with_players(&["alice"]);
    let (round, _) = world.hit("alice", Currency::EUR, 1_000, "1");
    let award = world.settle_pool().remove(0);
    world.pay(&award).unwrap();
    let balance = world.balance("alice", Currency::EUR);
    world.void("alice", round, 1_000, 0).unwrap();
    assert_eq!(
        world.balance("alice", Currency::EUR),
        balance + 1_000,
        "the bet is refunded, and the player keeps the jackpot"
    );
    world.settle_pool();
    assert_eq!(world.pool().paid, nano("2000"));
}

#[test]
fn bw_19_a_hit_of_a_voided_round_stands_even_before_its_award() {
    let mut world = World::with_players(&["alice"]);
    let (round, at) = world.hit("alice", Currency::EUR, 1_000, "1");
    world.void("alice", round, 1_000, 0).unwrap();
    let awards = world.settle_pool();
    assert_eq!((awards.len(), awards[0].hit, awards[0].amount), (1, at, Minor(200_000)));
    assert_eq!(figures(&world), ["0.00", "0.00", "2000.00", "2000.00"]);
}

#[test]
fn bw_19_a_take_back_must_be_the_voids() {
    let mut world = World::with_players(&["alice"]);
    let (round, _) = world.play("alice", 1_000, "1", 0);
    world.void("alice", round, 1_000, 0).unwrap();
    let events = world.books.pool_step(POOL).unwrap().unwrap();
    let Event::ContributionTakenBack { position, amount, .. } = events[1] else { panic!("a take-back") };
    let from_house = Event::ContributionTakenBack {
        partition: 0,
        position,
        amount,
        from_increments: Nano::ZERO,
        from_reserve: Nano::ZERO,
        from_house: amount,
    };
    let refused = world.try_write(pool_stream(), vec![events[0].clone(), from_house]);
    assert!(matches!(refused, Err(Refused::WrongFigure { .. })));
    world.write(pool_stream(), events);
    assert_eq!(world.books.pool_step(POOL), Ok(None));
}

#[test]
fn bw_20_new_terms_wait_for_the_next_cycle() {
    let mut world = World::with_players(&["alice"]);
    let new = PoolTerms { contribution_ppm: 10_000, seed: nano("30000"), ..terms(2) };
    world.write(pool_stream(), vec![Event::PoolTermsChanged { terms: new.clone() }]);
    world.play("alice", 1_000, "1", 0);
    world.settle_pool();
    assert_eq!(world.pool().base(), nano("20000.05"));
    world.hit("alice", Currency::EUR, 1_000, "1");
    assert_eq!(world.settle_pool()[0].amount, Minor(200_001));
    assert_eq!((&world.pool().terms, world.pool().base()), (&new, nano("30000")));
    let mut stale = world.start("alice", POOL, Currency::EUR, 1_000, "1");
    stale.contribution.as_mut().unwrap().terms_version = 1;
    let refused = world.try_write(player("alice"), vec![Event::RoundStarted(stale.into())]);
    assert_eq!(refused, Err(Refused::WrongTerms { expected: 2, found: 1 }));
    world.play("alice", 1_000, "1", 0);
    world.settle_pool();
    assert_eq!(world.pool().base(), nano("30000.10"));
}

#[test]
fn bw_20_terms_that_no_pool_can_have_are_refused() {
    let mut world = World::with_players(&[]);
    let mut refuse =
        |terms: PoolTerms| world.try_write(pool_stream(), vec![Event::PoolTermsChanged { terms }]).unwrap_err();
    assert_eq!(refuse(terms(3)), Refused::WrongTerms { expected: 2, found: 3 });
    for wrong in [
        PoolTerms { contribution_ppm: 1_000_001, ..terms(2) },
        PoolTerms { seed: nano("-1"), ..terms(2) },
        PoolTerms { base_coin: coin("5"), ..terms(2) },
        PoolTerms { refresh_ms: 0, ..terms(2) },
    ] {
        assert!(matches!(refuse(wrong), Refused::BadTerms { .. }));
    }
}

#[test]
fn bw_20_a_suspended_pool_takes_nothing_new_and_resumes_with_the_same_figures() {
    let mut world = World::with_players(&["alice"]);
    world.play("alice", 1_000, "1", 0);
    world.settle_pool();
    let before = figures(&world);
    let contributing = world.start("alice", POOL, Currency::EUR, 1_000, "1");
    let suspended = Event::PoolSuspended { reason: "audit".into(), actor: "ops-1".into() };
    world.write(pool_stream(), vec![suspended]);
    let refused = world.try_write(player("alice"), vec![Event::RoundStarted(contributing.into())]);
    assert_eq!(refused, Err(Refused::PoolStatus { status: PoolStatus::Suspended }));
    world.play("alice", 1_000, "1", 0);
    assert_eq!(world.books.pool_step(POOL), Ok(None));
    world.write(pool_stream(), vec![Event::PoolResumed { actor: "ops-1".into() }]);
    assert_eq!(figures(&world), before);
    world.play("alice", 1_000, "1", 0);
    world.settle_pool();
    assert_eq!(world.pool().increments, nano("0.10"));
}

#[test]
fn bw_20_a_win_before_the_suspension_is_still_awarded() {
    let mut world = World::with_players(&["alice"]);
    world.hit("alice", Currency::EUR, 1_000, "1");
    world.write(pool_stream(), vec![Event::PoolSuspended { reason: "audit".into(), actor: "ops-1".into() }]);
    assert_eq!(world.settle_pool().len(), 1);
}

#[test]
fn bw_20_a_retired_pool_hands_its_money_over_once() {
    let mut world = World::with_players(&["alice"]);
    world.write(StreamId::pool("heir"), vec![Event::PoolOpened { pool: "heir".into(), terms: terms(1) }]);
    world.play("alice", 100_000, "1", 0);
    world.hit("alice", Currency::EUR, 1_000, "1"); // reserve: 4.545
    world.play("alice", 100_000, "1", 0); // increments: 5
    world.settle_pool();
    let (increments, reserve) = (world.pool().increments, world.pool().reserve);
    assert_eq!((increments, reserve), (nano("5"), nano("4.55")), "4.545 of the increments, and 0.005 from rounding");
    let retired = Event::PoolRetired { into: "heir".into(), increments, reserve, actor: "ops-1".into() };
    let refused = world.try_write(pool_stream(), vec![retired.clone()]);
    assert_eq!(refused, Err(Refused::PoolStatus { status: PoolStatus::Active }));
    let started = world.start("alice", "another", Currency::EUR, 100, "1");
    let round = started.round;
    world.write(player("alice"), vec![Event::RoundStarted(started.into())]);
    let suspended = Event::PoolSuspended { reason: "closing".into(), actor: "ops-1".into() };
    world.write(pool_stream(), vec![suspended]);
    world.settle_pool();
    let increments = world.pool().increments;
    let retired = Event::PoolRetired { into: "heir".into(), increments, reserve, actor: "ops-1".into() };
    let refused = world.try_write(pool_stream(), vec![retired.clone()]);
    assert_eq!(refused, Err(Refused::PoolOutstanding), "a round that contributed is open");
    world.write(player("alice"), vec![step(round, 1, 0), settled(round, 0)]);
    world.write(pool_stream(), vec![retired]);
    assert_eq!(world.books.holding(Account::Transfer, Currency::EUR), nano("9.555"));
    let received = |from: &str| Event::PoolReceived { from: from.into(), increments, reserve };
    let heir = || StreamId::pool("heir");
    assert!(world.try_write(heir(), vec![received("heir")]).is_err());
    world.write(heir(), vec![received(POOL)]);
    let again = world.try_write(heir(), vec![received(POOL)]);
    assert_eq!(again, Err(Refused::NoSuchTransfer { pool: POOL.into() }));
    let pool = world.books.pool("heir").unwrap();
    assert_eq!((pool.increments, pool.reserve), (nano("5.005"), nano("4.55")));
    assert_eq!(world.books.holding(Account::Transfer, Currency::EUR), Nano::ZERO);
}

#[test]
fn bw_20_a_pool_is_not_retired_while_money_is_on_its_way_to_it() {
    let mut world = World::with_players(&["alice"]);
    let heir = || StreamId::pool("heir");
    let third = || StreamId::pool("third");
    world.write(heir(), vec![Event::PoolOpened { pool: "heir".into(), terms: terms(1) }]);
    world.write(third(), vec![Event::PoolOpened { pool: "third".into(), terms: terms(1) }]);
    world.play("alice", 1_000, "1", 0);
    world.settle_pool();
    let actor = || "ops-1".to_owned();
    let suspended = || Event::PoolSuspended { reason: "closing".into(), actor: actor() };
    let retired = |into: &str, increments| {
        let (into, reserve) = (into.into(), Nano::ZERO);
        Event::PoolRetired { into, increments, reserve, actor: actor() }
    };
    world.write(pool_stream(), vec![suspended(), retired("heir", nano("0.05"))]);
    world.write(heir(), vec![suspended()]);
    let refused = world.try_write(heir(), vec![retired("third", Nano::ZERO)]);
    assert_eq!(refused, Err(Refused::PoolOutstanding));
    let received = Event::PoolReceived { from: POOL.into(), increments: nano("0.05"), reserve: Nano::ZERO };
    world.write(heir(), vec![received, retired("third", nano("0.05"))]);
}

#[test]
fn bw_20_a_round_of_a_retired_pool_can_still_be_voided() {
    let mut world = World::with_players(&["alice"]);
    world.write(StreamId::pool("heir"), vec![Event::PoolOpened { pool: "heir".into(), terms: terms(1) }]);
    let (round, _) = world.play("alice", 1_000, "1", 0);
    world.settle_pool();
    let actor = || "ops-1".to_owned();
    world.write(pool_stream(), vec![Event::PoolSuspended { reason: "closing".into(), actor: actor() }]);
    let (increments, reserve) = (world.pool().increments, world.pool().reserve);
    let into = "heir".into();
    world.write(pool_stream(), vec![Event::PoolRetired { into, increments, reserve, actor: actor() }]);
    world.void("alice", round, 1_000, 0).unwrap();
    world.settle_pool();
    assert_eq!(figures(&world), ["0.00", "0.00", "0.05", "0.00"], "the house pays the contribution back");
}
