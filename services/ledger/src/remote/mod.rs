//! Checks of the proposals of other processes, before they are judged (PL-44).
//!
//! A process of the installation proposes only the events of its role. Actors must exist and be permitted the act. Seals must equal those of
//! this process's draw keys, and steps must resolve to the logged outcome. The checks read durable state. A proposal with a step names the
//! stream's version, so the writer refuses it if the stream has moved on.
//!
//! Cost: nothing for proposals of this process. For those of others, one look at each event and, for steps, a copy of the player
//! and one resolution of each step of the round so far.

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

/// The parts of a configuration by which proposals are checked.
#[derive(Debug, Default)]
pub struct Terms {
    /// The known actors; `None` without operators.
    pub actors: Option<Actors>,
    /// Superseded rules versions that take new bets (PL-41).
    pub superseded: SupersededRules,
    /// The most that open campaigns of an operator may cost, EUR, by operator (PL-36).
    pub campaign_caps: BTreeMap<String, Nano>,
    /// Highest costs of campaigns (PL-36).
    pub campaign_costs: CampaignCosts,
}

/// Checks proposals of other processes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Guard {
    terms: Arc<Terms>,
    pub(crate) budget: Budget,
}

/// The process that proposes, by its credential.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    /// Its node roles; `None` without operators.
    roles: Option<Roles>,
    pub(crate) proposer: Arc<Proposer>,
}

impl Node {
    /// The process that makes a call.
    pub(crate) fn new(caller: &Caller) -> Self {
        let roles = caller.credential().map(|(_, roles)| roles.and(Roles::NODES));
        let named = roles.map(|roles| roles.to_string()).unwrap_or_default();
        Self { roles, proposer: Arc::new(Proposer { credential: caller.signature().into(), roles: named.into() }) }
    }
}

impl Guard {
    /// Checks by a configuration.
    pub(crate) fn new(terms: Terms) -> Self {
        Self { terms: terms.into(), budget: Budget::default() }
    }

    /// Checks a proposal by its proposer's roles, its actors, its draws and steps, and other partitions' logs.
    ///
    /// # Errors
    /// [`AppendError::NotAllowed`]; [`AppendError::Conflict`] if it was decided on another version of the stream, or on later
    /// positions of another partition than this process has.
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
            // A repeated request gets the answer of its commit.
            Err(_) if ledger.find_position(&proposal.stream, &proposal.request_id)?.is_some() => Ok(()),
            checked => checked,
        }
    }
}
