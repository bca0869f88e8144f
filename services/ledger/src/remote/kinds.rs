//! Permitted events by node role and stream.

use crate::append::{AppendError, Proposal};
use motherlode_books::{Currency, Event, HOME, InternalRequest, StreamId};
use motherlode_runtime::access::Roles;

/// Checks the events of a proposal against its proposer's roles.
///
/// # Errors
/// KIND_NOT_ALLOWED names the first event that no role allows.
pub(super) fn check(roles: Roles, proposal: &Proposal, partition: u32) -> Result<(), AppendError> {
    let Proposal { stream, request_id, events, .. } = proposal;
    let place = Place { stream, copies: partition != HOME && InternalRequest::copied_position(request_id).is_some() };
    match events.iter().find(|event| !is_allowed(roles, &place, event)) {
        None => Ok(()),
        Some(event) => Err(AppendError::not_allowed(
            "KIND_NOT_ALLOWED",
            format!("the credential's roles ({roles}) may not propose {} on {stream}", kind_name(event)),
        )),
    }
}

/// The name of an event's kind.
pub(super) fn kind_name(event: &Event) -> String {
    format!("{event:?}").chars().take_while(char::is_ascii_alphanumeric).collect()
}

/// Where an event is proposed.
struct Place<'a> {
    stream: &'a StreamId,
    /// In another partition than home, under the name of a copy.
    copies: bool,
}

fn is_allowed(roles: Roles, place: &Place<'_>, event: &Event) -> bool {
    let by = [(Roles::NODE_SPIN, by_spin as By), (Roles::NODE_JACKPOT, by_jackpot), (Roles::NODE_LEDGER, by_ledger)];
    by.into_iter().any(|(role, allows)| roles.meets(role) && allows(place, event))
}

type By = fn(&Place<'_>, &Event) -> bool;

/// Whether a credential with these roles may propose an event on a stream; for whoever reads the log later.
#[must_use]
pub fn may_propose(roles: &str, stream: &StreamId, partition: u32, request_id: &str, event: &Event) -> bool {
    let named = |role: Roles| roles.split(' ').any(|name| name == role.to_string());
    let place = Place { stream, copies: partition != HOME && InternalRequest::copied_position(request_id).is_some() };
    let all = [Roles::NODE_SPIN, Roles::NODE_JACKPOT, Roles::NODE_LEDGER];
    all.into_iter().any(|role| named(role) && is_allowed(role, &place, event))
}

/// Spin: rounds, draws, sessions, campaigns, debits, and demo accounts.
fn by_spin(place: &Place<'_>, event: &Event) -> bool {
    match place.stream {
        StreamId::Player { .. } => match event {
            Event::AccountOpened { currency } => *currency == Currency::PLAY,
            Event::PlayMoneyGiven { .. }
            | Event::CollectionChanged { .. }
            | Event::RoundStarted(_)
            | Event::StepResolved(_)
            | Event::JackpotHit { .. }
            | Event::DrawSealed(_)
            | Event::DrawsRevealed { .. }
            | Event::WinCredited { .. }
            | Event::RoundSettled { .. }
            | Event::ActedBy { .. }
            | Event::SessionOpened(_)
            | Event::SessionEnded { .. }
            | Event::RealityCheckAcknowledged { .. }
            | Event::CampaignGranted(_)
            | Event::CampaignCancelled { .. }
            | Event::DebitAsked(_)
            | Event::DebitConfirmed { .. }
            | Event::DebitRefused { .. } => true,
            _ => false,
        },
        StreamId::System => {
            matches!(event, Event::GeneratorReseeded | Event::LiabilityReserved(_) | Event::ActedBy { .. })
        }
        StreamId::Pool(_) | StreamId::Rates => false,
    }
}

/// Jackpot: the steps of pools, the payment of their awards, and the copies that other partitions have of home. It stops a pool and
/// proposes changes; it makes none that takes two actors.
fn by_jackpot(place: &Place<'_>, event: &Event) -> bool {
    match place.stream {
        StreamId::Player { .. } => {
            matches!(event, Event::JackpotPaid { .. } | Event::AwardSetAside { .. } | Event::ActedBy { .. })
        }
        StreamId::Pool(_) => matches!(
            event,
            Event::ContributionsPooled { .. }
                | Event::ContributionTakenBack { .. }
                | Event::ContributionsReturned { .. }
                | Event::AwardReversed { .. }
                | Event::JackpotAwarded(_)
                | Event::PoolReceived { .. }
                | Event::PartitionReported(_)
                | Event::PoolMirrored(_)
                | Event::PoolSuspended { .. }
                | Event::ActedBy { .. }
        ),
        StreamId::System => match event {
            Event::ChangeProposed(proposed) => matches!(proposed.stream, StreamId::Pool(_)),
            Event::IntegrityFailed { .. } => true,
            Event::ActedBy { .. } => true,
            Event::SwitchSet { .. } => place.copies,
            _ => false,
        },
        StreamId::Rates => place.copies && matches!(event, Event::RateSet { .. } | Event::ActedBy { .. }),
    }
}

/// Ledger: the work of the wallet, reports and changes on partitions that another process writes. It resolves no round.
fn by_ledger(_: &Place<'_>, event: &Event) -> bool {
    !matches!(
        event,
        Event::RoundStarted(_)
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
            | Event::PlayMoneyGiven { .. }
    )
}
