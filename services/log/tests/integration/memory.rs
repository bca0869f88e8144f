//! The store in memory keeps the contract.

use motherlode_log::MemoryStore;
use motherlode_testkit::conformance;

#[test]
fn the_memory_store_conforms() {
    let mut partition = 0;
    conformance::suite(&mut || {
        partition += 1;
        Box::new(MemoryStore::new(partition))
    });
}
