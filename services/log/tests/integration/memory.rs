use motherlode_log::{LogStart, MemoryStore, Store};
use motherlode_testkit::conformance::{self, records};

#[test]
fn the_memory_store_conforms() {
    let mut partition = 0;
    conformance::suite(&mut || {
        partition += 1;
        Box::new(MemoryStore::new(partition))
    });
}

#[test]
fn pl_37_a_log_in_memory_that_starts_later_answers_archived_below_its_start() {
    let start = LogStart { first: 41, previous: [7; 32] };
    let mut store = MemoryStore::starting(3, start);
    assert_eq!((store.end(), store.head()), (40, start.previous));
    let kept = records(start.previous, [b"one", b"two"]);
    store.append(40, &kept).unwrap();
    conformance::a_log_that_starts_later(&mut store, &kept);
}
