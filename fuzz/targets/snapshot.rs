//! Reads snapshots that consist of arbitrary bytes, sometimes after a valid digest and header. If a snapshot is accepted,
//! its state must answer queries.
#![cfg_attr(feature = "libfuzzer", no_main)]

use motherlode_fuzz::fuzz_target;
use motherlode_ledger::fuzzing::{sealed_snapshot, snapshot};

fuzz_target!(|bytes: &[u8]| {
    let _ = snapshot(bytes);
    if let Some(books) = sealed_snapshot(bytes) {
        for (operator, _, player) in books.players() {
            let _ = player.balances().count();
            let _ = player.open_rounds().count();
            let _ = books.open_rounds(operator, 0).count();
        }
        for pool in books.pools() {
            let _ = books.pending_decisions(&pool.name).count();
        }
    }
});
