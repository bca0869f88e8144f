use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use super::void::Reversal;
use crate::values::{CoinValue, Currency, FxRate, Minor, Nano, StreamId};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolTerms {
    pub version: u32,
    pub contribution_ppm: u32,
    /// Amount in EUR with which the pool starts after each award.
    pub seed: Nano,
    /// Lowest coin value in EUR at which a jackpot hit wins the whole pool; never changes.
    pub base_coin: CoinValue,
    pub refresh_ms: u32,
    pub collision_share: CollisionShare,
}

/// Rule for the amount of a second jackpot hit before the jackpot display is refreshed (BW-17).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum CollisionShare {
    /// The second of two hits between refreshes wins `seed x coin / base coin`, plus all contributions since the first.
    Full,
    /// Each hit wins `pool x coin / base coin` (BW-16), even if the display is not refreshed between two hits.
    Proportional,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum PoolStatus {
    Active,
    /// New bets neither contribute to the pool nor can win the jackpot. Bets made before the suspension can still win it.
    Suspended,
    Retired {
        into: SmolStr,
        increments: Nano,
        reserve: Nano,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Decision {
    Hit(Hit),
    TakeBack(TakeBack),
    Reversal(Reversal),
}

impl Decision {
    #[must_use]
    pub fn partition(&self) -> u32 {
        match self {
            Self::Hit(hit) => hit.partition,
            Self::TakeBack(take_back) => take_back.partition,
            Self::Reversal(reversal) => reversal.partition,
        }
    }

    #[must_use]
    pub fn position(&self) -> u64 {
        match self {
            Self::Hit(hit) => hit.position,
            Self::TakeBack(take_back) => take_back.position,
            Self::Reversal(reversal) => reversal.position,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hit {
    pub partition: u32,
    pub position: u64,
    pub time_ms: i64,
    pub stream: StreamId,
    pub round: u64,
    pub currency: Currency,
    pub coin_value: CoinValue,
    pub rate: FxRate,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakeBack {
    pub partition: u32,
    /// Position of the void that takes the contribution back.
    pub position: u64,
    /// Position of the bet that contributed.
    pub contributed_at: u64,
    /// Removed contribution in EUR.
    pub amount: Nano,
}

/// Award for a jackpot hit (BW-16, BW-17). Amounts are in EUR unless stated otherwise.
///
/// The sum `increments + seed_from_reserve + seed_from_house` exceeds `paid` by a fraction of a cent. `to_reserve` is this
/// fraction plus the pool's remaining increments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Award {
    pub hit: u64,
    pub partition: u32,
    pub stream: StreamId,
    pub round: u64,
    /// Number of the pool cycle that the award ends, 1-based.
    pub cycle: u64,
    pub collision: bool,
    pub currency: Currency,
    pub coin_value: CoinValue,
    pub rate: FxRate,
    pub amount: Minor,
    /// Part of the pool's increments that the award pays.
    pub increments: Nano,
    pub seed_from_reserve: Nano,
    pub seed_from_house: Nano,
    pub to_reserve: Nano,
    /// Paid amount in EUR, at the bet's exchange rate.
    pub paid: Nano,
}
