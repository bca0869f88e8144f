use super::kinds::kind_name;
use crate::append::{AppendError, Proposal};
use motherlode_runtime::{
    Reason,
    access::Roles,
    config::{Operator, PLATFORM},
};
use motherlode_state::{Automatic, Event, HOME, InternalRequest, SIGNAL, StreamId};
use parking_lot::RwLock;
use std::{collections::BTreeMap, sync::Arc};

#[derive(Debug, Clone)]
pub struct Actors(Arc<RwLock<BTreeMap<String, Roles>>>);

impl Actors {
    #[must_use]
    pub fn new(operators: &[Operator]) -> Option<Self> {
        (!operators.is_empty()).then(|| Self(Arc::new(RwLock::new(Self::roles(operators)))))
    }

    pub fn replace(&self, operators: &[Operator]) {
        *self.0.write() = Self::roles(operators);
    }

    fn roles(operators: &[Operator]) -> BTreeMap<String, Roles> {
        let mut actors = BTreeMap::new();
        for operator in operators {
            for credential in &operator.credentials {
                for id in credential.serves(operator) {
                    let name = match &**id {
                        PLATFORM => credential.name.clone(),
                        id => format!("{id}/{}", credential.name),
                    };
                    let roles = actors.entry(name).or_insert(Roles::NONE);
                    *roles = *roles | credential.roles;
                }
            }
        }
        actors
    }

    /// Checks that each actor exists, has the required role and acts for its own operator. If a change requires two
    /// actors, its event must directly follow the event that approves it.
    pub(super) fn check(&self, proposal: &Proposal, partition: u32) -> Result<(), AppendError> {
        let Proposal { stream, request_id, events, .. } = proposal;
        // The writer of partition 0 has already checked the original of a copied commit.
        let is_copy = partition != HOME && InternalRequest::copied_position(request_id).is_some();
        let mut approved = false;
        for event in events {
            if takes_two(event) && !approved && !is_copy && !opens(proposal, event) {
                let reason = format!(
                    "event {} on stream {stream} must directly follow the event that approves the change",
                    kind_name(event)
                );
                return Err(AppendError::not_allowed(Reason::ApprovalMissing, reason));
            }
            approved = matches!(event, Event::ChangeApproved { .. });
            if let Some(actor) = actor(event)
                && !is_copy
            {
                self.act(actor, act(event, events), owner(proposal))?;
            }
        }
        let unsigned = events.iter().find(|event| is_signed(event));
        match unsigned.filter(|_| !is_copy && !matches!(events.last(), Some(Event::ActedBy { .. }))) {
            None => Ok(()),
            Some(event) => {
                let reason = format!("event {} on stream {stream} must name the actor", kind_name(event));
                Err(AppendError::not_allowed(Reason::ActorMissing, reason))
            }
        }
    }

    fn act(&self, actor: &str, roles: Roles, owner: Option<&str>) -> Result<(), AppendError> {
        let Some(own) = self.0.read().get(actor).copied() else {
            return Err(AppendError::not_allowed(Reason::ActorUnknown, format!("no credential is named {actor:?}")));
        };
        let operator = actor.split_once('/').map(|(operator, _)| operator);
        if !own.meets(roles) {
            let reason = format!("the actor {actor:?} needs one of the roles {roles}");
            return Err(AppendError::not_allowed(Reason::ActorRoleMissing, reason));
        }
        if owner.is_some() && operator.is_some() && operator != owner {
            let reason = format!("the actor {actor:?} may not act for {}", owner.unwrap_or_default());
            return Err(AppendError::not_allowed(Reason::ActorRoleMissing, reason));
        }
        Ok(())
    }
}

fn actor(event: &Event) -> Option<&str> {
    match event {
        Event::ActedBy { actor, .. }
        | Event::RoundVoided { actor, .. }
        | Event::VoidProposed { actor, .. }
        | Event::CampaignCancelled { actor, .. }
        | Event::PoolSuspended { actor, .. }
        | Event::PoolResumed { actor }
        | Event::PoolRetired { actor, .. }
        | Event::HitsReleased { actor, .. }
        | Event::SwitchSet { actor, .. }
        | Event::ChangeApproved { actor, .. }
        | Event::ChangeRejected { actor, .. } => Some(actor),
        Event::ChangeProposed(proposed) => Some(&proposed.actor),
        Event::ConfigurationReloaded(reloaded) if reloaded.actor != SIGNAL => Some(&reloaded.actor),
        Event::IncidentDeclared(incident) => Some(&incident.actor),
        Event::BaseTaken(base) => Some(&base.actor),
        Event::BaseConfirmed(base) => Some(&base.actor),
        Event::StepResolved(step) => match &step.automatic {
            Some(Automatic::Closed { actor, .. }) => Some(actor),
            _ => None,
        },
        _ => None,
    }
}

