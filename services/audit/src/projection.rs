//! Balances of a service's newest snapshot, for comparison with the log.

use motherlode_ledger::{Balance, ChainHead, balances};
use std::{collections::VecDeque, path::Path};

#[derive(Debug, Default)]
pub(crate) struct Projection {
    pub(crate) balances: VecDeque<Balance>,
    pub(crate) head: Option<ChainHead>,
}

/// Callers must read the log after this call, so that they find all records that the snapshot includes.
pub(crate) fn read(index: &Path, partition: u32) -> Result<Projection, String> {
    let found = balances(index, partition).map_err(|error| format!("the snapshot cannot be read: {error}"))?;
    let (mut balances, head) = found.ok_or("the index has no snapshot in this version's format")?;
    balances.sort_by_key(|balance| balance.position);
    Ok(Projection { balances: balances.into(), head: Some(head) })
}
