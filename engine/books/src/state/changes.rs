//! Changes of pools and switches that need two actors (PL-27).
//!
//! One actor proposes a change on the system stream, a different one approves it on the stream that it changes, in the
//! commit that makes it. The fold sees to it: an approval by the proposer, of another change, or of one that was
//! rejected or has lapsed is [`Refused`], so that no way into the log goes round it. A change lapses by logged time, and
//! needs no event for that. Where there are no actors to tell apart, a change is made without a proposal.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::events::{ChangeProposed, Refused};

/// Most changes that wait at one time, of all actors.
const CHANGES_MAX: usize = 512;

/// A proposed change that waits for another actor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingChange {
    /// The proposal.
    pub proposed: ChangeProposed,
    /// Its time, Unix ms.
    pub time_ms: i64,
}

/// The changes that wait for another actor, by the position of their proposals.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Changes(BTreeMap<u64, PendingChange>);

impl Changes {
    /// Most changes of one actor that wait at one time.
    pub(crate) const OF_ACTOR_MAX: usize = 16;
    /// Most changes of all actors of one operator, or of the platform, that wait at one time.
    pub(crate) const OF_OPERATOR_MAX: usize = 64;

    /// The waiting changes, the oldest first; lapsed ones may be among them.
    pub fn pending(&self) -> impl Iterator<Item = (u64, &PendingChange)> {
        self.0.iter().map(|(position, change)| (*position, change))
    }

    /// Takes up a proposal, and forgets proposals that have lapsed.
    ///
    /// # Errors
    /// [`Refused::BadChange`], [`Refused::TooManyChanges`].
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

    /// Takes a change out, to be made or to be rejected.
    ///
    /// # Errors
    /// [`Refused::NoSuchChange`], [`Refused::ChangeLapsed`].
    pub fn take(&mut self, change: u64, time_ms: i64) -> Result<ChangeProposed, Refused> {
        let PendingChange { proposed, .. } = self.0.remove(&change).ok_or(Refused::NoSuchChange { change })?;
        if time_ms < proposed.lapses_ms { Ok(proposed) } else { Err(Refused::ChangeLapsed { change }) }
    }
}
