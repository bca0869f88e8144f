//! A campaign in the log: the free rounds that an operator grants to a player (PL-18).

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::values::{CoinValue, Currency, Minor, Nano};

/// Free rounds as granted. They never change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Campaign {
    /// The operator's own reference, unique for the player; an id as [`is_id`](crate::is_id) says.
    pub id: SmolStr,
    /// The game's name.
    pub game: SmolStr,
    /// The currency of the account that the wins go to.
    pub currency: Currency,
    /// The stake of a round, above 0.
    pub bet: Minor,
    /// The worth of a coin.
    pub coin_value: CoinValue,
    /// Pay lines.
    pub lines: u32,
    /// Coins a line.
    pub coins_per_line: u32,
    /// The number of rounds, 1 to [`Campaign::ROUNDS_MAX`].
    pub rounds: u32,
    /// No round begins at this time or later, Unix ms.
    pub expires_ms: i64,
}

impl Campaign {
    /// Most rounds of a campaign.
    pub const ROUNDS_MAX: u32 = 10_000;
}

/// The most that a campaign can cost its operator, reserved before any of its rounds is granted (PL-36).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiabilityReserved {
    /// The operator.
    pub operator: SmolStr,
    /// The operator's reference of the campaign.
    pub campaign: SmolStr,
    /// The players that it's for.
    pub players: u32,
    /// The most that its rounds can win, in EUR at the rate of this moment; above 0.
    pub highest: Nano,
    /// No round of it begins at this time or later, Unix ms.
    pub expires_ms: i64,
    /// The most that the operator's open campaigns may come to, this one among them; 0 for no such limit.
    pub cap: Nano,
    /// The players by their ids; none in older logs.
    pub player_ids: Vec<SmolStr>,
}

/// Why a campaign has no round to play (any more).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CampaignOver {
    /// The operator took it back before its first round.
    #[error("cancelled")]
    Cancelled,
    /// All rounds are played.
    #[error("used up")]
    UsedUp,
    /// Its time is over.
    #[error("expired")]
    Expired,
}
