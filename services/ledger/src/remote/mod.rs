//! Checks of the proposals of other processes, before they are judged (PL-44).
//!
//! A process of the installation proposes only the events of its role. Actors must exist and be permitted the act. Seals must equal those of
//! this process's draw keys, and steps must resolve to the logged outcome. The checks read durable state. A proposal with a step names the
//! stream's version, so the writer refuses it if the stream has moved on.
//!
//! Cost: nothing for proposals of this process. For those of others, one look at each event and, for steps, a copy of the player
//! and one resolution of each step of the round so far.

mod actors;
mod kinds;
mod plays;

pub use actors::Actors;
pub use kinds::may_propose;

use crate::{
    append::{AppendError, Proposal},
    handle::Handle,
};
use motherlode_proto::convert::record::Proposer;
use motherlode_runtime::{Caller, access::Roles};
use std::sync::Arc;

/// Checks proposals of other processes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Guard {
    actors: Option<Arc<Actors>>,
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
    /// Checks actors and approvals by the configuration.
    pub(crate) fn new(actors: Option<Actors>) -> Self {
        Self { actors: actors.map(Arc::new) }
    }

    /// Checks a proposal by its proposer's roles, its actors, and its draws and steps.
    ///
    /// # Errors
    /// [`AppendError::NotAllowed`]; [`AppendError::Conflict`] where a step was decided on another version of the stream.
    pub(crate) fn check(&self, node: &Node, proposal: &Proposal, ledger: &Handle) -> Result<(), AppendError> {
        if let Some(roles) = node.roles {
            kinds::check(roles, proposal, ledger.partition())?;
        }
        if let Some(actors) = &self.actors {
            actors.check(proposal, ledger.partition())?;
        }
        match plays::check(ledger, proposal, self.actors.is_some()) {
            // A repeated request gets the answer of its commit.
            Err(_) if ledger.find_position(&proposal.stream, &proposal.request_id)?.is_some() => Ok(()),
            checked => checked,
        }
    }
}
