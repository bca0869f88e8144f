//! Changes that need two actors (PL-27). One commit both approves and applies a change. A change without a decision
//! lapses without an event.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::events::{ChangeProposed, Refused};

const CHANGES_MAX: usize = 512;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingChange {
    pub proposed: ChangeProposed,
    pub time_ms: i64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Changes(BTreeMap<u64, PendingChange>);

impl Changes {
    pub(crate) const OF_ACTOR_MAX: usize = 16;
    pub(crate) const OF_OPERATOR_MAX: usize = 64;

    pub fn pending(&self) -> impl Iterator<Item = (u64, &PendingChange)> {
        self.0.iter().map(|(position, change)| (*position, change))
    }

    pub fn propose(&mut self, position: u64, time_ms: i64, proposed: &ChangeProposed) -> Result<(), Refused> {
        let ChangeProposed { stream, change, actor, lapses_ms } = proposed;
        let is_valid = stream.is_valid() && change.is_change_of(stream) && change.as_proposed() == **change;
        if !is_valid || actor.is_empty() || *lapses_ms <= time_ms {
            return Err(Refused::BadChange);
        }
        self.0.retain(|_, waiting| time_ms < waiting.proposed.lapses_ms);
        if self.0.len() >= CHANGES_MAX {
            return Err(Refused::TooManyChanges { most: CHANGES_MAX });
        }
        self.0.insert(position, PendingChange { proposed: proposed.clone(), time_ms });
        Ok(())
    }

    pub fn take(&mut self, change: u64, time_ms: i64) -> Result<ChangeProposed, Refused> {
        let PendingChange { proposed, .. } = self.0.remove(&change).ok_or(Refused::NoSuchChange { change })?;
        if time_ms < proposed.lapses_ms { Ok(proposed) } else { Err(Refused::ChangeLapsed { change }) }
    }
}
