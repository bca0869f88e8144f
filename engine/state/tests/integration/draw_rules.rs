use crate::common::*;
use motherlode_state::*;
use proptest::{prelude::*, test_runner::RngSeed};

const KEY: [u8; 32] = [42; 32];

fn alice() -> StreamId {
    player("alice")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn dealt(number: u64) -> Dealt {
    draw::deal(&KEY, &alice(), number)
}

fn seal_of(number: u64) -> Seal {
    draw::seal(&dealt(number))
}

fn sealed(number: u64, reason: SealReason) -> Event {
    Event::DrawSealed(DrawSealed { number, epoch: draw::epoch(&KEY), generation: 0, seal: seal_of(number), reason })
}

fn drawn(round: u64, number: u32, of: u64, win: i64) -> StepResolved {
    let Event::StepResolved(plain) = step(round, number, win) else { panic!("a step") };
    let epoch = draw::epoch(&KEY);
    let (client_seed, next_seal) = (vec![1], seal_of(of + 1));
    let draw = Draw {
        number: of,
        epoch,
        generation: 0,
        client_seed,
        next_epoch: epoch,
        next_generation: 0,
        next_seal,
        sealed_by: None,
    };
    StepResolved { seed: None, draw: Some(draw), ..*plain }
}

fn revealed(round: u64, numbers: impl IntoIterator<Item = u64>) -> Event {
    Event::DrawsRevealed { round, dealt: numbers.into_iter().map(dealt).collect() }
}

fn started(world: &World) -> Event {
    Event::RoundStarted(world.start("alice", POOL, Currency::EUR, 100, "0.2").into())
}

fn world() -> World {
    let mut world = World::with_players(&["alice"]);
    world.write(alice(), vec![sealed(1, SealReason::Opened)]);
    world
}

fn open() -> World {
    let mut world = world();
    let started = started(&world);
    world.write(alice(), vec![started, Event::StepResolved(drawn(1, 1, 1, 30).into())]);
    world.write(alice(), vec![Event::StepResolved(drawn(1, 2, 2, 40).into())]);
    world
}

#[test]
fn pl_06_epochs_dealt_values_seals_and_seeds_are_those_of_another_implementation() {
    let ascending: [u8; 32] = std::array::from_fn(|at| u8::try_from(at).unwrap());
    let bytes: Vec<u8> = (0..64).collect();
    let known = [
        (
            ([0; 32], "acme", "alice", 1),
            (&b"r-1"[..], "acme/alice/1", 1),
            "4b902c43 724338e959bd2e033bd83e0b3fd8c10836c32d6ca4cc8819396d88520cd02fcf \
             05042f43259013f41602361029af8ae5d4a896fd49cb1ab6d6dbc11f5c189dc7 \
             7d0b965af039e02a83365ec0feb6044568d4a6f485ff6930eb90e49e982bb5b1",
        ),
        (
            (ascending, "acme", "alice", 2),
            (bytes.as_slice(), "acme/alice/1", 2),
            "14caee4e 20f291178e53ecc70bf0da6c980142e457518d9e99c15a326f3dd2536e26bca9 \
             c3331bf8439c64ec401893ac23b9584eb27c1d001eec4ce905dd39ea23987a0e \
             3e3b0f4b5b2e28396bd0d4d67177a9c158ce437f7cd5917340136c4a965fa706",
        ),
        (
            ([0xff; 32], "a.b", "player~7", u64::MAX),
            (b"".as_slice(), "a.b/player~7/9223372036854775808", u32::MAX),
            "7bd42eab 91a47baf45568c0b9f0601ae295556927ffe372023cdb53f94205129e3b133a1 \
             8845524d1d36380a96ed1d992c167027a27bb342e1867371a620bca662de335f \
             826fd872fde437c29c071369f644b4c67d434da5ede3525d0c90cadda833bc50",
        ),
    ];
    for ((key, operator, name, number), (client_seed, round, step), answers) in known {
        let dealt = draw::deal(&key, &StreamId::player(operator, name), number);
        let seed = draw::seed(&dealt, client_seed, round, step);
        let all = [hex(&draw::epoch(&key)), hex(&dealt), hex(&draw::seal(&dealt)), hex(&seed)];
        assert_eq!(all.join(" "), answers);
    }
}

#[test]
fn a_step_uses_the_draw_that_was_sealed_and_seals_the_next() {
    let mut world = world();
    let started = started(&world);
    let events = vec![started, Event::StepResolved(drawn(1, 1, 1, 30).into()), settled(1, 30), revealed(1, [1])];
    world.write(alice(), events);
    let draw = world.books.player(&alice()).unwrap().draw.unwrap();
    assert_eq!((draw.number, draw.seal), (2, seal_of(2)));
    let open = open();
    let player = open.books.player(&alice()).unwrap();
    let seals: Vec<_> = player.open_round(1).unwrap().draws().map(|draw| (draw.number, draw.seal)).collect();
    assert_eq!(seals, [(1, seal_of(1)), (2, seal_of(2))]);
}

#[test]
fn no_draw_is_used_twice_left_out_or_of_another_key() {
    let mut world = world();
    let started = started(&world);
    let mut refused = |step: StepResolved| {
        let events = vec![started.clone(), Event::StepResolved(step.into()), settled(1, 30), revealed(1, [1])];
        world.try_write(alice(), events).unwrap_err()
    };
    let step = drawn(1, 1, 1, 30);
    for number in [0, 2, u64::MAX] {
        let draw = step.draw.clone().map(|draw| Draw { number, ..draw });
        assert_eq!(refused(StepResolved { draw, ..step.clone() }), Refused::WrongDraw { expected: 1, found: number });
    }
    let other = step.draw.clone().map(|draw| Draw { epoch: [0; 4], ..draw });
    assert_eq!(refused(StepResolved { draw: other, ..step.clone() }), Refused::WrongDraw { expected: 1, found: 1 });
    let missing = Refused::DrawMissing { number: 1 };
    assert_eq!(refused(StepResolved { draw: None, seed: Some([9; 32]), ..step.clone() }), missing);
    assert_eq!(refused(StepResolved { draw: None, ..step.clone() }), missing);
    assert_eq!(refused(StepResolved { seed: Some([9; 32]), ..step.clone() }), missing);
    let long = step.draw.clone().map(|draw| Draw { client_seed: vec![1; 65], ..draw });
    assert_eq!(refused(StepResolved { draw: long, ..step.clone() }), Refused::ClientSeedTooLong { bytes: 65 });
    let longest = step.draw.clone().map(|draw| Draw { client_seed: vec![1; 64], ..draw });
    let events = vec![started, Event::StepResolved(StepResolved { draw: longest, ..step }.into())];
    world.write(alice(), events);
}

#[test]
fn pl_06_a_step_names_the_record_in_which_its_draw_was_sealed_or_none() {
    let world = World::with_players(&["alice"]);
    let (opening, other) = ([7; 32], [8; 32]);
    let mut books = world.books.clone();
    books.apply_recorded(&world.next(alice(), vec![sealed(1, SealReason::Opened)]), None, opening).unwrap();
    let at = |books: &Books| World { books: books.clone(), ..world.clone() };
    let bet = started(&at(&books));
    let step = |of: u64, sealed_by: Option<RecordHash>| {
        let step = drawn(1, u32::try_from(of).unwrap(), of, 30);
        let draw = step.draw.clone().map(|draw| Draw { sealed_by, ..draw });
        Event::StepResolved(StepResolved { draw, ..step }.into())
    };
    let first = |named| at(&books).next(alice(), vec![bet.clone(), step(1, named)]);
    let elsewhere = Refused::SealedElsewhere { number: 1 };
    assert_eq!(books.clone().apply_recorded(&first(Some(other)), None, other), Err(elsewhere.clone()));
    assert!(
        books.clone().apply_recorded(&first(None), None, other).is_ok(),
        "a record of an older version has no hash of the sealing record"
    );
    let mut untold = world.books.clone();
    untold.apply(&world.next(alice(), vec![sealed(1, SealReason::Opened)])).unwrap();
    assert_eq!(untold.apply(&first(Some(opening))), Err(elsewhere));
    let mut stage = Stage::new();
    stage
        .apply_recorded(&books, &first(Some(opening)), None, |player| {
            assert_eq!(player.unwrap().draw.unwrap().number, 2);
            other
        })
        .unwrap();
    books.absorb(stage);
    let between = at(&books).next(alice(), vec![Event::Deposited { currency: Currency::EUR, amount: Minor(1) }]);
    books.apply_recorded(&between, None, [9; 32]).unwrap();
    let second = |named| at(&books).next(alice(), vec![step(2, named)]);
    for wrong in [opening, [9; 32]] {
        assert_eq!(
            books.clone().apply_recorded(&second(Some(wrong)), None, opening),
            Err(Refused::SealedElsewhere { number: 2 })
        );
    }
    books.clone().apply_recorded(&second(Some(other)), None, opening).unwrap();
}

#[test]
fn pl_01_a_player_of_an_older_log_plays_as_ever_until_a_draw_is_sealed() {
    let mut world = World::with_players(&["alice"]);
    let bet = started(&world);
    let unsealed = world.try_write(alice(), vec![bet.clone(), Event::StepResolved(drawn(1, 1, 1, 30).into())]);
    assert_eq!(unsealed, Err(Refused::WrongDraw { expected: 0, found: 1 }));
    let Event::StepResolved(plain) = step(1, 1, 30) else { panic!("a step") };
    let neither =
        world.try_write(alice(), vec![bet.clone(), Event::StepResolved(StepResolved { seed: None, ..*plain }.into())]);
    assert_eq!(neither, Err(Refused::DrawMissing { number: 0 }));
    world.write(alice(), vec![bet, step(1, 1, 30)]);
    world.write(alice(), vec![sealed(1, SealReason::Unsealed)]);
    assert_eq!(world.try_write(alice(), vec![step(1, 2, 30)]), Err(Refused::DrawMissing { number: 1 }));
    world.write(alice(), vec![Event::StepResolved(drawn(1, 2, 1, 50).into()), settled(1, 50), revealed(1, [1])]);
    let mut old = World::with_players(&["alice"]);
    let bet = started(&old);
    old.write(alice(), vec![bet, step(1, 1, 30), settled(1, 30)]);
}

#[test]
fn pl_06_the_end_of_a_round_reveals_every_dealt_value_under_its_seal() {
    let mut world = open();
    let last = Event::StepResolved(drawn(1, 3, 3, 50).into());
    let mut refused = |reveal: Vec<Event>| {
        let events = [last.clone(), settled(1, 50)].into_iter().chain(reveal).collect();
        world.try_write(alice(), events).unwrap_err()
    };
    let missing = Refused::RevealMissing { round: 1 };
    assert_eq!(refused(vec![]), missing);
    assert_eq!(refused(vec![revealed(1, [1, 2])]), missing);
    assert_eq!(refused(vec![revealed(1, [1, 2, 3, 4])]), missing);
    assert_eq!(refused(vec![revealed(2, [1, 2, 3])]), missing);
    assert_eq!(refused(vec![step(1, 4, 50), revealed(1, [1, 2, 3])]), missing);
    assert_eq!(refused(vec![revealed(1, [1, 3, 2])]), Refused::RevealWrong { round: 1, step: 2 });
    assert_eq!(refused(vec![revealed(1, [4, 2, 3])]), Refused::RevealWrong { round: 1, step: 1 });
    let unfounded = Refused::RevealUnfounded { round: 1 };
    assert_eq!(refused(vec![Event::DrawsLost { round: 1 }]), unfounded);
    assert_eq!(refused(vec![revealed(1, [1, 2, 3]), revealed(1, [1, 2, 3])]), unfounded);
    assert_eq!(world.try_write(alice(), vec![revealed(1, [1, 2])]), Err(unfounded.clone()));
    assert_eq!(world.try_write(alice(), vec![Event::DrawsLost { round: 1 }]), Err(unfounded));
    world.write(alice(), vec![last, settled(1, 50), revealed(1, [1, 2, 3])]);
}

#[test]
fn pl_04_a_void_reveals_or_says_that_it_cant() {
    for end in [revealed(1, [1, 2]), Event::DrawsLost { round: 1 }] {
        let mut world = open();
        let alone = world.try_write(alice(), vec![voided(1, 100, 0)]);
        assert_eq!(alone, Err(Refused::RevealMissing { round: 1 }));
        let other = world.try_write(alice(), vec![voided(1, 100, 0), revealed(1, [1, 3])]);
        assert_eq!(other, Err(Refused::RevealWrong { round: 1, step: 2 }));
        world.write(alice(), vec![voided(1, 100, 0), end]);
    }
    let mut world = world();
    let bet = started(&world);
    world.write(alice(), vec![bet, Event::StepResolved(drawn(1, 1, 1, 30).into()), settled(1, 30), revealed(1, [1])]);
    let again = world.try_write(alice(), vec![voided(1, 100, 30), revealed(1, [1])]);
    assert_eq!(again, Err(Refused::RevealUnfounded { round: 1 }));
    world.write(alice(), vec![voided(1, 100, 30)]);
}

#[test]
fn a_draw_is_sealed_apart_from_a_step_for_a_reason_that_is_true() {
    let mut world = World::with_players(&["alice"]);
    let refused = |world: &mut World, event| world.try_write(alice(), vec![event]).unwrap_err();
    let unfounded = |number| Refused::SealUnfounded { number };
    assert_eq!(refused(&mut world, sealed(2, SealReason::Opened)), unfounded(2));
    assert_eq!(refused(&mut world, sealed(1, SealReason::KeyLost)), unfounded(1));
    world.write(alice(), vec![sealed(1, SealReason::Unsealed)]);
    for reason in [SealReason::Opened, SealReason::Unsealed] {
        for number in [1, 2] {
            assert_eq!(refused(&mut world, sealed(number, reason)), unfounded(number));
        }
    }
    for number in [0, 1, 3] {
        assert_eq!(refused(&mut world, sealed(number, SealReason::KeyLost)), unfounded(number));
    }
    world.write(alice(), vec![sealed(2, SealReason::KeyLost)]);
    let bet = started(&world);
    let used = world.try_write(alice(), vec![bet.clone(), Event::StepResolved(drawn(1, 1, 1, 30).into())]);
    assert_eq!(used, Err(Refused::WrongDraw { expected: 2, found: 1 }));
    world.write(alice(), vec![bet, Event::StepResolved(drawn(1, 1, 2, 30).into()), settled(1, 30), revealed(1, [2])]);
    let nobody = world.try_write(player("nobody"), vec![sealed(1, SealReason::Opened)]);
    assert_eq!(nobody, Err(Refused::UnknownPlayer));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, rng_seed: RngSeed::Fixed(43), ..ProptestConfig::default() })]

    #[test]
    fn a_seed_follows_from_every_part(
        dealt in any::<[u8; 32]>(),
        client_seed in prop::collection::vec(any::<u8>(), 0..=64),
        round in 1_u64..1_000,
        step in 1_u32..1_000,
        bit in 0_usize..256,
    ) {
        let name = format!("acme/alice/{round}");
        let seed = draw::seed(&dealt, &client_seed, &name, step);
        let mut other = dealt;
        other[bit / 8] ^= 1 << (bit % 8);
        prop_assert_ne!(seed, draw::seed(&other, &client_seed, &name, step));
        prop_assert_ne!(seed, draw::seed(&dealt, &[client_seed.as_slice(), b"1"].concat(), &name, step));
        prop_assert_ne!(seed, draw::seed(&dealt, &client_seed, &format!("{name}1"), step));
        prop_assert_ne!(seed, draw::seed(&dealt, &client_seed, &name, step + 1));
        prop_assert_ne!(seed, draw::seal(&dealt));
    }
}
