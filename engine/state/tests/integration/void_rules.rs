use crate::common::*;
use motherlode_state::*;
use std::sync::Arc;

fn suspension() -> Event {
    Event::PoolSuspended { reason: "check".into(), actor: "ops".into() }
}

fn retirement(world: &World) -> Event {
    let PoolState { increments, reserve, .. } = *world.pool();
    Event::PoolRetired { into: "heir".into(), increments, reserve, actor: "ops".into() }
}

fn incident(world: &World, id: &str) -> Event {
    let until_ms = world.now_ms / 60_000 * 60_000;
    let (operator, game, rules_version) = ("acme".into(), POOL.into(), "".into());
    let (reason, actor) = ("reel 3 stuck".into(), "ops".into());
    let from_ms = until_ms - 600_000;
    Event::IncidentDeclared(
        Incident { id: id.into(), operator, game, rules_version, from_ms, until_ms, reason, actor }.into(),
    )
}

fn suspended() -> (World, u64) {
    let mut world = World { now_ms: 1_000_000, ..World::default() };
    for pool in [POOL, "heir"] {
        world.write(StreamId::pool(pool), vec![Event::PoolOpened { pool: pool.into(), terms: terms(1) }]);
    }
    world.open_account("ann", Currency::EUR, 1_000_000);
    let started = world.start("ann", POOL, Currency::EUR, 150, "0.2");
    world.write(player("ann"), vec![Event::RoundStarted(started.into()), step(1, 1, 0)]);
    world.write(pool_stream(), vec![suspension()]);
    let hit = Event::JackpotHit { round: 1, pool: POOL.into() };
    let position = world.write(player("ann"), vec![step(1, 2, 0), hit, settled(1, 0)]);
    (world, position)
}

#[test]
fn bw_20_a_hit_after_the_suspension_waits_and_holds_up_the_retirement() {
    let (mut world, position) = suspended();
    assert_eq!(world.settle_pool(), []);
    assert_eq!(world.books.pending_hits(POOL).count(), 1);
    let retire = world.try_write(pool_stream(), vec![retirement(&world)]);
    assert_eq!(retire, Err(Refused::PoolOutstanding));
    let award = price(world.pool(), world.books.pending_hits(POOL).next().unwrap()).unwrap();
    let commit = world.next(pool_stream(), vec![Event::JackpotAwarded(award.into())]);
    assert_eq!(world.books.admit(&commit), Err(Refused::PoolStatus { status: PoolStatus::Suspended }));
    for decision in [
        Event::HitsReleased { reason: "sound".into(), actor: "ops".into() },
        Event::PoolResumed { actor: "ops".into() },
    ] {
        let mut world = world.clone();
        world.write(pool_stream(), vec![decision]);
        let awards = world.settle_pool();
        assert_eq!(awards.iter().map(|award| award.hit).collect::<Vec<_>>(), [position]);
        world.pay(&awards[0]).unwrap();
    }
}

#[test]
fn bw_20_a_hit_before_the_suspension_is_awarded_by_its_place_in_the_log() {
    let mut world = World::with_players(&["ann"]);
    world.hit("ann", Currency::EUR, 150, "0.2");
    world.write(pool_stream(), vec![suspension()]);
    assert_eq!(world.settle_pool().len(), 1);
}

fn awarded() -> (World, u64, Award) {
    let mut world = World { now_ms: 1_000_000, ..World::default() };
    world.write(pool_stream(), vec![Event::PoolOpened { pool: POOL.into(), terms: terms(1) }]);
    world.open_account("ann", Currency::EUR, 1_000_000);
    let (round, _) = world.hit("ann", Currency::EUR, 150, "0.2");
    let award = world.settle_pool().remove(0);
    (world, round, award)
}

fn proposed(round: u64) -> Event {
    Event::VoidProposed { round, reason: "stuck".into(), actor: "acme/ben".into() }
}

fn approved(change: u64, actor: &str) -> Event {
    Event::ChangeApproved { change, proposed_by: "acme/ben".into(), actor: actor.into() }
}

fn void_by_operator(round: u64, jackpot: VoidedJackpot) -> Event {
    let (reason, actor) = ("stuck".into(), "acme/ben".into());
    Event::RoundVoided { round, reason, actor, refund: Minor(150), win_taken_back: Minor(0), jackpot, settled: None }
}

