use crate::common::*;
use motherlode_state::*;

fn part(operator: &str, game: &str, rules_version: &str) -> Switch {
    let [operator, game, rules_version] = [operator, game, rules_version].map(str::to_owned);
    Switch { operator: operator.into(), game: game.into(), rules_version: rules_version.into() }
}

fn set(world: &mut World, switch: &Switch, on: bool) -> Result<(), Refused> {
    let (switch, reason, actor) = (switch.clone(), "reel 3 stuck".into(), "ann".into());
    world.try_write(StreamId::System, vec![Event::SwitchSet { switch, on, reason, actor }])
}

fn bet(world: &mut World, game: &str) -> Result<(), Refused> {
    let started = world.start("alice", game, Currency::EUR, 100, "0.2");
    world.try_write(player("alice"), vec![Event::RoundStarted(started.into())])
}

fn is_off(tried: &Result<(), Refused>) -> bool {
    match tried {
        Ok(()) => false,
        Err(Refused::SwitchedOff { .. }) => true,
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn pl_25_a_switch_refuses_the_bets_that_match_all_its_names_and_no_others() {
    let cases = [
        (part("", "", ""), true, true),
        (part("acme", "", ""), true, true),
        (part("other", "", ""), false, false),
        (part("", POOL, ""), true, false),
        (part("", POOL, "1.6"), true, false),
        (part("", POOL, "1.5"), false, false),
        (part("acme", POOL, "1.6"), true, false),
        (part("other", POOL, ""), false, false),
        (part("acme", "neptune", ""), false, true),
    ];
    for (switch, first, second) in cases {
        let mut world = World::with_players(&["alice"]);
        set(&mut world, &switch, false).unwrap();
        assert_eq!(is_off(&bet(&mut world, POOL)), first, "{switch}");
        assert_eq!(is_off(&bet(&mut world, "neptune")), second, "{switch}");
        set(&mut world, &switch, true).unwrap();
        for (game, refused) in [(POOL, first), ("neptune", second)] {
            let again = bet(&mut world, game);
            assert_eq!(again.is_ok(), refused, "only a game without an open round accepts a bet: {switch}");
        }
    }
}

#[test]
fn pl_25_open_rounds_conclude_and_money_moves_while_all_is_off() {
    let mut world = World::with_players(&["alice", "bob"]);
    for name in ["alice", "bob"] {
        let started = world.start(name, POOL, Currency::EUR, 100, "0.2");
        world.write(player(name), vec![Event::RoundStarted(started.into()), step(1, 1, 50)]);
    }
    set(&mut world, &Switch::default(), false).unwrap();
    world.write(player("alice"), vec![step(1, 2, 70), settled(1, 70)]);
    world.void("bob", 1, 100, 0).unwrap();
    world.settle_pool();
    assert_eq!((world.balance("alice", Currency::EUR), world.balance("bob", Currency::EUR)), (99_999_970, 100_000_000));
    let amount = Minor(5);
    for event in [
        Event::Deposited { currency: Currency::EUR, amount },
        Event::Withdrawn { currency: Currency::EUR, amount },
        Event::AccountOpened { currency: Currency::SEK },
    ] {
        world.write(player("alice"), vec![event]);
    }
    assert!(is_off(&bet(&mut world, POOL)));
}

#[test]
fn pl_25_what_is_off_is_kept_with_its_reason_actor_place_and_time() {
    let mut world = World::with_players(&["alice"]);
    world.now_ms = 5_000;
    let (game, all) = (part("", POOL, ""), Switch::default());
    set(&mut world, &game, false).unwrap();
    let position = world.books.end(0).position;
    let expected = SwitchedOff { reason: "reel 3 stuck".into(), actor: "ann".into(), position, time_ms: 5_000 };
    world.write(StreamId::System, vec![Event::GeneratorReseeded { key: None }]);
    assert_eq!(world.books.switched_off().collect::<Vec<_>>(), [(&game, &expected)]);
    assert_eq!(set(&mut world, &game, false), Err(Refused::SwitchUnchanged { switch: game.clone() }));
    assert_eq!(set(&mut world, &all, true), Err(Refused::SwitchUnchanged { switch: all.clone() }));
    set(&mut world, &all, false).unwrap();
    assert_eq!(world.books.switched_off_for("acme", POOL, "1.6").unwrap().0, &all, "the widest switch is named first");
    set(&mut world, &all, true).unwrap();
    assert_eq!(world.books.switched_off_for("acme", POOL, "1.6").unwrap().0, &game, "the other switch is still off");
    set(&mut world, &game, true).unwrap();
    assert_eq!(world.books.switched_off().count(), 0);
}

#[test]
fn pl_25_a_switch_of_no_part_of_the_service_is_refused() {
    let mut world = World::with_players(&["alice"]);
    for bad in [part("", "", "1.6"), part("a b", "", ""), part("", "x/y", ""), part("", POOL, "1 6")] {
        assert_eq!(set(&mut world, &bad, false), Err(Refused::BadSwitch));
    }
    let (switch, reason, actor) = (Switch::default(), String::new(), String::new());
    let event = Event::SwitchSet { switch, on: false, reason, actor };
    assert_eq!(world.try_write(player("alice"), vec![event]), Err(Refused::WrongStream));
}

#[test]
fn pl_25_a_switch_holds_for_bets_of_the_same_batch() {
    let mut world = World::with_players(&["alice"]);
    let started = world.start("alice", POOL, Currency::EUR, 100, "0.2");
    let (switch, reason, actor) = (Switch::default(), "test".into(), "ann".into());
    let off = world.next(StreamId::System, vec![Event::SwitchSet { switch, on: false, reason, actor }]);
    let mut bet = world.next(player("alice"), vec![Event::RoundStarted(started.into())]);
    bet.position += 1;
    let mut stage = Stage::new();
    stage.apply(&world.books, &off).unwrap();
    assert!(is_off(&stage.apply(&world.books, &bet)));
    world.books.absorb(stage);
    assert_eq!(world.books.switched_off().count(), 1);
    assert_eq!(world.books.head(&StreamId::System).version, 1);
}
