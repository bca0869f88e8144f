//! Checks the campaigns that other processes propose (PL-36). If the cost of the operator's campaigns is capped, each
//! campaign needs a reservation that covers its highest possible cost; this check computes that cost again.

use crate::{
    append::{AppendError, Proposal},
    handle::Handle,
};
use motherlode_runtime::{Operators, Reason};
use motherlode_state::{Campaign, Currency, Event, FxRate, HOME, LiabilityReserved, Nano, StreamId};
use parking_lot::Mutex;
use std::fmt;

const RATES_MAX: usize = 1024;

type HighestCost = dyn Fn(&Campaign, usize, FxRate) -> Option<Nano> + Send + Sync;

#[derive(Default)]
pub struct CampaignCosts {
    highest: Option<Box<HighestCost>>,
    last: Mutex<Option<(u64, Campaign, Option<Nano>)>>,
}

impl fmt::Debug for CampaignCosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CampaignCosts")
    }
}

impl CampaignCosts {
    #[must_use]
    pub fn new(highest: impl Fn(&Campaign, usize, FxRate) -> Option<Nano> + Send + Sync + 'static) -> Self {
        Self { highest: Some(Box::new(highest)), last: Mutex::default() }
    }

    fn is_covered(
        &self,
        home: &Handle,
        (position, reserved): (u64, &LiabilityReserved),
        campaign: &Campaign,
    ) -> Result<bool, AppendError> {
        let Some(highest) = &self.highest else { return Ok(true) };
        let is_enough = |cost: &Option<Nano>| cost.is_some_and(|cost| cost <= reserved.max_liability);
        if let Some((at, of, cost)) = &*self.last.lock()
            && *at == position
            && of == campaign
        {
            return Ok(is_enough(cost));
        }
        let rate = rate_at(home, campaign.currency, position)?;
        let players = usize::try_from(reserved.players).unwrap_or(usize::MAX);
        let cost = rate.and_then(|rate| highest(campaign, players, rate));
        let covered = is_enough(&cost);
        *self.last.lock() = Some((position, campaign.clone(), cost));
        Ok(covered)
    }
}

fn rate_at(home: &Handle, currency: Currency, position: u64) -> Result<Option<FxRate>, AppendError> {
    let (current, mut at) = home.books(|books| (books.rate(currency), books.head(&StreamId::Rates).position));
    if at < position || matches!(currency, Currency::EUR | Currency::PLAY) {
        return Ok(current);
    }
    for _ in 0..RATES_MAX {
        let commit = &home.fetch(at)?.commit;
        let set = commit.events.iter().find_map(|event| match event {
            Event::RateSet { currency: of, rate, .. } if *of == currency => Some(*rate),
            _ => None,
        });
        match set {
            Some(rate) if at < position => return Ok(Some(rate)),
            _ if commit.previous == 0 => break,
            _ => at = commit.previous,
        }
    }
    Ok(None)
}

#[must_use]
pub fn reservation_ids(operator: &str, player: &str, request_id: &str) -> [String; 2] {
    [format!("campaign/{operator}/{request_id}"), format!("campaign/{operator}/{player}/{request_id}")]
}

/// Fails with CAP_DIFFERS if the reservation states another cap, CAMPAIGN_UNRESERVED if no reservation exists, and
/// RESERVATION_TOO_LOW if the campaign can cost more than reserved. If the reservation may exist but has not reached
/// this process, fails with [`AppendError::Unavailable`].
pub(super) fn check(
    (operators, costs): (&Operators, &CampaignCosts),
    proposal: &Proposal,
    all: &[Handle],
) -> Result<(), AppendError> {
    for event in &proposal.events {
        match (event, &proposal.stream) {
            (Event::LiabilityReserved(reserved), _) => {
                let cap = operators.campaign_cap(&reserved.operator).unwrap_or(Nano::ZERO);
                if reserved.cap != cap {
                    let reason = format!(
                        "the reservation states a wrong cap: campaigns of {} may cost {cap} EUR",
                        reserved.operator
                    );
                    return Err(AppendError::not_allowed(Reason::CapDiffers, reason));
                }
            }
            (Event::CampaignGranted(campaign), StreamId::Player { operator, player })
                if operators.campaign_cap(operator).is_some() =>
            {
                let ids = reservation_ids(operator, player, &proposal.request_id);
                let home = all.iter().find(|ledger| ledger.partition() == HOME);
                let found = home.map_or(Ok(None), |home| reservation(home, &ids, (operator, player), campaign))?;
                let reason =
                    format!("no reservation covers the cost of campaign {} for {}", campaign.id, proposal.stream);
                match (home, found) {
                    (Some(home), Some((position, reserved))) => {
                        if !costs.is_covered(home, (position, &reserved), campaign)? {
                            let highest = reserved.max_liability;
                            let reason = format!(
                                "campaign {} can cost more than the {highest} EUR reserved for it",
                                campaign.id
                            );
                            return Err(AppendError::not_allowed(Reason::ReservationTooLow, reason));
                        }
                    }
                    (Some(home), None) if home.is_replica() => return Err(AppendError::Unavailable { reason }),
                    _ => return Err(AppendError::not_allowed(Reason::CampaignUnreserved, reason)),
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn reservation(
    home: &Handle,
    ids: &[String],
    (operator, player): (&str, &str),
    campaign: &Campaign,
) -> Result<Option<(u64, LiabilityReserved)>, AppendError> {
    let covers = |reserved: &LiabilityReserved| {
        reserved.operator == operator
            && reserved.campaign == campaign.id
            && reserved.expires_ms == campaign.expires_ms
            && reserved.player_ids.iter().any(|id| id == player)
    };
    for id in ids {
        let Some(position) = home.find_position(&StreamId::System, id)? else { continue };
        let logged = home.fetch(position)?;
        let reserved = logged.commit.events.iter().find_map(|event| match event {
            Event::LiabilityReserved(reserved) if covers(reserved) => Some(reserved.clone()),
            _ => None,
        });
        if let Some(reserved) = reserved {
            return Ok(Some((position, reserved)));
        }
    }
    Ok(None)
}