#[test]
fn pl_38_b_no_void_of_a_hit_passes_without_the_platforms_approval() {
    let (mut world, round, award) = awarded();
    let void = || void_by_operator(round, VoidedJackpot::Kept);
    let mut refused = |events: Vec<Event>| world.try_write(player("ann"), events).unwrap_err();
    assert_eq!(refused(vec![void()]), Refused::VoidUnapproved { round });
    let change = world.write(player("ann"), vec![proposed(round)]);
    let held = Refused::AwardHeld { hit: award.hit };
    assert_eq!(world.pay(&award), Err(held));
    let mut refused = |events: Vec<Event>| world.try_write(player("ann"), events).unwrap_err();
    assert_eq!(refused(vec![void()]), Refused::VoidUnapproved { round });
    assert_eq!(refused(vec![proposed(round)]), Refused::VoidProposedBefore { round });
    assert_eq!(refused(vec![approved(change, "acme/carl"), void()]), Refused::OtherActors { change });
    assert_eq!(refused(vec![approved(change, ""), void()]), Refused::NotAsProposed);
    assert_eq!(refused(vec![approved(change + 1, "ann"), void()]), Refused::NoSuchChange { change: change + 1 });
    assert_eq!(refused(vec![approved(change, "ann")]), Refused::NotAsProposed);
    let deposit = Event::Deposited { currency: Currency::EUR, amount: Minor(1) };
    assert_eq!(refused(vec![approved(change, "ann"), deposit]), Refused::NotAsProposed);
    let wrong = Refused::VoidedJackpotWrong { round };
    for effect in [VoidedJackpot::Charged, VoidedJackpot::Lost] {
        assert_eq!(refused(vec![approved(change, "ann"), void_by_operator(round, effect)]), wrong);
    }
    world.write(player("ann"), vec![approved(change, "ann"), void()]);
    assert_eq!(
        world.pay(&award),
        Err(Refused::NoSuchAward { hit: award.hit }),
        "the hit of a voided round is not paid"
    );
    world.settle_pool();
    let contributed = nano("0.0075");
    let PoolState { increments, reserve, house_funding, paid, contributions, .. } = world.pool();
    assert_eq!([*increments, *reserve, *house_funding, *paid], [Nano::ZERO, contributed, Nano::ZERO, Nano::ZERO]);
    assert_eq!((*contributions, world.balance("ann", Currency::EUR)), (contributed, 1_000_000));
}

#[test]
fn pl_38_b_a_proposal_holds_for_72_hours_of_logged_time_and_holds_nothing_twice() {
    let (mut world, round, award) = awarded();
    let change = world.write(player("ann"), vec![proposed(round)]);
    world.now_ms += VOID_HOLD_MS - 1;
    assert_eq!(world.pay(&award), Err(Refused::AwardHeld { hit: award.hit }));
    world.now_ms += 1;
    let void = || void_by_operator(round, VoidedJackpot::Kept);
    let late = world.try_write(player("ann"), vec![approved(change, "ann"), void()]);
    assert_eq!(late, Err(Refused::ChangeLapsed { change }));
    let again = world.try_write(player("ann"), vec![proposed(round)]);
    assert_eq!(again, Err(Refused::VoidProposedBefore { round }));
    world.pay(&award).unwrap();
}

#[test]
fn mf_b1_pl_04_a_void_states_its_settled_round_as_it_was() {
    let (mut world, round, _) = awarded();
    let (other, _) = world.play("ann", 150, "0.2", 300);
    let open = world.start("ann", POOL, Currency::EUR, 150, "0.2");
    let open_round = open.round;
    world.write(player("ann"), vec![Event::RoundStarted(open.into()), step(open_round, 1, 0)]);
    world.settle_pool();
    let void = |round, stated: Option<SettledRound>, taken_back| {
        let mut event = voided_as(round, 150, taken_back, VoidedJackpot::Kept);
        if let Event::RoundVoided { settled, .. } = &mut event {
            *settled = stated.map(Box::new);
        }
        vec![event]
    };
    let recall = |world: &World, round| {
        let commit = world.next(player("ann"), void(round, None, 0));
        world.recall(&commit).unwrap()
    };
    let (hit, won) = (recall(&world, round), recall(&world, other));
    assert_eq!((won.win, hit.jackpots.len()), (Minor(300), 1));
    let changed = |stated: &SettledRound, change: fn(&mut SettledRound)| {
        let mut stated = stated.clone();
        change(&mut stated);
        Some(stated)
    };
    let wrong = [
        changed(&won, |stated| stated.win = Minor(0)),
        changed(&won, |stated| stated.opened_at -= 1),
        changed(&won, |stated| stated.opened_ms += 1),
        changed(&won, |stated| stated.jackpots.push(RoundJackpot { hit: 3, paid: None })),
        changed(&won, |stated| stated.collected.push(("red".into(), 1))),
        changed(&won, |stated| Arc::make_mut(&mut stated.started).contribution = None),
        changed(&won, |stated| Arc::make_mut(&mut stated.started).rules_version = "1.0".into()),
        Some(hit.clone()),
    ];
    for stated in wrong {
        let refused = world.try_write(player("ann"), void(other, stated.clone(), 300));
        assert_eq!(refused, Err(Refused::VoidFactsWrong { round: other }), "{stated:?}");
    }
    let paid = changed(&hit, |stated| stated.jackpots[0].paid = Some(Nano(1)));
    assert_eq!(
        world.try_write(player("ann"), void(round, paid, 0)),
        Err(Refused::VoidFactsWrong { round }),
        "the award is not paid"
    );
    let refused = world.try_write(player("ann"), void(open_round, Some(won.clone()), 0));
    assert_eq!(
        refused,
        Err(Refused::VoidFactsWrong { round: open_round }),
        "the void of an open round must not state facts"
    );
    let without = world.next(player("ann"), void(other, None, 300));
    assert_eq!(world.books.admit(&without), Err(Refused::VoidFactsWrong { round: other }));
    let of_open = world.next(player("ann"), void(open_round, None, 0));
    assert_eq!(world.books.admit(&of_open), Ok(()));
    world.write(player("ann"), void(other, Some(won), 300));
    world.write(player("ann"), void(round, Some(hit), 0));
}

