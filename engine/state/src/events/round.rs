use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use super::draw::Draw;
use super::session::SessionName;
use crate::values::{CoinValue, Currency, FxRate, Minor, Nano};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundStarted {
    /// Number of the round, 1-based and contiguous across all of the player's games.
    pub round: u64,
    pub game: SmolStr,
    pub rules_version: SmolStr,
    pub model_hash: [u8; 32],
    pub currency: Currency,
    /// Price of the round. Also above 0 for a free round, which costs the player nothing.
    pub bet: Minor,
    pub coin_value: CoinValue,
    pub stake: LoggedTerms,
    /// Exchange rate of the bet; 1 for play money.
    pub rate: FxRate,
    /// Contribution to the pool; `None` if no pool is active, for free rounds (PL-18) and for play money (PL-17).
    pub contribution: Option<Contribution>,
    pub session: Option<SessionName>,
    /// Jurisdiction whose restrictions apply; empty for none (PL-26).
    pub jurisdiction: SmolStr,
    pub campaign: Option<SmolStr>,
}

impl RoundStarted {
    #[must_use]
    pub fn charged(&self) -> Minor {
        if self.campaign.is_some() { Minor::ZERO } else { self.bet }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum LoggedTerms {
    Terms(RoundTerms),
    Unreadable(Vec<u8>),
}

impl LoggedTerms {
    #[must_use]
    pub fn terms(&self) -> Option<&RoundTerms> {
        match self {
            Self::Terms(terms) => Some(terms),
            Self::Unreadable(_) => None,
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundTerms {
    pub lines: u32,
    pub coins_per_line: u32,
    pub jackpot: bool,
    pub double: bool,
    pub buy_feature: bool,
    pub gamble_max_minor: u64,
    pub carried: Vec<i64>,
    pub witch: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contribution {
    pub pool: SmolStr,
    pub terms_version: u32,
    /// Contribution in EUR.
    pub amount: Nano,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepResolved {
    pub round: u64,
    pub step: u32,
    /// Seed of the step; only in older logs (PL-06).
    pub seed: Option<[u8; 32]>,
    pub choice: Vec<u8>,
    pub outcome: Vec<u8>,
    pub win: Minor,
    pub automatic: Option<Automatic>,
    /// Draw of the step; `None` in older logs.
    pub draw: Option<Draw>,
}

/// Reason why the service made a choice for the player (PL-03).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Automatic {
    Skipped,
    TimeOver,
    Closed { actor: String, reason: String },
}
