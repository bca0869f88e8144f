use std::sync::Arc;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use super::round::RoundStarted;
use crate::values::{Minor, Nano};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum VoidedJackpot {
    /// The contribution is taken back and the award unchanged; only in older logs.
    TakenBack,
    /// The contribution is kept until an incident, and unpaid awards are reversed. There is no paid award.
    Kept,
    /// Like [`VoidedJackpot::Kept`]; paid awards are charged to the operator's house.
    Charged,
    /// Like [`VoidedJackpot::Kept`]; paid awards are the platform's loss.
    Lost,
}

/// Settled round for its void (PL-04), which the books drop and [`SettledRound::recall`] reads from the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettledRound {
    pub started: Arc<RoundStarted>,
    /// Position of the bet.
    pub opened_at: u64,
    pub opened_ms: i64,
    pub jackpots: Vec<RoundJackpot>,
    pub win: Minor,
    /// Changes to its collection, in order.
    pub collected: Vec<(SmolStr, i64)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundJackpot {
    pub hit: u64,
    /// EUR.
    pub paid: Option<Nano>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reversal {
    pub partition: u32,
    /// Position of the void.
    pub position: u64,
    pub operator: SmolStr,
    /// EUR.
    pub amount: Nano,
    /// Part that returns to the house; the rest joins the reserve.
    pub to_house: Nano,
}

/// Kept contributions of a stretch's voids, by operator, game, version and minute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedVoids {
    pub operator: SmolStr,
    pub game: SmolStr,
    pub rules_version: SmolStr,
    /// Minute of the bets, Unix time.
    pub minute: i64,
    pub voids: u64,
    /// EUR, of bets in the stretch.
    pub in_stretch: Nano,
    /// Contributions of earlier bets in the running cycle, EUR.
    pub in_cycle: Nano,
    /// EUR, of earlier cycles.
    pub earlier: Nano,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VoidReturn {
    pub operator: SmolStr,
    /// EUR, above 0.
    pub amount: Nano,
}

/// Malfunction; contributions of its voided rounds return to the operator's house.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Incident {
    /// Unique within the pool.
    pub id: SmolStr,
    pub operator: SmolStr,
    pub game: SmolStr,
    /// Empty for all.
    pub rules_version: SmolStr,
    /// Unix ms, a whole minute.
    pub from_ms: i64,
    /// Exclusive; Unix ms, a whole minute.
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
