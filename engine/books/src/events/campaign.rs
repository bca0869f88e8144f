//! Free rounds that an operator grants to a player (PL-18).

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::values::{CoinValue, Currency, Minor, Nano};

/// Free rounds as granted, immutable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Campaign {
    /// Operator's reference; see [`is_id`](crate::is_id).
    pub id: SmolStr,
    /// Name of the game.
    pub game: SmolStr,
    /// Currency of the account.
    pub currency: Currency,
    /// Stake of a round, above 0.
    pub bet: Minor,
    /// Value of a coin.
    pub coin_value: CoinValue,
    /// Pay lines.
    pub lines: u32,
    /// Coins per line.
    pub coins_per_line: u32,
    /// Number of rounds, 1 to [`Campaign::ROUNDS_MAX`].
    pub rounds: u32,
    /// Expiry, Unix ms.
    pub expires_ms: i64,
}

impl Campaign {
    /// Maximum number of rounds.
    pub const ROUNDS_MAX: u32 = 10_000;
}

/// Highest cost of a campaign, reserved before its grants (PL-36).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiabilityReserved {
    /// Operator.
    pub operator: SmolStr,
    /// Operator's reference.
    pub campaign: SmolStr,
    /// Number of players.
    pub players: u32,
    /// Highest sum of wins in EUR, above 0.
    pub highest: Nano,
    /// Expiry, Unix ms.
    pub expires_ms: i64,
    /// Cap on the operator's open campaigns; 0 for none.
    pub cap: Nano,
    /// Player ids; empty in older logs.
    pub player_ids: Vec<SmolStr>,
}

/// Reason why no round can be played.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CampaignOver {
    /// Cancelled before its first round.
    #[error("cancelled")]
    Cancelled,
    /// All rounds are played.
    #[error("used up")]
    UsedUp,
    /// Expired.
    #[error("expired")]
    Expired,
}
