//! Parts of a pool in the log: terms, status, decisions and awards.

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use super::void::Reversal;
use crate::values::{CoinValue, Currency, FxRate, Minor, Nano, StreamId};

/// Parameters of a pool, versioned like rules (BW-12, BW-17, BW-20).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolTerms {
    /// Version, contiguous and 1-based.
    pub version: u32,
    /// Contribution in parts per million of the bet: 5,000 is 0.5 %.
    pub contribution_ppm: u32,
    /// Base amount after a win, in EUR: 20,000.
    pub seed: Nano,
    /// Coin value in EUR that wins the whole pool: 10. The same in all terms of a pool.
    pub base_coin: CoinValue,
    /// Refresh interval of the counter, in ms of Unix time: 3,000.
    pub refresh_ms: u32,
    /// Share of a second win within one refresh.
    pub collision_share: CollisionShare,
}

/// Share of a second win within one refresh (BW-17).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum CollisionShare {
    /// Minimum of its coin value plus all increments since.
    Full,
    /// As BW-16.
    Proportional,
}

/// Status of a pool (BW-20).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum PoolStatus {
    /// Bets contribute and can win.
    Active,
    /// New bets neither contribute nor win. Earlier ones are still pooled and paid.
    Suspended,
    /// Closed for good.
    Retired {
        /// Receiving pool.
        into: SmolStr,
        /// K at retirement.
        increments: Nano,
        /// R at retirement.
        reserve: Nano,
    },
}

/// Hit or void to be decided on the pool's stream, in log order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Decision {
    /// Win to price.
    Hit(Hit),
    /// Contribution to take back.
    TakeBack(TakeBack),
    /// Awards of a voided round to return to the pool.
    Reversal(Reversal),
}

impl Decision {
    /// Returns its partition.
    #[must_use]
    pub fn partition(&self) -> u32 {
        match self {
            Self::Hit(hit) => hit.partition,
            Self::TakeBack(take_back) => take_back.partition,
            Self::Reversal(reversal) => reversal.partition,
        }
    }

    /// Returns its position.
    #[must_use]
    pub fn position(&self) -> u64 {
        match self {
            Self::Hit(hit) => hit.position,
            Self::TakeBack(take_back) => take_back.position,
            Self::Reversal(reversal) => reversal.position,
        }
    }
}

/// Jackpot hit with everything but the pool that determines its price.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hit {
    /// Partition.
    pub partition: u32,
    /// Position.
    pub position: u64,
    /// Time of its commit, Unix ms.
    pub time_ms: i64,
    /// Winner.
    pub stream: StreamId,
    /// Winner's round.
    pub round: u64,
    /// Currency of the bet.
    pub currency: Currency,
    /// Coin value of the bet.
    pub coin_value: CoinValue,
    /// Rate of the bet.
    pub rate: FxRate,
}

/// Contribution of a voided round (BW-19).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakeBack {
    /// Partition of the round.
    pub partition: u32,
    /// Position of the void.
    pub position: u64,
    /// Position of the bet.
    pub contributed_at: u64,
    /// Contribution in EUR.
    pub amount: Nano,
}

/// Price of a hit (BW-16, BW-17). Figures without a currency are EUR.
///
/// `increments + seed_from_reserve + seed_from_house = paid + fraction of a cent`, and `to_reserve = rest of the
/// increments + fraction of a cent`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Award {
    /// Position of the hit.
    pub hit: u64,
    /// Partition of the hit.
    pub partition: u32,
    /// Winner.
    pub stream: StreamId,
    /// Winner's round.
    pub round: u64,
    /// Cycle that it ends, 1-based.
    pub cycle: u64,
    /// Whether it is a second win within one refresh.
    pub collision: bool,
    /// Currency of the bet and the amount.
    pub currency: Currency,
    /// Coin value of the bet.
    pub coin_value: CoinValue,
    /// Rate of the bet.
    pub rate: FxRate,
    /// Win in the player's currency.
    pub amount: Minor,
    /// Share from the increments.
    pub increments: Nano,
    /// Seed share from the reserve.
    pub seed_from_reserve: Nano,
    /// Seed share from the house.
    pub seed_from_house: Nano,
    /// Part for the reserve.
    pub to_reserve: Nano,
    /// Amount booked as paid: the win in EUR at the bet's rate.
    pub paid: Nano,
}
