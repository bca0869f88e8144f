use serde::{Deserialize, Serialize};

use crate::events::{LogRestored, Refused};

/// Restores of a log to earlier positions, oldest first (PL-37).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restores(Vec<(u64, u64)>);

impl Restores {
    /// Random number of the latest restore; 0 if there was none.
    #[must_use]
    pub fn current(&self) -> u64 {
        self.0.last().map_or(0, |(_, number)| *number)
    }

    /// Random number of the latest restore that was logged at or before `position`; 0 if none.
    #[must_use]
    pub fn number_at(&self, position: u64) -> u64 {
        let before = self.0.partition_point(|(restored, _)| *restored <= position);
        before.checked_sub(1).and_then(|last| self.0.get(last)).map_or(0, |(_, number)| *number)
    }

    pub fn add(&mut self, restored: &LogRestored, position: u64) -> Result<(), Refused> {
        let LogRestored { number, position: end, .. } = restored;
        let is_new = *number > 0 && self.0.iter().all(|(_, known)| known != number);
        if !is_new || end.checked_add(1) != Some(position) {
            return Err(Refused::BadRestore { number: *number });
        }
        self.0.push((position, *number));
        Ok(())
    }

    /// Returns the id of a wallet transaction caused by the record at `position`. After a restore, new transactions get
    /// different ids, because wallets may have completed the transactions that the restore undid.
    #[must_use]
    pub fn transaction_id(&self, position: u64, id: String) -> String {
        match self.number_at(position) {
            0 => id,
            number => format!("r{number}/{id}"),
        }
    }
}
