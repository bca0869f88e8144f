//! Balances of a service's newest snapshot, for comparison with the log. Reading does not write files.

use motherlode_ledger::{Balance, ChainHead, balances};
use std::{collections::VecDeque, path::Path};

#[derive(Debug, Default)]
pub(crate) struct Projection {
    /// In order of their positions.
    pub(crate) balances: VecDeque<Balance>,
    pub(crate) head: Option<ChainHead>,
}

/// Reads the balances. Read the log afterwards, because a running service may write a newer snapshot.
pub(crate) fn read(index: &Path, partition: u32) -> Result<Projection, String> {
    let found = balances(index, partition).map_err(|error| format!("the snapshot cannot be read: {error}"))?;
    let (mut balances, head) = found.ok_or("there is no snapshot of this version")?;
    balances.sort_by_key(|balance| balance.position);
    Ok(Projection { balances: balances.into(), head: Some(head) })
}
