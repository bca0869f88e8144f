use motherlode_ledger::Handle;
use motherlode_log::Position;
use motherlode_proto::convert::record::Logged;
use std::{iter, sync::Arc};

pub fn commits(ledger: &Handle, from: Position) -> impl Iterator<Item = Arc<Logged>> {
    let mut next = from;
    let groups = iter::from_fn(move || {
        let group = ledger.read(next, 1_000).expect("the log can be read");
        next += group.len() as Position;
        (!group.is_empty()).then_some(group)
    });
    groups.flatten()
}
