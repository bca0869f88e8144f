//! A campaign in the log: the free rounds that an operator grants to a player (PL-18).

use serde::{Deserialize, Serialize};

use crate::values::{CoinValue, Currency, Minor};

/// Free rounds as granted. They never change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Campaign {
    /// The operator's own reference, unique for the player; an id as [`is_id`](crate::is_id) says.
    pub id: String,
    /// The game's name.
    pub game: String,
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
