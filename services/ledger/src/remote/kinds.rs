use crate::append::{AppendError, Proposal};
use motherlode_runtime::{Reason, access::Roles};
use motherlode_state::{Currency, Event, HOME, InternalRequest, StreamId};

/// Fails with KIND_NOT_ALLOWED, which names the first event that the roles do not permit.
pub(super) fn check(roles: Roles, proposal: &Proposal, partition: u32) -> Result<(), AppendError> {
    let Proposal { stream, request_id, events, .. } = proposal;
    let place =
        StreamContext { stream, copies: partition != HOME && InternalRequest::copied_position(request_id).is_some() };
    if events.contains(&Event::RequestCancelled) && !is_cancellable(stream, request_id) {
        let reason =
            format!("request {request_id} on stream {stream} is internal to the ledger and cannot be cancelled");
        return Err(AppendError::not_allowed(Reason::KindNotAllowed, reason));
    }
    match events.iter().find(|event| !is_allowed(roles, &place, event)) {
        None => Ok(()),
        Some(event) => Err(AppendError::not_allowed(
            Reason::KindNotAllowed,
            format!("the credential's roles ({roles}) may not propose event {} on stream {stream}", kind_name(event)),
        )),
    }
}

fn is_cancellable(stream: &StreamId, request_id: &str) -> bool {
    InternalRequest::is_callers(request_id) || (*stream == StreamId::System && request_id.starts_with("campaign/"))
}

pub(super) fn kind_name(event: &Event) -> String {
    format!("{event:?}").chars().take_while(char::is_ascii_alphanumeric).collect()
}

struct StreamContext<'a> {
    stream: &'a StreamId,
    copies: bool,
}

fn is_allowed(roles: Roles, place: &StreamContext<'_>, event: &Event) -> bool {
    roles.meets(proposers(place, event).and(Roles::NODES))
}

#[must_use]
pub fn may_propose(roles: &str, stream: &StreamId, partition: u32, request_id: &str, event: &Event) -> bool {
    let named = |role: Roles| roles.split(' ').any(|name| name == role.to_string());
    let place =
        StreamContext { stream, copies: partition != HOME && InternalRequest::copied_position(request_id).is_some() };
    let all = [Roles::NODE_SPIN, Roles::NODE_JACKPOT, Roles::NODE_LEDGER];
    all.into_iter().any(|role| named(role) && is_allowed(role, &place, event))
}

const SPIN: Roles = Roles::NODE_SPIN;
const JACKPOT: Roles = Roles::NODE_JACKPOT;
const LEDGER: Roles = Roles::NODE_LEDGER;

/// The match has no default arm, so a new kind of event does not compile without its roles.
fn proposers(place: &StreamContext<'_>, event: &Event) -> Roles {
    let is_player = matches!(place.stream, StreamId::Player { .. });
    match event {
        Event::AccountOpened { currency } if *currency == Currency::PLAY => SPIN.or(LEDGER),
        Event::DrawSealed(_) | Event::DrawsRevealed { .. } | Event::CollectionChanged { .. } => SPIN.or(LEDGER),
        Event::PlayMoneyGiven { .. }
        | Event::RoundStarted(_)
        | Event::StepResolved(_)
        | Event::JackpotHit { .. }
        | Event::WinCredited { .. }
        | Event::RoundSettled { .. }
        | Event::SessionOpened(_)
        | Event::SessionEnded { .. }
        | Event::RealityCheckAcknowledged { .. }
        | Event::CampaignGranted(_)
        | Event::CampaignCancelled { .. }
        | Event::LiabilityReserved(_)
        | Event::DebitAsked(_)
        | Event::DebitConfirmed { .. }
        | Event::RoundReportsChosen { .. }
        | Event::OperatorSession { .. } => SPIN,
        Event::DebitRefused { .. } | Event::RollbackAsked { .. } | Event::GeneratorReseeded { .. } => SPIN.or(LEDGER),
        // This event is harmless: it can only cause the refusal of the proposal that contains it.
        Event::PartOf { .. } => SPIN,
        Event::AccountOpened { .. }
        | Event::Deposited { .. }
        | Event::Withdrawn { .. }
        | Event::RoundVoided { .. }
        | Event::DrawsLost { .. }
        | Event::VoidProposed { .. }
        | Event::RequestCancelled
        | Event::SeamlessChosen
        | Event::DebitRolledBack
        | Event::CreditPaid { .. }
        | Event::ReversalDue { .. }
        | Event::ReversalTaken { .. }
        | Event::CloseReported { .. }
        | Event::WalletCallHeld { .. }
        | Event::WalletCallReleased { .. }
        | Event::WalletOverdue { .. }
        | Event::PoolOpened { .. }
        | Event::PoolTermsChanged { .. }
        | Event::PoolSuspended { .. }
        | Event::PoolResumed { .. }
        | Event::PoolRetired { .. }
        | Event::HitsReleased { .. }
        | Event::IncidentDeclared(_)
        | Event::ClockSkewed { .. }
        | Event::BaseTaken(_)
        | Event::BaseConfirmed(_)
        | Event::ChangeProposed(_)
        | Event::ChangeApproved { .. }
        | Event::ChangeRejected { .. } => LEDGER,
        Event::JackpotPaid { .. }
        | Event::AwardSetAside { .. }
        | Event::PartitionReported(_)
        | Event::PoolMirrored(_)
        | Event::IntegrityFailed { .. } => JACKPOT.or(LEDGER),
        Event::ContributionsPooled { .. }
        | Event::ContributionTakenBack { .. }
        | Event::ContributionsReturned { .. }
        | Event::AwardReversed { .. }
        | Event::JackpotAwarded(_)
        | Event::PoolReceived { .. } => JACKPOT,
        // Copies from partition 0; the `pools` module compares them with the originals.
        Event::SwitchSet { .. } | Event::RateSet { .. } if place.copies => JACKPOT.or(LEDGER),
        Event::SwitchSet { .. } | Event::RateSet { .. } => LEDGER,
        Event::ConfigurationReloaded(_) => Roles::NODES,
        // These events are committed only by a starting writer and by a restore.
        Event::GenerationBegun(_) | Event::LogRestored(_) | Event::LogVerified { .. } => Roles::NONE,
        Event::ActedBy { .. } if is_player => Roles::NODES,
        Event::ActedBy { .. } if matches!(place.stream, StreamId::System) => SPIN.or(LEDGER),
        Event::ActedBy { .. } => LEDGER,
    }
}
