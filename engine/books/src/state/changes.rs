//! Changes of pools and switches that need two actors (PL-27).
//!
//! One actor proposes a change on the system stream, a different one approves it on the stream that it changes, in the
//! commit that makes it. The fold sees to it: an approval by the proposer, of another change, or of one that was
//! rejected or has lapsed is [`Refused`], so that no way into the log goes round it. A change lapses by logged time, and
//! needs no event for that. Where there are no actors to tell apart, a change is made without a proposal.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use crate::events::event::Event;
use crate::events::refused::Refused;
use crate::state::books::Books;
use crate::state::switches::operator_of;
use crate::values::money::Nano;
use crate::values::stream::StreamId;

/// Most changes that wait at one time, of all actors.
const CHANGES_MAX: usize = 512;

/// A change that one actor asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeProposed {
    /// The stream that it changes: a pool's, or the system's for a switch.
    pub stream: StreamId,
    /// What is to be logged there, without what only its place in the log decides (see [`Event::as_proposed`]).
    pub change: Box<Event>,
    /// Who asks: the name of a credential.
    pub actor: String,
    /// From when on nobody can approve it, Unix ms.
    pub lapses_ms: i64,
}

impl ChangeProposed {
    /// The operator whose actor asks; `None` for the platform's.
    #[must_use]
    pub fn operator(&self) -> Option<&str> {
        operator_of(&self.actor)
    }
}

/// A proposed change that waits for another actor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingChange {
    /// What was asked for, and by whom.
    pub proposed: ChangeProposed,
    /// When, Unix ms.
    pub time_ms: i64,
}

impl Event {
    /// A change without what only its place in the log decides: the version of terms, the figures of a retirement.
    #[must_use]
    pub fn as_proposed(&self) -> Self {
        let mut change = self.clone();
        match &mut change {
            Self::PoolTermsChanged { terms } => terms.version = 0,
            Self::PoolRetired { increments, reserve, .. } => (*increments, *reserve) = (Nano::ZERO, Nano::ZERO),
            _ => {}
        }
        change
    }

    /// A proposed change as it must be logged on a stream now.
    ///
    /// # Errors
    /// [`Refused::UnknownPool`].
    pub fn as_due(&self, stream: &StreamId, books: &Books) -> Result<Self, Refused> {
        let pool = || match stream {
            StreamId::Pool(name) => books.pool(name).ok_or_else(|| Refused::UnknownPool { pool: name.clone() }),
            _ => Err(Refused::WrongStream),
        };
        let mut change = self.clone();
        match &mut change {
            Self::PoolTermsChanged { terms } => terms.version = pool()?.next_terms_version(),
            Self::PoolRetired { increments, reserve, .. } => {
                let pool = pool()?;
                (*increments, *reserve) = (pool.increments, pool.reserve);
            }
            _ => {}
        }
        Ok(change)
    }

    /// Whether it stops something for now: one actor is enough for that, and two start it again (PL-25).
    #[must_use]
    pub fn is_stop(&self) -> bool {
        matches!(self, Self::SwitchSet { on: false, .. } | Self::PoolSuspended { .. })
    }

    /// Whether it's a change of the stream that needs two actors.
    fn is_change_of(&self, stream: &StreamId) -> bool {
        match (stream, self) {
            (StreamId::Pool(name), Self::PoolOpened { pool, .. }) => pool == name,
            (StreamId::Pool(_), Self::PoolTermsChanged { .. } | Self::PoolSuspended { .. }) => true,
            (StreamId::Pool(_), Self::PoolResumed { .. } | Self::PoolRetired { .. }) => true,
            (StreamId::System, Self::SwitchSet { .. }) => true,
            _ => false,
        }
    }
}

/// All that wait, by the position of their proposals.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Changes(BTreeMap<u64, PendingChange>);

impl Changes {
    /// Most changes of one actor that wait at one time.
    pub(crate) const OF_ACTOR_MAX: usize = 16;
    /// Most changes of all actors of one operator, or of the platform, that wait at one time.
    pub(crate) const OF_OPERATOR_MAX: usize = 64;

    /// Those that wait, the oldest first; ones that have lapsed may be among them.
    pub fn pending(&self) -> impl Iterator<Item = (u64, &PendingChange)> {
        self.0.iter().map(|(position, change)| (*position, change))
    }

    /// Takes up a proposal, and forgets what has lapsed.
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
