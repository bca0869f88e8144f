//! A log as a test reads it.

use motherlode_ledger::Handle;
use motherlode_log::Position;
use motherlode_proto::convert::record::Logged;
use std::{iter, sync::Arc};

/// The durable commits from a position on, up to the end as it is when the last of them is taken: a read may give fewer than
/// asked for before the end, and only an empty one is the end.
///
/// # Panics
/// When the log cannot be read.
pub fn commits(ledger: &Handle, from: Position) -> impl Iterator<Item = Arc<Logged>> {
    let mut next = from;
    let groups = iter::from_fn(move || {
        let group = ledger.read(next, 1_000).expect("the log can be read");
        next += group.len() as Position;
        (!group.is_empty()).then_some(group)
    });
    groups.flatten()
}
