use std::sync::Arc;

use super::transition::Transition;
use crate::events::Refused;
use crate::state::VoidProposal;
use crate::values::operator_of;

impl Transition<'_, '_> {
    pub fn propose_void(&mut self, round: u64, reason: &str, actor: &str) -> Result<(), Refused> {
        let (position, time_ms) = (self.commit.position, self.commit.time_ms);
        let player = self.player()?;
        if round == 0 || round > player.rounds_started {
            return Err(Refused::NoSuchRound { round });
        }
        if player.voided_at(round).is_some() {
            return Err(Refused::AlreadyVoided { round });
        }
        if actor.is_empty() || reason.is_empty() {
            return Err(Refused::BadChange);
        }
        let (actor, reason) = (actor.to_owned(), reason.to_owned());
        let proposal = VoidProposal { round, position, time_ms, actor, reason, rejected: false };
        proposal.add(Arc::make_mut(player.void_proposals.get_or_insert_default()))
    }

    pub fn approve_void(&mut self, change: u64, proposed_by: &str, actor: &str) -> Result<(), Refused> {
        let proposal = self.waiting_void(change)?;
        if proposal.actor != proposed_by || actor.is_empty() {
            return Err(Refused::NotAsProposed);
        }
        if operator_of(actor).is_some() {
            return Err(Refused::OtherActors { change });
        }
        if proposal.actor == actor {
            return Err(Refused::SameActor { change, actor: actor.to_owned() });
        }
        self.approved_void = Some(proposal.round);
        Ok(())
    }

    pub fn reject_void(&mut self, change: u64) -> Result<(), Refused> {
        self.waiting_void(change)?;
        let proposals = self.player()?.void_proposals.as_mut().map(Arc::make_mut);
        let mut proposals = proposals.into_iter().flatten();
        let proposal = proposals.find(|proposal| proposal.position == change);
        proposal.ok_or(Refused::NoSuchChange { change })?.rejected = true;
        Ok(())
    }

    pub fn drop_proposals(&mut self, round: u64) -> Result<(), Refused> {
        let player = self.player()?;
        if player.void_proposals().any(|proposal| proposal.round == round) {
            let mut left: Vec<_> = player.void_proposals().cloned().collect();
            left.retain(|proposal| proposal.round != round);
            player.void_proposals = Some(left).filter(|left| !left.is_empty()).map(Arc::new);
        }
        Ok(())
    }

    fn waiting_void(&mut self, change: u64) -> Result<VoidProposal, Refused> {
        let now_ms = self.commit.time_ms;
        let proposal = self.player()?.void_proposals().find(|proposal| proposal.position == change).cloned();
        let proposal = proposal.filter(|proposal| !proposal.rejected).ok_or(Refused::NoSuchChange { change })?;
        if proposal.waits(now_ms) { Ok(proposal) } else { Err(Refused::ChangeLapsed { change }) }
    }
}