fn act(event: &Event, events: &[Event]) -> Roles {
    let of = |event: &Event| match event {
        Event::AccountOpened { .. }
        | Event::Deposited { .. }
        | Event::Withdrawn { .. }
        | Event::CampaignGranted(_)
        | Event::CampaignCancelled { .. }
        | Event::LiabilityReserved(_) => Some(Roles::WALLET),
        Event::RequestCancelled => Some(Roles::WALLET | Roles::PLAY | Roles::ADMIN),
        Event::RoundStarted(_) | Event::StepResolved(_) | Event::RoundSettled { .. } => {
            Some(Roles::PLAY | Roles::SUPPORT)
        }
        Event::RoundVoided { .. } | Event::VoidProposed { .. } => Some(Roles::SUPPORT | Roles::ADMIN),
        Event::JackpotPaid { .. } => Some(Roles::SUPPORT | Roles::ADMIN),
        Event::ChangeApproved { .. } | Event::ChangeRejected { .. } | Event::ChangeProposed(_) => Some(Roles::ADMIN),
        Event::RateSet { .. } | Event::PoolSuspended { .. } | Event::BaseTaken(_) | Event::ConfigurationReloaded(_) => {
            Some(Roles::ADMIN)
        }
        Event::BaseConfirmed(_) => Some(Roles::AUDIT | Roles::ADMIN),
        event if takes_two(event) || event.is_stop() => Some(Roles::ADMIN),
        _ => None,
    };
    of(event).or_else(|| events.iter().find_map(of)).unwrap_or(Roles::ANY)
}

fn owner(proposal: &Proposal) -> Option<&str> {
    match &proposal.stream {
        StreamId::Player { operator, .. } => Some(operator),
        StreamId::Pool(_) | StreamId::Rates => Some(PLATFORM),
        StreamId::System => proposal.events.iter().find_map(|event| match event {
            Event::ConfigurationReloaded(_) => Some(PLATFORM),
            Event::RequestCancelled => Some(owner_of_request(&proposal.request_id)),
            Event::LiabilityReserved(reserved) => Some(&*reserved.operator),
            Event::BaseTaken(_) | Event::BaseConfirmed(_) => Some(PLATFORM),
            Event::ChangeProposed(proposed) if matches!(proposed.stream, StreamId::Pool(_)) => Some(PLATFORM),
            _ => None,
        }),
    }
}

fn owner_of_request(request_id: &str) -> &str {
    let operator = request_id.strip_prefix("of/").or_else(|| request_id.strip_prefix("campaign/"));
    operator.and_then(|rest| rest.split_once('/')).map_or(PLATFORM, |(operator, _)| operator)
}

fn takes_two(event: &Event) -> bool {
    matches!(
        event,
        Event::PoolOpened { .. }
            | Event::PoolTermsChanged { .. }
            | Event::PoolResumed { .. }
            | Event::PoolRetired { .. }
            | Event::HitsReleased { .. }
            | Event::IncidentDeclared(_)
            | Event::SwitchSet { on: true, .. }
    )
}

fn opens(proposal: &Proposal, event: &Event) -> bool {
    matches!(event, Event::PoolOpened { .. }) && proposal.request_id == InternalRequest::OpenPool.to_string()
}

fn is_signed(event: &Event) -> bool {
    matches!(
        event,
        Event::Deposited { .. }
            | Event::Withdrawn { .. }
            | Event::RequestCancelled
            | Event::CampaignGranted(_)
            | Event::LiabilityReserved(_)
            | Event::RateSet { .. }
            | Event::BaseTaken(_)
            | Event::BaseConfirmed(_)
            | Event::ChangeProposed(_)
    )
}
