use crate::common::*;
use motherlode_state::*;

const LAPSES_MS: i64 = 10_000;

fn proposal(stream: StreamId, change: &Event, actor: &str) -> Event {
    let change = Box::new(change.as_proposed());
    Event::ChangeProposed(ChangeProposed { stream, change, actor: actor.into(), lapses_ms: LAPSES_MS })
}

fn approval(change: u64, actor: &str) -> Event {
    Event::ChangeApproved { change, proposed_by: "ann".into(), actor: actor.into() }
}

fn suspension() -> Event {
    Event::PoolSuspended { reason: "test".into(), actor: "ann".into() }
}

fn proposed() -> (World, u64) {
    let mut world = World::with_players(&["alice"]);
    let change = world.write(StreamId::System, vec![proposal(pool_stream(), &suspension(), "ann")]);
    (world, change)
}

fn status(world: &World) -> PoolStatus {
    world.books.pool(POOL).unwrap().status.clone()
}

#[test]
fn pl_27_a_change_is_made_when_another_actor_approves_it_and_once() {
    let (mut world, change) = proposed();
    assert_eq!(status(&world), PoolStatus::Active, "a proposal changes nothing");
    let waiting: Vec<_> =
        world.books.pending_changes().map(|(id, change)| (id, change.proposed.actor.clone())).collect();
    assert_eq!(waiting, [(change, "ann".to_owned())]);
    world.write(pool_stream(), vec![approval(change, "bob"), suspension()]);
    assert_eq!(status(&world), PoolStatus::Suspended);
    assert_eq!(world.books.pending_changes().count(), 0);
    world.write(pool_stream(), vec![Event::PoolResumed { actor: "ann".into() }]);
    let again = world.try_write(pool_stream(), vec![approval(change, "bob"), suspension()]);
    assert_eq!(again, Err(Refused::NoSuchChange { change }));
}

#[test]
fn pl_27_the_fold_refuses_every_other_approval() {
    let (mut world, change) = proposed();
    let same = Refused::SameActor { change, actor: "ann".into() };
    let other = Event::PoolSuspended { reason: "another".into(), actor: "ann".into() };
    let by_bob = || approval(change, "bob");
    let carl = Event::ChangeApproved { change, proposed_by: "carl".into(), actor: "ann".into() };
    let cases = [
        (pool_stream(), vec![approval(change, "ann"), suspension()], same),
        (pool_stream(), vec![carl, suspension()], Refused::NotAsProposed),
        (pool_stream(), vec![approval(change, ""), suspension()], Refused::NotAsProposed),
        (pool_stream(), vec![by_bob()], Refused::NotAsProposed),
        (pool_stream(), vec![by_bob(), other], Refused::NotAsProposed),
        (pool_stream(), vec![suspension(), by_bob()], Refused::NotAsProposed),
        (pool_stream(), vec![by_bob(), by_bob()], Refused::NotAsProposed),
        (pool_stream(), vec![approval(change - 1, "bob"), suspension()], Refused::NoSuchChange { change: change - 1 }),
        (StreamId::System, vec![by_bob(), suspension()], Refused::WrongStream),
        (player("alice"), vec![by_bob(), suspension()], Refused::NoSuchChange { change }),
    ];
    for (stream, events, refused) in cases {
        assert_eq!(world.try_write(stream, events.clone()), Err(refused), "{events:?}");
    }
    assert_eq!((status(&world), world.books.pending_changes().count()), (PoolStatus::Active, 1));
    world.write(pool_stream(), vec![by_bob(), suspension()]);
}

#[test]
fn pl_27_a_change_lapses_by_logged_time_and_can_be_rejected_by_anyone() {
    let (mut world, change) = proposed();
    world.now_ms = LAPSES_MS;
    let late = world.try_write(pool_stream(), vec![approval(change, "bob"), suspension()]);
    assert_eq!(late, Err(Refused::ChangeLapsed { change }));
    for actor in ["ann", "bob"] {
        let (mut world, change) = proposed();
        world.now_ms = LAPSES_MS - 1;
        let rejection = || Event::ChangeRejected { change, actor: actor.into(), reason: "no".into() };
        world.write(StreamId::System, vec![rejection()]);
        let gone = Refused::NoSuchChange { change };
        assert_eq!(world.try_write(pool_stream(), vec![approval(change, "bob"), suspension()]), Err(gone.clone()));
        assert_eq!(world.try_write(StreamId::System, vec![rejection()]), Err(gone));
    }
}

