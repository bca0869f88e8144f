//! Voids in the log (PL-38).

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use super::round::RoundStarted;
use crate::values::{Minor, Nano};

/// Effect of a void on its pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum VoidedJackpot {
    /// Contribution taken back, award unchanged; only in older logs.
    TakenBack,
    /// Contribution kept until an incident, unpaid awards reversed; no paid one.
    Kept,
    /// Like [`VoidedJackpot::Kept`]; paid awards are charged to the operator's house.
    Charged,
    /// Like [`VoidedJackpot::Kept`]; paid awards are the platform's loss.
    Lost,
}

/// Settled round for its void (PL-04). The books drop settled rounds; [`SettledRound::recall`] reads them from the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettledRound {
    /// Bet and terms.
    pub started: Arc<RoundStarted>,
    /// Position of the bet.
    pub opened_at: u64,
    /// Time of the bet, Unix ms.
    pub opened_ms: i64,
    /// Jackpot hits.
    pub jackpots: Vec<RoundJackpot>,
    /// Settled win without the jackpot.
    pub win: Minor,
    /// Changes to its collection, in order.
    pub collected: Vec<(SmolStr, i64)>,
}

/// Jackpot hit of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundJackpot {
    /// Position of the hit.
    pub hit: u64,
    /// Paid award in EUR.
    pub paid: Option<Nano>,
}

/// Awards to return to the pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reversal {
    /// Partition of the round.
    pub partition: u32,
    /// Position of the void.
    pub position: u64,
    /// Operator of the round.
    pub operator: SmolStr,
    /// Amount in EUR.
    pub amount: Nano,
    /// Part for the house; the rest joins the reserve.
    pub to_house: Nano,
}

/// Kept contributions of a stretch's voids, by operator, game, version and minute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedVoids {
    /// Operator.
    pub operator: SmolStr,
    /// Game.
    pub game: SmolStr,
    /// Rules version.
    pub rules_version: SmolStr,
    /// Minute of the bets, Unix time.
    pub minute: i64,
    /// Number of voids.
    pub voids: u64,
    /// Contributions of bets in the stretch, EUR.
    pub in_stretch: Nano,
    /// Contributions of earlier bets in the running cycle, EUR.
    pub in_cycle: Nano,
    /// Contributions of earlier cycles, EUR.
    pub earlier: Nano,
}

/// Return paid to a house by another partition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VoidReturn {
    /// Operator.
    pub operator: SmolStr,
    /// EUR, above 0.
    pub amount: Nano,
}

/// Malfunction approved by the platform; contributions of its voided rounds return to the operator's house.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Incident {
    /// Name, unique within the pool.
    pub id: SmolStr,
    /// Operator.
    pub operator: SmolStr,
    /// Game.
    pub game: SmolStr,
    /// Rules version; empty for all.
    pub rules_version: SmolStr,
    /// Start, Unix ms, a whole minute.
    pub from_ms: i64,
    /// End (exclusive), Unix ms, a whole minute.
    pub until_ms: i64,
    /// Reason.
    pub reason: String,
    /// Actor.
    pub actor: String,
}

impl Incident {
    /// Resolution of the interval in ms.
    pub const RESOLUTION_MS: i64 = 60_000;

    /// Returns the minute of a time.
    #[must_use]
    pub fn minute_of(time_ms: i64) -> i64 {
        time_ms.div_euclid(Self::RESOLUTION_MS)
    }

    /// Returns the minutes: first, and end (exclusive).
    #[must_use]
    pub fn minutes(&self) -> (i64, i64) {
        (Self::minute_of(self.from_ms), Self::minute_of(self.until_ms))
    }
}
