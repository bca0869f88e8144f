//! Campaigns: free rounds that an operator grants to one of its players (PL-18).
//!
//! The fold counts them, so that no way into the log plays one too many: a round names its campaign, has its game, currency
//! and bet, and begins before it expires, by the log's own time. The operator's promotion pays the bet to its house.

use crate::events::event::RoundStarted;
use crate::events::refused::Refused;
use crate::values::currency::Currency;
use crate::values::money::{CoinValue, Minor};
use crate::values::name::is_id;
use serde::{Deserialize, Serialize};

/// What was granted. It never changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Campaign {
    /// The operator's own reference, unique for the player; an id as [`is_id`] says.
    pub id: String,
    /// The game's name.
    pub game: String,
    /// Of the account that the wins go to.
    pub currency: Currency,
    /// What a round stakes, above 0.
    pub bet: Minor,
    /// Worth of a coin.
    pub coin_value: CoinValue,
    /// Pay lines.
    pub lines: u32,
    /// Coins a line.
    pub coins_per_line: u32,
    /// Rounds, 1 to [`Campaign::ROUNDS_MAX`].
    pub rounds: u32,
    /// No round begins at this time or later, Unix ms.
    pub expires_ms: i64,
}

impl Campaign {
    /// Most rounds of a campaign.
    pub const ROUNDS_MAX: u32 = 10_000;

    /// What no campaign can be, granted at a time.
    pub(crate) fn check(&self, now_ms: i64) -> Result<(), Refused> {
        let bad = |reason: &str| Err(Refused::BadCampaign { reason: reason.to_owned() });
        match self {
            _ if !is_id(&self.id) => bad("its name is not well formed"),
            _ if self.bet <= Minor::ZERO => bad("its bet is not above 0"),
            _ if !(1..=Self::ROUNDS_MAX).contains(&self.rounds) => bad("its rounds are not 1 to 10,000"),
            _ if self.expires_ms <= now_ms => bad("it expires before it begins"),
            _ => Ok(()),
        }
    }
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

/// A campaign and what has become of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CampaignState {
    /// What was granted.
    pub campaign: Campaign,
    /// Position of the grant.
    pub granted_at: u64,
    /// Time of the grant, Unix ms.
    pub granted_ms: i64,
    /// Rounds begun so far.
    pub begun: u64,
    /// Rounds among them that are void, and so to be played again.
    pub given_back: u64,
    /// The operator took it back.
    pub cancelled: bool,
}

impl CampaignState {
    /// Rounds not played yet, those that a void gave back among them.
    #[must_use]
    pub fn left(&self) -> u64 {
        u64::from(self.campaign.rounds) + self.given_back - self.begun
    }

    /// Why no round can begin at a time; none where one can. An expiry stands, also for rounds that are given back later.
    #[must_use]
    pub fn over(&self, now_ms: i64) -> Option<CampaignOver> {
        match self {
            _ if self.cancelled => Some(CampaignOver::Cancelled),
            _ if self.left() == 0 => Some(CampaignOver::UsedUp),
            _ if now_ms >= self.campaign.expires_ms => Some(CampaignOver::Expired),
            _ => None,
        }
    }

    /// A round of it begins.
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

    /// The operator takes it back, whole or not at all. Once begun it stays begun, whatever is voided.
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