#[test]
fn pl_27_terms_and_retirements_are_approved_as_of_then() {
    let mut world = World::with_players(&["alice"]);
    let heir = StreamId::pool("heir");
    let opening = Event::PoolOpened { pool: "heir".into(), terms: terms(1) };
    let change = world.write(StreamId::System, vec![proposal(heir.clone(), &opening, "ann")]);
    assert!(world.books.pool("heir").is_none());
    world.write(heir, vec![approval(change, "bob"), opening]);

    let first = world
        .write(StreamId::System, vec![proposal(pool_stream(), &Event::PoolTermsChanged { terms: terms(2) }, "ann")]);
    world.write(pool_stream(), vec![Event::PoolTermsChanged { terms: terms(2) }]);
    let late = Event::PoolTermsChanged { terms: terms(2) }.as_due(&pool_stream(), &world.books).unwrap();
    assert_eq!(late, Event::PoolTermsChanged { terms: terms(3) });
    world.write(pool_stream(), vec![approval(first, "bob"), late]);

    let retired = |world: &World| {
        let none = Nano::ZERO;
        let event = Event::PoolRetired { into: "heir".into(), increments: none, reserve: none, actor: "ann".into() };
        event.as_due(&pool_stream(), &world.books).unwrap()
    };
    world.write(pool_stream(), vec![suspension()]);
    let change = world.write(StreamId::System, vec![proposal(pool_stream(), &retired(&world), "ann")]);
    world.write(pool_stream(), vec![Event::PoolResumed { actor: "ann".into() }]);
    let started = world.start("alice", POOL, Currency::EUR, 100, "0.2");
    world.write(player("alice"), vec![Event::RoundStarted(started.into()), step(1, 1, 0), settled(1, 0)]);
    world.settle_pool();
    world.write(pool_stream(), vec![suspension()]);
    let due = retired(&world);
    assert!(matches!(due, Event::PoolRetired { increments, .. } if increments > Nano::ZERO));
    world.write(pool_stream(), vec![approval(change, "bob"), due]);
}

#[test]
fn pl_27_only_changes_of_pools_and_switches_are_proposed_and_not_without_end() {
    let mut world = World::with_players(&["alice"]);
    let switch = |operator: &str| Event::SwitchSet {
        switch: Switch { operator: operator.into(), ..Switch::default() },
        on: false,
        reason: "test".into(),
        actor: "ann".into(),
    };
    let mut unproposed = proposal(pool_stream(), &suspension(), "ann");
    let Event::ChangeProposed(inner) = &mut unproposed else { unreachable!() };
    *inner.change = Event::PoolTermsChanged { terms: terms(2) };
    let paid = Event::Deposited { currency: Currency::EUR, amount: Minor(1) };
    let opened = Event::PoolOpened { pool: "another".into(), terms: terms(1) };
    world.now_ms = LAPSES_MS - 1;
    for bad in [
        proposal(player("alice"), &paid, "ann"),
        proposal(StreamId::System, &suspension(), "ann"),
        proposal(pool_stream(), &switch(""), "ann"),
        proposal(pool_stream(), &opened, "ann"),
        proposal(StreamId::pool("a b"), &suspension(), "ann"),
        proposal(StreamId::System, &proposal(StreamId::System, &switch(""), "ann"), "ann"),
        proposal(pool_stream(), &suspension(), ""),
        unproposed,
    ] {
        assert_eq!(world.try_write(StreamId::System, vec![bad.clone()]), Err(Refused::BadChange), "{bad:?}");
    }
    let good = proposal(pool_stream(), &suspension(), "ann");
    assert_eq!(world.try_write(pool_stream(), vec![good.clone()]), Err(Refused::WrongStream));
    for number in 0..512 {
        world.write(StreamId::System, vec![proposal(StreamId::System, &switch(&format!("o{number}")), "ann")]);
    }
    let full = world.try_write(StreamId::System, vec![good.clone()]);
    assert_eq!(full, Err(Refused::TooManyChanges { most: 512 }));
    world.now_ms = LAPSES_MS;
    let Event::ChangeProposed(mut later) = good else { unreachable!() };
    assert_eq!(world.try_write(StreamId::System, vec![Event::ChangeProposed(later.clone())]), Err(Refused::BadChange));
    later.lapses_ms += 1;
    world.write(StreamId::System, vec![Event::ChangeProposed(later)]);
    assert_eq!(world.books.pending_changes().count(), 1, "a lapsed change is dropped");
}
