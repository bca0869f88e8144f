use std::sync::Arc;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use super::round::RoundStarted;
use crate::values::{Minor, Nano};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum VoidedJackpot {
    /// Only in older logs: the round's contribution was removed from the pool, but its awards were not reversed.
    TakenBack,
    /// The round's contribution stays in the pool unless an [`Incident`] covers the round. No award of the round was
    /// paid, and unpaid awards return to the pool.
    Kept,
    /// An award was paid, and its amount is charged to the operator's house account. Otherwise the same as
    /// [`VoidedJackpot::Kept`].
    Charged,
    /// An award was paid, and the platform bears its cost. Otherwise the same as [`VoidedJackpot::Kept`].
    Lost,
}

/// Facts about a settled round that its void needs (PL-04). The state drops these facts when the round is settled, so
/// [`SettledRound::recall`] reads them from the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettledRound {
    pub started: Arc<RoundStarted>,
    pub opened_at: u64,
    pub opened_ms: i64,
    pub jackpots: Vec<RoundJackpot>,
    pub win: Minor,
    pub collected: Vec<(SmolStr, i64)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundJackpot {
    pub hit: u64,
    /// Paid award in EUR; `None` if unpaid.
    pub paid: Option<Nano>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reversal {
    pub partition: u32,
    pub position: u64,
    pub operator: SmolStr,
    /// Award that the void returns to the pool, in EUR.
    pub amount: Nano,
    /// Part of `amount` that returns to the house; the pool's reserve receives the remainder.
    pub to_house: Nano,
}

/// Contributions that stay in the pool although their rounds were voided, summed per operator, game, rules version and
/// minute of the bet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedVoids {
    pub operator: SmolStr,
    pub game: SmolStr,
    pub rules_version: SmolStr,
    /// Time of the bets in whole minutes since the Unix epoch.
    pub minute: i64,
    pub voids: u64,
    /// Contributions, in EUR, of voided bets placed in the range of positions that the report covers.
    pub in_stretch: Nano,
    /// Contributions, in EUR, of voided bets placed before the report's range, but in the current pool cycle.
    pub in_cycle: Nano,
    /// Contributions, in EUR, of voided bets placed in earlier pool cycles.
    pub earlier: Nano,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VoidReturn {
    pub operator: SmolStr,
    /// Amount returned to the operator's house account, in EUR, above 0.
    pub amount: Nano,
}

/// Period in which a game malfunctioned. If a round of the game in this period is voided, its contribution returns to the
/// operator's house account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Incident {
    /// Id, unique within the pool.
    pub id: SmolStr,
    pub operator: SmolStr,
    pub game: SmolStr,
    /// Affected rules version; empty for all versions.
    pub rules_version: SmolStr,
    /// Start in Unix ms, a whole minute.
    pub from_ms: i64,
    /// Exclusive end in Unix ms, a whole minute.
    pub until_ms: i64,
    pub reason: String,
    pub actor: String,
}

impl Incident {
    pub const RESOLUTION_MS: i64 = 60_000;

    #[must_use]
    pub fn minute_of(time_ms: i64) -> i64 {
        time_ms.div_euclid(Self::RESOLUTION_MS)
    }

    #[must_use]
    pub fn minutes(&self) -> (i64, i64) {
        (Self::minute_of(self.from_ms), Self::minute_of(self.until_ms))
    }
}
