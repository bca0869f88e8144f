//! The parts of a pool in the log: its terms and status, the hits and voids that it must decide, and the award of a hit.

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use super::void::Reversal;
use crate::values::{CoinValue, Currency, FxRate, Minor, Nano, StreamId};

/// A pool's parameters, versioned like rules (BW-12, BW-17, BW-20).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolTerms {
    /// 1, 2, 3 within the pool.
    pub version: u32,
    /// Parts per million of a bet that a contribution is: 5,000 is 0.5 %.
    pub contribution_ppm: u32,
    /// The pool's figure after a win, in EUR: 20,000.
    pub seed: Nano,
    /// The coin value, in EUR, whose jackpot is the whole pool: 10. The same in all terms of a pool.
    pub base_coin: CoinValue,
    /// The counter is refreshed at multiples of this in Unix time, milliseconds: 3,000.
    pub refresh_ms: u32,
    /// The share of a second win within one refresh.
    pub collision_share: CollisionShare,
}

/// The share of a win that follows another within one refresh (BW-17).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum CollisionShare {
    /// The minimum of its coin value plus the whole of the increments since.
    Full,
    /// Plain BW-16.
    Proportional,
}

/// Whether a pool takes bets (BW-20).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum PoolStatus {
    /// Bets contribute and can win.
    Active,
    /// A bet placed now neither contributes nor can win; what was staked before is still pooled and paid by its place in
    /// the log.
    Suspended,
    /// Closed for ever, with what it handed over.
    Retired {
        /// The receiving pool.
        into: SmolStr,
        /// K at retirement.
        increments: Nano,
        /// R at retirement.
        reserve: Nano,
    },
}

/// A hit or a void that the pool's stream must decide, in log order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Decision {
    /// A win to price.
    Hit(Hit),
    /// A contribution to take back.
    TakeBack(TakeBack),
    /// Awards of a voided round that go back to the pool.
    Reversal(Reversal),
}

impl Decision {
    /// The partition that it stands in.
    #[must_use]
    pub fn partition(&self) -> u32 {
        match self {
            Self::Hit(hit) => hit.partition,
            Self::TakeBack(take_back) => take_back.partition,
            Self::Reversal(reversal) => reversal.partition,
        }
    }

    /// Its position in its partition's log.
    #[must_use]
    pub fn position(&self) -> u64 {
        match self {
            Self::Hit(hit) => hit.position,
            Self::TakeBack(take_back) => take_back.position,
            Self::Reversal(reversal) => reversal.position,
        }
    }
}

/// A jackpot hit with all that its price depends on, apart from the pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hit {
    /// The partition that it stands in.
    pub partition: u32,
    /// Its place there.
    pub position: u64,
    /// The logged time of its commit, Unix ms.
    pub time_ms: i64,
    /// The winner.
    pub stream: StreamId,
    /// The winner's round.
    pub round: u64,
    /// The bet's currency.
    pub currency: Currency,
    /// The bet's coin value.
    pub coin_value: CoinValue,
    /// The bet's rate.
    pub rate: FxRate,
}

/// A voided round's contribution (BW-19).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakeBack {
    /// The partition of the round.
    pub partition: u32,
    /// Position of the void.
    pub position: u64,
    /// Position of the bet.
    pub contributed_at: u64,
    /// The contribution, EUR.
    pub amount: Nano,
}

/// The price of a hit (BW-16, BW-17). Figures without a currency are EUR.
///
/// `increments + seed_from_reserve + seed_from_house = paid + part of a cent left`, and
/// `to_reserve = rest of the increments + part of a cent left`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Award {
    /// Position of the hit.
    pub hit: u64,
    /// Partition of the hit.
    pub partition: u32,
    /// The winner.
    pub stream: StreamId,
    /// The winner's round.
    pub round: u64,
    /// The cycle that it ends: 1, 2, 3 within the pool.
    pub cycle: u64,
    /// Whether it was priced as a second win within one refresh.
    pub collision: bool,
    /// The currency of the bet and of the amount.
    pub currency: Currency,
    /// The bet's coin value.
    pub coin_value: CoinValue,
    /// The bet's rate.
    pub rate: FxRate,
    /// The player's win, in the player's currency.
    pub amount: Minor,
    /// Share out of the increments.
    pub increments: Nano,
    /// Share of the seed out of the reserve.
    pub seed_from_reserve: Nano,
    /// Share of the seed that the house pays.
    pub seed_from_house: Nano,
    /// The part that goes to the reserve.
    pub to_reserve: Nano,
    /// The amount booked as paid: the player's win in EUR at the bet's rate.
    pub paid: Nano,
}
