//! Rounds in the log.

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use super::draw::Draw;
use super::session::SessionName;
use crate::values::{CoinValue, Currency, FxRate, Minor, Nano};

/// Accepted bet (see [`Event::RoundStarted`](crate::Event::RoundStarted)).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundStarted {
    /// Player's round number, 1-based over all games.
    pub round: u64,
    /// Name of the game.
    pub game: SmolStr,
    /// Rules version (PL-01).
    pub rules_version: SmolStr,
    /// SHA-256 of the game's model.
    pub model_hash: [u8; 32],
    /// Currency of the account.
    pub currency: Currency,
    /// Stake, above 0, also of a free round.
    pub bet: Minor,
    /// Value of a coin.
    pub coin_value: CoinValue,
    /// Further terms.
    pub stake: LoggedTerms,
    /// Rate at this position; 1 for play money.
    pub rate: FxRate,
    /// Contribution; `None` without an active pool, for free rounds (PL-18) and play money (PL-17).
    pub contribution: Option<Contribution>,
    /// Session of the bet (PL-16, PL-21).
    pub session: Option<SessionName>,
    /// Jurisdiction; empty for the unrestricted one (PL-26).
    pub jurisdiction: SmolStr,
    /// Campaign of a free round (PL-18).
    pub campaign: Option<SmolStr>,
}

impl RoundStarted {
    /// Returns the player's cost: 0 for a free round.
    #[must_use]
    pub fn charged(&self) -> Minor {
        if self.campaign.is_some() { Minor::ZERO } else { self.bet }
    }
}

/// Terms of a round as logged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum LoggedTerms {
    /// Valid terms.
    Terms(RoundTerms),
    /// Invalid bytes, kept as logged.
    Unreadable(Vec<u8>),
}

impl LoggedTerms {
    /// Returns the valid terms.
    #[must_use]
    pub fn terms(&self) -> Option<&RoundTerms> {
        match self {
            Self::Terms(terms) => Some(terms),
            Self::Unreadable(_) => None,
        }
    }
}

/// Terms besides the bet, sufficient for a replay.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundTerms {
    /// Pay lines.
    pub lines: u32,
    /// Coins per line.
    pub coins_per_line: u32,
    /// Whether the jackpot can be won.
    pub jackpot: bool,
    /// Whether the gamble is offered.
    pub double: bool,
    /// Whether the feature was bought (ME-18).
    pub buy_feature: bool,
    /// Gamble's limit in minor units, or 0 (ME-14, ME-15).
    pub gamble_max_minor: u64,
    /// Carried figures at the bet.
    pub carried: Vec<i64>,
    /// Picked witch (BW-05), or 0.
    pub witch: u32,
}

/// Contribution to a pool (BW-11).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contribution {
    /// Pool.
    pub pool: SmolStr,
    /// Version of the pool's terms.
    pub terms_version: u32,
    /// Amount in EUR.
    pub amount: Nano,
}

/// Step of a round (see [`Event::StepResolved`](crate::Event::StepResolved)).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepResolved {
    /// Round number.
    pub round: u64,
    /// Step number within the round, 1-based.
    pub step: u32,
    /// Seed (PL-06), only in older logs.
    pub seed: Option<[u8; 32]>,
    /// Choice, encoded by the game.
    pub choice: Vec<u8>,
    /// Outcome, encoded by the game.
    pub outcome: Vec<u8>,
    /// Round's win after this step, without the jackpot; it can fall.
    pub win: Minor,
    /// Reason of an automatic step.
    pub automatic: Option<Automatic>,
    /// Sealed draw; `None` in older logs.
    pub draw: Option<Draw>,
}

/// Reason of an automatic step (PL-03).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Automatic {
    /// Skipped by the player (DM-21).
    Skipped,
    /// The game's time expired (ME-20).
    TimeOver,
    /// The operator closed the round (PL-20).
    Closed {
        /// Actor.
        actor: String,
        /// Reason.
        reason: String,
    },
}
