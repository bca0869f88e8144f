use super::transition::Transition;
use crate::events::{Campaign, Refused};
use crate::state::CampaignState;

impl Transition<'_, '_> {
    pub fn grant(&mut self, campaign: &Campaign) -> Result<(), Refused> {
        let commit = self.commit;
        self.check_real(campaign.currency)?;
        let granted = CampaignState::granted(campaign, commit.position, commit.time_ms)?;
        let player = self.player()?;
        if player.campaign(&campaign.id).is_some() {
            return Err(Refused::CampaignExists { campaign: campaign.id.clone() });
        }
        player.grant(granted);
        Ok(())
    }

    pub fn cancel(&mut self, id: &str) -> Result<(), Refused> {
        let now_ms = self.commit.time_ms;
        self.campaign(id)?.cancel(now_ms)
    }

    pub fn campaign(&mut self, id: &str) -> Result<&mut CampaignState, Refused> {
        let state = self.player()?.campaign_mut(id);
        state.ok_or_else(|| Refused::UnknownCampaign { campaign: id.into() })
    }
}
