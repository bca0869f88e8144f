//! Campaigns in the proposals of other processes (PL-36): free rounds of an operator with a cap need a reservation under it.

use crate::{
    append::{AppendError, Proposal},
    handle::Handle,
};
use motherlode_books::{Campaign, Event, HOME, LiabilityReserved, Nano, StreamId};
use motherlode_runtime::Reason;
use std::collections::BTreeMap;

/// Request ids of the reservation for a grant: those of a campaign for many players and for one.
#[must_use]
pub fn reservation_ids(operator: &str, player: &str, request_id: &str) -> [String; 2] {
    [format!("campaign/{operator}/{request_id}"), format!("campaign/{operator}/{player}/{request_id}")]
}

/// Checks grants and reservations.
///
/// # Errors
/// CAP_DIFFERS: a reservation under another cap than the configured one. CAMPAIGN_UNRESERVED: a grant without a reservation for the
/// player, the campaign and its expiry; [`AppendError::Unavailable`] if the reservation may not be here yet.
pub(super) fn check(caps: &BTreeMap<String, Nano>, proposal: &Proposal, all: &[Handle]) -> Result<(), AppendError> {
    for event in &proposal.events {
        match (event, &proposal.stream) {
            (Event::LiabilityReserved(reserved), _) => {
                let cap = caps.get(reserved.operator.as_str()).copied().unwrap_or(Nano::ZERO);
                if reserved.cap != cap {
                    let reason = format!("the cap of {} is {cap} EUR", reserved.operator);
                    return Err(AppendError::not_allowed(Reason::CapDiffers, reason));
                }
            }
            (Event::CampaignGranted(campaign), StreamId::Player { operator, player })
                if caps.contains_key(operator.as_str()) =>
            {
                let ids = reservation_ids(operator, player, &proposal.request_id);
                let home = all.iter().find(|ledger| ledger.partition() == HOME);
                let reserved = home.map_or(Ok(false), |home| is_reserved(home, &ids, (operator, player), campaign))?;
                let reason = format!("no reservation covers campaign {} of {}", campaign.id, proposal.stream);
                match home {
                    _ if reserved => {}
                    // The reservation may not be here yet.
                    Some(home) if home.is_replica() => return Err(AppendError::Unavailable { reason }),
                    _ => return Err(AppendError::not_allowed(Reason::CampaignUnreserved, reason)),
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn is_reserved(
    home: &Handle,
    ids: &[String],
    (operator, player): (&str, &str),
    campaign: &Campaign,
) -> Result<bool, AppendError> {
    for id in ids {
        let Some(position) = home.find_position(&StreamId::System, id)? else { continue };
        let reserved = home.fetch(position)?;
        let covers = reserved.commit.events.iter().any(|event| match event {
            Event::LiabilityReserved(LiabilityReserved {
                operator: of,
                campaign: name,
                expires_ms,
                player_ids,
                ..
            }) => {
                of == operator
                    && *name == campaign.id
                    && *expires_ms == campaign.expires_ms
                    && player_ids.iter().any(|id| id == player)
            }
            _ => false,
        });
        if covers {
            return Ok(true);
        }
    }
    Ok(false)
}