#[test]
fn mf_b1_pl_38_b_a_void_by_anyone_needs_an_approval_where_there_are_operators() {
    let (mut world, round, _) = awarded();
    let Event::RoundVoided { reason, refund, win_taken_back, jackpot, .. } =
        void_by_operator(round, VoidedJackpot::Kept)
    else {
        panic!("a void")
    };
    let actor = ANYONE.to_owned();
    let next = world.next(player("ann"), vec![void_by_operator(round, VoidedJackpot::Kept)]);
    let settled = world.recall(&next).map(Box::new);
    let void = Event::RoundVoided { round, reason, actor, refund, win_taken_back, jackpot, settled };
    let change = world.write(player("ann"), vec![proposed(round)]);
    let commit = world.next(player("ann"), vec![void.clone()]);
    assert_eq!(world.books.admit(&commit), Ok(()));
    assert_eq!(commit.admit_actors(), Err(Refused::VoidUnapproved { round }));
    let commit = world.next(player("ann"), vec![approved(change, "ann"), void]);
    assert_eq!(commit.admit_actors(), Ok(()));
    let named = world.next(player("ann"), vec![void_by_operator(round, VoidedJackpot::Kept)]);
    assert_eq!(named.admit_actors(), Ok(()), "the actor is named, so only the books refuse the void");
}

#[test]
fn pl_38_a_voids_of_the_older_form_are_folded_and_not_admitted() {
    let mut world = World::with_players(&["ann"]);
    let (round, _) = world.play("ann", 150, "0.2", 0);
    let older = world.next(player("ann"), vec![voided(round, 150, 0)]);
    assert_eq!(world.books.admit(&older), Err(Refused::VoidedJackpotWrong { round }));
    world.settle_pool();
    world.write(player("ann"), vec![voided(round, 150, 0)]);
    world.settle_pool();
    assert_eq!(world.pool().contributions, Nano::ZERO, "the contribution is taken back at once, as in older versions");
}

#[test]
fn pl_38_a_returns_are_what_the_log_makes_them_and_come_once() {
    let mut world = World { now_ms: 1_200_000, ..World::default() };
    world.write(pool_stream(), vec![Event::PoolOpened { pool: POOL.into(), terms: terms(1) }]);
    world.open_account("ann", Currency::EUR, 1_000_000);
    for _ in 0..10 {
        let (round, _) = world.play("ann", 150, "0.2", 0);
        world.write(player("ann"), vec![voided_as(round, 150, 0, VoidedJackpot::Kept)]);
    }
    world.settle_pool();
    let house = Account::House("acme");
    assert_eq!(world.books.holding(house, Currency::EUR), nano("-0.075"), "the operator bears the contribution");
    assert_eq!(world.books.pool_return(POOL), None, "without an incident nothing is returned");
    world.now_ms += 60_000;
    world.write(pool_stream(), vec![incident(&world, "i-1")]);
    let twice = world.try_write(pool_stream(), vec![incident(&world, "i-1")]);
    assert_eq!(twice, Err(Refused::IncidentExists { id: "i-1".into() }));
    let returned = world.books.pool_return(POOL).unwrap();
    let Event::ContributionsReturned { voids, amount, .. } = &returned else { panic!("{returned:?}") };
    assert_eq!((*voids, *amount), (10, nano("0.075")), "one event returns the contributions of all voids");
    let mut more = returned.clone();
    if let Event::ContributionsReturned { amount, from_increments, .. } = &mut more {
        (amount.0, from_increments.0) = (amount.0 + 1, from_increments.0 + 1);
    }
    assert!(matches!(world.try_write(pool_stream(), vec![more]), Err(Refused::WrongFigure { .. })));
    world.write(pool_stream(), vec![returned.clone()]);
    let again = world.try_write(pool_stream(), vec![returned]);
    assert_eq!(again, Err(Refused::UnknownIncident { id: "i-1".into() }));
    assert_eq!(world.books.holding(house, Currency::EUR), Nano::ZERO);
    assert_eq!(world.pool().contributions, Nano::ZERO);
    assert_eq!(world.books.pool_return(POOL), None);
}
