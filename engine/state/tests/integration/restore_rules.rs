use crate::common::*;
use motherlode_state::*;

fn begun(number: u64, evidence: StartEvidence) -> Event {
    let begun = GenerationBegun {
        number,
        salt: [u8::try_from(number).unwrap(); 32],
        unused_seals_end: true,
        evidence,
        lost_to: 90,
        keys_added: vec![],
        keys_lost: vec![],
    };
    Event::GenerationBegun(begun.into())
}

fn restored(number: u64, position: u64) -> Event {
    let (record_hash, origin, checkpoint) = ([1; 32], String::new(), String::new());
    Event::LogRestored(LogRestored { number, position, record_hash, origin, checkpoint }.into())
}

#[test]
fn pl_37_a_restore_is_recorded_once_with_the_end_of_unused_seals() {
    let mut world = World::with_players(&["alice"]);
    let end = world.books.end(0).position;
    let bad = |number| Err(Refused::BadRestore { number });
    let with = |restored: Event, generation| vec![restored, begun(generation, StartEvidence::Restored)];
    assert_eq!(world.try_write(StreamId::System, vec![restored(5, end)]), bad(5), "seals stay valid");
    let unsure = vec![restored(5, end), begun(1, StartEvidence::Missing)];
    assert_eq!(world.try_write(StreamId::System, unsure), bad(5));
    for (number, position) in [(0, end), (5, end - 1), (5, end + 1), (5, u64::MAX)] {
        assert_eq!(world.try_write(StreamId::System, with(restored(number, position), 1)), bad(number));
    }
    assert_eq!(world.books.restores().current(), 0);
    world.write(StreamId::System, with(restored(5, end), 1));
    assert!(!world.books.generations().is_usable(0), "unused seals are revoked");
    assert_eq!(world.try_write(StreamId::System, with(restored(5, end + 1), 2)), bad(5), "numbers differ");
    world.write(StreamId::System, with(restored(3, end + 1), 2));
    let restores = world.books.restores();
    let numbers: Vec<_> = (end..end + 4).map(|position| restores.number_at(position)).collect();
    assert_eq!((numbers, restores.current()), (vec![0, 5, 3, 3], 3));
    let id = |position| restores.transaction_id(position, "debit/acme/alice/r".into());
    assert_eq!([id(end), id(end + 1)], ["debit/acme/alice/r", "r5/debit/acme/alice/r"]);
    assert_eq!(world.try_write(pool_stream(), with(restored(7, end + 2), 3)), Err(Refused::WrongStream));
}
