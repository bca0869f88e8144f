use crate::common::*;
use motherlode_state::*;

fn taken(position: u64, actor: &str) -> BaseTaken {
    BaseTaken { position, record_hash: [1; 32], form: 1, digest: [2; 32], actor: actor.into() }
}

fn take(base: BaseTaken) -> Vec<Event> {
    vec![Event::BaseTaken(base.into())]
}

fn confirm(position: u64, digest: [u8; 32], actor: &str) -> Vec<Event> {
    vec![Event::BaseConfirmed(BaseConfirmed { position, digest, actor: actor.into() }.into())]
}

#[test]
fn pl_37_a_base_is_of_an_earlier_position_and_is_confirmed_once_by_another_actor() {
    let mut world = World::with_players(&["alice", "bob"]);
    let end = world.books.end(0).position;
    let bad = |position| Err(Refused::BadBase { position });
    for base in [taken(0, "ann"), taken(end + 1, "ann"), taken(end, ""), BaseTaken { form: 0, ..taken(end, "ann") }] {
        let position = base.position;
        assert_eq!(world.try_write(StreamId::System, take(base)), bad(position));
    }
    assert_eq!(world.try_write(StreamId::System, confirm(1, [2; 32], "bob")), bad(1), "there is no base");
    world.write(StreamId::System, take(taken(1, "ann")));
    world.write(StreamId::System, take(taken(2, "ann")));
    assert_eq!(world.try_write(StreamId::System, take(taken(2, "bob"))), bad(2), "a base is after the one before");
    assert_eq!(world.try_write(StreamId::System, confirm(1, [2; 32], "bob")), bad(1), "only the latest is confirmed");
    assert_eq!(world.try_write(StreamId::System, confirm(2, [3; 32], "bob")), bad(2), "another digest");
    assert_eq!(world.try_write(StreamId::System, confirm(2, [2; 32], "")), bad(2));
    let same = Refused::SameActor { change: 2, actor: "ann".into() };
    assert_eq!(world.try_write(StreamId::System, confirm(2, [2; 32], "ann")), Err(same));
    assert_eq!(world.books.confirmed_base(), None);
    world.write(StreamId::System, confirm(2, [2; 32], "bob"));
    assert_eq!(world.books.confirmed_base(), Some(&taken(2, "ann")));
    assert_eq!(world.try_write(StreamId::System, confirm(2, [2; 32], "carl")), bad(2), "it is confirmed already");
    world.write(StreamId::System, take(taken(3, ANYONE)));
    assert_eq!((world.books.base().unwrap().position, world.books.confirmed_base().unwrap().position), (3, 2));
    world.write(StreamId::System, confirm(3, [2; 32], ANYONE));
    assert_eq!(world.try_write(pool_stream(), take(taken(4, "ann"))), Err(Refused::WrongStream));
}
