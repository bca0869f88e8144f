//! Events of a player's campaigns (PL-18).

use crate::events::campaign::Campaign;
use crate::events::refused::Refused;
use crate::fold::transition::Transition;
use crate::state::campaign::CampaignState;

impl Transition<'_> {
    pub(super) fn grant(&mut self, campaign: &Campaign) -> Result<(), Refused> {
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

    pub(super) fn cancel(&mut self, id: &str) -> Result<(), Refused> {
        let now_ms = self.commit.time_ms;
        self.campaign(id)?.cancel(now_ms)
    }

    /// The player's campaign of a name.
    pub(super) fn campaign(&mut self, id: &str) -> Result<&mut CampaignState, Refused> {
        let state = self.player()?.campaign_mut(id);
        state.ok_or_else(|| Refused::UnknownCampaign { campaign: id.to_owned() })
    }
}
