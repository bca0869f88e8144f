use std::collections::BTreeMap;

use motherlode_state::{
    Books, Commit, Currency, Event, Frozen, Hand, Head, Minor, PlayerState, SmolStr, Stage, StreamId,
};
use proptest::prelude::*;

#[derive(Debug, Clone)]
enum Act {
    Deposit(usize, bool),
    Freeze,
    Write(usize),
    Thaw(bool),
    Evict(usize, bool),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => (0..12_usize, any::<bool>()).prop_map(|(player, staged)| Act::Deposit(player, staged)),
        2 => Just(Act::Freeze),
        4 => (1..4_usize).prop_map(Act::Write),
        2 => prop::bool::weighted(0.8).prop_map(Act::Thaw),
        2 => (1..6_usize, any::<bool>()).prop_map(|(places, recent)| Act::Evict(places, recent)),
    ]
}

struct Snapshot {
    whole: Books,
    frozen: Frozen,
    left: Vec<(String, u64)>,
    written: BTreeMap<StreamId, PlayerState>,
}

struct World {
    whole: Books,
    books: Books,
    snapshot: Option<Snapshot>,
    images: BTreeMap<StreamId, PlayerState>,
    hand: Hand,
}

fn stream(player: usize) -> StreamId {
    StreamId::player(if player.is_multiple_of(3) { "acme" } else { "zeta" }, format!("p{player}"))
}

impl World {
    fn load(&mut self, stream: &StreamId) {
        if self.books.player(stream).is_none()
            && let Some(state) = self.images.get(stream)
        {
            self.books.load(stream, state.clone());
        }
    }

    fn deposit(&mut self, stream: StreamId, staged: bool) {
        self.load(&stream);
        let Head { version, position: previous, .. } = self.whole.head(&stream);
        let deposit = Event::Deposited { currency: Currency::EUR, amount: Minor(5) };
        let open = (version == 0).then_some(Event::AccountOpened { currency: Currency::EUR });
        let position = self.whole.end(0).position + 1;
        let commit = Commit {
            partition: 0,
            position,
            stream,
            version: version + 1,
            previous,
            request_id: format!("r{position}").into(),
            fingerprint: [0; 16],
            time_ms: i64::try_from(position).unwrap(),
            events: open.into_iter().chain([deposit]).collect(),
        };
        self.whole.apply(&commit).unwrap();
        if staged {
            let mut stage = Stage::new();
            stage.apply(&self.books, &commit).unwrap();
            self.books.evict(&mut self.hand, 3, true);
            self.books.absorb(stage);
        } else {
            self.books.apply(&commit).unwrap();
        }
    }

    fn freeze(&mut self) {
        if self.snapshot.is_none() {
            let frozen = self.books.freeze();
            let place = |(operator, places): &(SmolStr, Vec<u64>)| {
                places.iter().map(|place| (operator.to_string(), *place)).collect::<Vec<_>>()
            };
            let left = frozen.iter().flat_map(place).collect();
            self.snapshot = Some(Snapshot { whole: self.whole.clone(), frozen, left, written: BTreeMap::new() });
        }
    }

    fn write(&mut self, places: usize) {
        let Some(snapshot) = &mut self.snapshot else { return };
        for _ in 0..places {
            let Some((operator, place)) = snapshot.left.pop() else { return };
            for (player, state) in self.books.frozen(&operator, place) {
                snapshot.written.insert(StreamId::player(&operator, player), (**state).clone());
            }
        }
    }

    fn thaw(&mut self, whole: bool) {
        let Some(snapshot) = self.snapshot.take() else { return };
        if !whole || !snapshot.left.is_empty() {
            drop(self.books.thaw(Some(snapshot.frozen)));
            return;
        }
        drop(self.books.thaw(None));
        self.images.extend(snapshot.written);
        for (operator, player, state) in snapshot.whole.players() {
            assert_eq!(self.images.get(&StreamId::player(operator, player)), Some(state), "{operator}/{player}");
        }
        assert_eq!(
            self.images.len(),
            snapshot.whole.players().count(),
            "players that joined later are not in the snapshot"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn pl_30_a_snapshot_is_the_books_when_it_began_and_who_left_memory_comes_back_the_same(
        acts in prop::collection::vec(act(), 0..120)
    ) {
        let mut books = Books::new();
        books.watch();
        let mut world = World {
            whole: Books::new(),
            books,
            snapshot: None,
            images: BTreeMap::new(),
            hand: Hand::default(),
        };
        for act in acts {
            match act {
                Act::Deposit(player, staged) => world.deposit(stream(player), staged),
                Act::Freeze => world.freeze(),
                Act::Write(places) => world.write(places),
                Act::Thaw(whole) => world.thaw(whole),
                Act::Evict(places, recent) => drop(world.books.evict(&mut world.hand, places, recent)),
            }
        }
        for player in 0..12 {
            world.load(&stream(player));
        }
        prop_assert_eq!(&world.books, &world.whole);
        prop_assert!(world.books.trial_balance().is_empty());
    }
}

#[test]
fn pl_30_the_hand_comes_round_and_drops_all_that_a_snapshot_has_but_players_with_open_rounds() {
    let mut world = super::common::World::with_players(&["alice", "bob"]);
    let started = world.start("alice", super::common::POOL, Currency::EUR, 50, "0.01");
    world.books.watch();
    world.write(super::common::player("alice"), vec![Event::RoundStarted(started.into())]);
    world.play("bob", 50, "0.01", 10);
    let (mut hand, names) =
        (Hand::default(), |books: &Books| books.players().map(|(_, name, _)| name.to_owned()).collect::<Vec<_>>());
    while !world.books.evict(&mut hand, 1, true) {}
    assert_eq!(names(&world.books), ["alice", "bob"], "no snapshot contains the players, so they stay in memory");
    world.books.freeze();
    while !world.books.evict(&mut hand, 1, true) {}
    assert_eq!(
        names(&world.books),
        ["alice", "bob"],
        "an unwritten snapshot contains no players, so they stay in memory"
    );
    drop(world.books.thaw(None));
    while !world.books.evict(&mut hand, 1, false) {}
    assert_eq!(names(&world.books), ["alice", "bob"], "both players were used recently");
    while !world.books.evict(&mut hand, 1, true) {}
    assert_eq!(names(&world.books), ["alice"]);
    assert_eq!((world.books.players_in_memory(), world.books.latest_snapshot()), (1, 1));
}
