//! The parts of a void in the log (PL-38): its effect on the pool of its round, the sums that partitions report of voids, and
//! the incidents for which contributions are returned.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use super::round::RoundStarted;
use crate::values::{Minor, Nano};

/// The effect of a void on the pool that its round contributed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum VoidedJackpot {
    /// The contribution is taken back at once and an award stands: the form of older logs. Never admitted any more.
    TakenBack,
    /// The contribution stays in the pool at the operator's cost until an incident is approved. Unpaid awards of the round
    /// are reversed; it has no paid one.
    Kept,
    /// As [`VoidedJackpot::Kept`]; the round's paid awards are charged to the operator's house.
    Charged,
    /// As [`VoidedJackpot::Kept`]; the round's paid awards are the platform's loss.
    Lost,
}

/// A settled round, as its void needs it (PL-04). The books forget settled rounds, the log does not:
/// [`SettledRound::recall`] reads one back from the player's commits. It never changes any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettledRound {
    /// The bet and its terms.
    pub started: Arc<RoundStarted>,
    /// Position of the bet.
    pub opened_at: u64,
    /// Time of the bet, Unix ms.
    pub opened_ms: i64,
    /// Its hits of the jackpot.
    pub jackpots: Vec<RoundJackpot>,
    /// The settled win, jackpot excluded.
    pub win: Minor,
    /// Changes by its steps to its collection: keys and values, in log order.
    pub collected: Vec<(SmolStr, i64)>,
}

/// A hit of the jackpot by a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundJackpot {
    /// Position of the hit.
    pub hit: u64,
    /// The paid award in EUR, at the rate of the bet; none while it's not paid.
    pub paid: Option<Nano>,
}

/// Awards of a voided round whose money goes back to the pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reversal {
    /// The partition of the round.
    pub partition: u32,
    /// Position of the void.
    pub position: u64,
    /// The operator of the round.
    pub operator: SmolStr,
    /// The money that goes back, EUR.
    pub amount: Nano,
    /// The part of it that goes back to the house that funds seeds; the rest joins the reserve.
    pub to_house: Nano,
}

/// Voids in a reported stretch whose contributions stay in the pool, summed by operator, game, version and minute of the bet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedVoids {
    /// The operator.
    pub operator: SmolStr,
    /// The game.
    pub game: SmolStr,
    /// The version of the game's rules.
    pub rules_version: SmolStr,
    /// The minute of the bets, Unix time.
    pub minute: i64,
    /// Number of voids.
    pub voids: u64,
    /// Contributions of bets within the stretch, EUR.
    pub in_stretch: Nano,
    /// Contributions of earlier bets of the running cycle as of the report, EUR.
    pub in_cycle: Nano,
    /// Contributions of bets of earlier cycles, EUR.
    pub earlier: Nano,
}

/// A contribution return that another partition pays to an operator's house.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VoidReturn {
    /// The operator.
    pub operator: SmolStr,
    /// EUR, above 0.
    pub amount: Nano,
}

/// A named malfunction. Contributions of its voided rounds are returned to the operator's house.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Incident {
    /// Its name, unique within the pool.
    pub id: SmolStr,
    /// The operator.
    pub operator: SmolStr,
    /// The game.
    pub game: SmolStr,
    /// The version of the game's rules; empty for every version.
    pub rules_version: SmolStr,
    /// Time of the first bets, Unix ms; a whole minute.
    pub from_ms: i64,
    /// Time after the last bets, Unix ms; a whole minute.
    pub until_ms: i64,
    /// The reason.
    pub reason: String,
    /// The actor.
    pub actor: String,
}

impl Incident {
    /// Resolution of its interval, milliseconds.
    pub const RESOLUTION_MS: i64 = 60_000;

    /// The minute of a time, Unix time: contributions of voids are summed by it.
    #[must_use]
    pub fn minute_of(time_ms: i64) -> i64 {
        time_ms.div_euclid(Self::RESOLUTION_MS)
    }

    /// The minutes of its bets: the first, and the one after the last.
    #[must_use]
    pub fn minutes(&self) -> (i64, i64) {
        (Self::minute_of(self.from_ms), Self::minute_of(self.until_ms))
    }
}
