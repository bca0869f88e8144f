use serde::{Deserialize, Serialize};

use crate::events::{Campaign, CampaignOver, Refused, RoundStarted};
use crate::values::{Minor, is_id};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CampaignState {
    pub campaign: Campaign,
    pub granted_at: u64,
    pub granted_ms: i64,
    pub begun: u64,
    /// Number of voided free rounds, which the player can play again.
    pub given_back: u64,
    pub cancelled: bool,
}

impl CampaignState {
    pub(crate) fn granted(campaign: &Campaign, granted_at: u64, granted_ms: i64) -> Result<Self, Refused> {
        let bad = |reason: &str| Err(Refused::BadCampaign { reason: reason.to_owned() });
        match campaign {
            _ if !is_id(&campaign.id) => bad("the campaign's name is not well formed"),
            _ if campaign.bet <= Minor::ZERO => bad("the campaign's bet must be above 0"),
            _ if !(1..=Campaign::ROUNDS_MAX).contains(&campaign.rounds) => {
                bad("the campaign must have 1 to 10,000 rounds")
            }
            _ if campaign.expires_ms <= granted_ms => bad("the campaign expires before it is granted"),
            _ => Ok(Self {
                campaign: campaign.clone(),
                granted_at,
                granted_ms,
                begun: 0,
                given_back: 0,
                cancelled: false,
            }),
        }
    }

    #[must_use]
    pub fn left(&self) -> u64 {
        u64::from(self.campaign.rounds) + self.given_back - self.begun
    }

    #[must_use]
    pub fn over(&self, now_ms: i64) -> Option<CampaignOver> {
        match self {
            _ if self.cancelled => Some(CampaignOver::Cancelled),
            _ if self.left() == 0 => Some(CampaignOver::UsedUp),
            _ if now_ms >= self.campaign.expires_ms => Some(CampaignOver::Expired),
            _ => None,
        }
    }

    pub(crate) fn begin(&mut self, round: &RoundStarted, now_ms: i64) -> Result<(), Refused> {
        let Campaign { id, game, currency, bet, coin_value, .. } = &self.campaign;
        let RoundStarted { game: of, currency: paid_in, bet: staked, coin_value: coin, .. } = round;
        if (game, currency, bet, coin_value) != (of, paid_in, staked, coin) {
            return Err(Refused::NotOfCampaign { campaign: id.clone() });
        }
        match self.over(now_ms) {
            Some(over) => Err(Refused::CampaignOver { campaign: id.clone(), over }),
            None => {
                self.begun += 1;
                Ok(())
            }
        }
    }

    pub(crate) fn cancel(&mut self, now_ms: i64) -> Result<(), Refused> {
        let campaign = || self.campaign.id.clone();
        match self.over(now_ms) {
            _ if self.begun > 0 => Err(Refused::CampaignBegun { campaign: campaign() }),
            Some(over) => Err(Refused::CampaignOver { campaign: campaign(), over }),
            None => {
                self.cancelled = true;
                Ok(())
            }
        }
    }
}
