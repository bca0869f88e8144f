//! Checks of other processes' proposals before they reach the writer (PL-44).
//!
//! A process may propose only events of its role. Actors must exist and be permitted the act, seals must match this
//! process's draw keys, and steps must resolve to the logged outcome. The checks read durable state; a proposal with a
//! step states the stream's version, so the writer refuses it if the stream has changed since.
//!
//! Cost: none for proposals of this process. For others one check per event; for steps also a copy of the player and a
//! resolution of each step of the round so far.

mod actors;
mod budget;
mod campaigns;
mod kinds;
mod plays;
mod pools;
mod superseded;

pub use actors::Actors;
pub(crate) use budget::{Budget, StreamBytes, check_length};
pub use campaigns::{CampaignCosts, reservation_ids};
pub use kinds::may_propose;
pub use pools::is_copied;
pub use superseded::{SupersededRules, UnknownRules};

use crate::{
    append::{AppendError, Proposal},
    handle::Handle,
};
use motherlode_books::Nano;
use motherlode_proto::convert::record::Proposer;
use motherlode_runtime::{Caller, access::Roles};
use std::{collections::BTreeMap, sync::Arc};

/// Configuration for these checks.
#[derive(Debug, Default)]
pub struct Terms {
    /// Known actors; `None` without operators.
    pub actors: Option<Actors>,
    /// Superseded rules versions that take new bets (PL-41).
    pub superseded: SupersededRules,
    /// Cap in EUR on the cost of open campaigns, by operator (PL-36).
    pub campaign_caps: BTreeMap<String, Nano>,
    /// Highest costs of campaigns (PL-36).
    pub campaign_costs: CampaignCosts,
}

/// Checks other processes' proposals.
#[derive(Debug, Clone, Default)]
pub(crate) struct Guard {
    terms: Arc<Terms>,
    pub(crate) budget: Budget,
}

/// Proposing process, identified by its credential.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    /// Node roles; `None` without operators.
    roles: Option<Roles>,
    pub(crate) proposer: Arc<Proposer>,
}

impl Node {
    pub(crate) fn new(caller: &Caller) -> Self {
        let roles = caller.credential().map(|(_, roles)| roles.and(Roles::NODES));
        let named = roles.map(|roles| roles.to_string()).unwrap_or_default();
        Self { roles, proposer: Arc::new(Proposer { credential: caller.signature().into(), roles: named.into() }) }
    }
}

impl Guard {
    pub(crate) fn new(terms: Terms) -> Self {
        Self { terms: terms.into(), budget: Budget::default() }
    }

    /// Checks a proposal: the roles of its process, its actors, draws and steps, and the logs of other partitions.
    ///
    /// # Errors
    /// [`AppendError::NotAllowed`]; [`AppendError::Conflict`] if it was decided on another version of the stream, or on
    /// positions of another partition that this process lacks.
    pub(crate) fn check(
        &self,
        node: &Node,
        proposal: &Proposal,
        ledger: &Handle,
        (all, partitions): (&[Handle], u32),
    ) -> Result<(), AppendError> {
        if let Some(roles) = node.roles {
            kinds::check(roles, proposal, ledger.partition())?;
        }
        let Terms { actors, superseded, campaign_caps, campaign_costs } = &*self.terms;
        if let Some(actors) = actors {
            actors.check(proposal, ledger.partition())?;
        }
        let checked = superseded
            .check_events(&proposal.events)
            .and_then(|()| campaigns::check((campaign_caps, campaign_costs), proposal, all))
            .and_then(|()| pools::check(ledger, proposal, (all, partitions)))
            .and_then(|()| plays::check(ledger, proposal, actors.is_some()));
        match checked {
            // A repeated request gets its commit as the answer.
            Err(_) if ledger.find_position(&proposal.stream, &proposal.request_id)?.is_some() => Ok(()),
            checked => checked,
        }
    }
}
