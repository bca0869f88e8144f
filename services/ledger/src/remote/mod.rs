//! Checks proposals of other processes (PL-44). The checks read only durable state.

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
use motherlode_proto::convert::record::Proposer;
use motherlode_runtime::{Caller, Operators, access::Roles};
use std::sync::Arc;

#[derive(Debug, Default)]
pub struct Terms {
    pub actors: Option<Actors>,
    pub superseded: SupersededRules,
    pub operators: Operators,
    pub campaign_costs: CampaignCosts,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Guard {
    terms: Arc<Terms>,
    pub(crate) budget: Budget,
}

#[derive(Debug, Clone)]
pub(crate) struct Node {
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

    /// Fails with [`AppendError::Conflict`] if the stream's version differs, or if a needed record of another partition
    /// has not reached this process.
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
        let Terms { actors, superseded, operators, campaign_costs } = &*self.terms;
        if let Some(actors) = actors {
            actors.check(proposal, ledger.partition())?;
        }
        let checked = superseded
            .check_events(&proposal.events)
            .and_then(|()| campaigns::check((operators, campaign_costs), proposal, all))
            .and_then(|()| pools::check(ledger, proposal, (all, partitions)))
            .and_then(|()| plays::check(ledger, proposal, actors.is_some()));
        match checked {
            // A repeated request gets its earlier commit instead of the refusal.
            Err(_) if ledger.find_position(&proposal.stream, &proposal.request_id)?.is_some() => Ok(()),
            checked => checked,
        }
    }
}
