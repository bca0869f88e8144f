use motherlode_ledger::{campaign_over, fields::AccountId, unknown_account, unknown_campaign};
use motherlode_runtime::{Reason, Refusal};
use motherlode_slots::{self as slots, Game};
use motherlode_state::{Books, Campaign, CampaignState, CoinValue};

pub(crate) fn stake_of(
    books: &Books,
    id: &str,
    account: &AccountId,
    game: &dyn Game,
) -> Result<(CoinValue, slots::Stake), Refusal> {
    let player = books.player(&account.stream).ok_or_else(unknown_account)?;
    let campaign = &player.campaign(id).ok_or_else(|| unknown_campaign(id))?.campaign;
    if (campaign.game.as_str(), campaign.currency) != (game.name(), account.currency) {
        let message = "the campaign is for another game or currency than the bet";
        return Err(Refusal::new(Reason::CampaignMismatch, message)
            .with("campaign_id", id)
            .with("game", &campaign.game)
            .with("currency_code", campaign.currency));
    }
    Ok((campaign.coin_value, stake(campaign)))
}

pub(crate) fn check_open(state: Option<&CampaignState>, id: &str, now_ms: i64) -> Result<(), Refusal> {
    match state.ok_or_else(|| unknown_campaign(id))?.over(now_ms) {
        None => Ok(()),
        Some(over) => Err(campaign_over(id, over)),
    }
}

pub(crate) fn stake(campaign: &Campaign) -> slots::Stake {
    slots::Stake {
        coin_value_micros: campaign.coin_value.0,
        lines: campaign.lines,
        coins_per_line: campaign.coins_per_line,
        buy_feature: false,
    }
}
