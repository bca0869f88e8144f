//! Pools in the log: terms, decisions, awards.

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use super::void::Reversal;
use crate::values::{CoinValue, Currency, FxRate, Minor, Nano, StreamId};

/// Parameters of a pool (BW-12, BW-17, BW-20).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolTerms {
    /// Version, contiguous and 1-based.
    pub version: u32,
    /// Contribution in parts per million.
    pub contribution_ppm: u32,
    /// Base amount after a win in EUR.
    pub seed: Nano,
    /// Coin value in EUR that wins the whole pool; never changes.
    pub base_coin: CoinValue,
    /// Refresh interval in ms.
    pub refresh_ms: u32,
    /// Rule for second wins.
    pub collision_share: CollisionShare,
}

/// Second win within one refresh (BW-17).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum CollisionShare {
    /// Minimum of its coin plus all increments since.
    Full,
    /// Share by coin value, like a first win (BW-16).
    Proportional,
}

/// Status of a pool (BW-20).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum PoolStatus {
    /// Bets contribute and can win.
    Active,
    /// New bets neither contribute nor win; earlier ones count.
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

/// Hit or void to decide, in log order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Decision {
    /// Win to price.
    Hit(Hit),
    /// Contribution to take back.
    TakeBack(TakeBack),
    /// Awards to return to the pool.
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

/// Hit, with everything but the pool for its price.
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

/// Price of a hit (BW-16, BW-17), in EUR unless stated.
///
/// `increments + seed_from_reserve + seed_from_house` equals `paid` plus the fraction of a cent. `to_reserve` is the rest of
/// the increments plus that fraction.
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
    /// Whether it is a second win (BW-17).
    pub collision: bool,
    /// Currency of the bet.
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
    /// Win in EUR at the bet's rate.
    pub paid: Nano,
}
