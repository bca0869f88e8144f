use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::values::{CoinValue, Currency, Minor, Nano};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Campaign {
    /// Operator's id for the campaign, valid according to [`is_id`](crate::is_id).
    pub id: SmolStr,
    pub game: SmolStr,
    pub currency: Currency,
    pub bet: Minor,
    pub coin_value: CoinValue,
    pub lines: u32,
    pub coins_per_line: u32,
    /// Number of rounds, 1 to [`Campaign::ROUNDS_MAX`].
    pub rounds: u32,
    pub expires_ms: i64,
}

impl Campaign {
    pub const ROUNDS_MAX: u32 = 10_000;
}

/// Before a campaign is granted, its highest possible cost is reserved (PL-36).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiabilityReserved {
    pub operator: SmolStr,
    pub campaign: SmolStr,
    pub players: u32,
    /// Reserved amount in EUR, above 0: the highest possible sum of the campaign's wins.
    pub max_liability: Nano,
    pub expires_ms: i64,
    /// Limit in EUR on the cost of all open campaigns of the operator; 0 means no limit.
    pub cap: Nano,
    /// Players of the campaign; if empty (older logs), the reservation covers every player.
    pub player_ids: Vec<SmolStr>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CampaignOver {
    #[error("cancelled")]
    Cancelled,
    #[error("used up")]
    UsedUp,
    #[error("expired")]
    Expired,
}
