//! Highest mean return of a round over all carried figures.

use crate::contract::par::{Exact, exact, ratio};

/// In bets, without jackpot and rounding.
#[derive(Clone, Debug, PartialEq)]
pub struct MostExpected {
    /// Mean return at the round's coin value, in the best state.
    pub own: Exact,
    /// Mean return at the mean coin value (DM-12), in the best state.
    pub collected: Exact,
    pub collected_windows: Exact,
    /// Number of earlier rounds in the mean coin value.
    pub earlier: u32,
}

impl MostExpected {
    #[must_use]
    pub fn of_return(rtp: Exact) -> Self {
        Self { own: rtp, collected: exact(0), collected_windows: exact(0), earlier: 0 }
    }

    /// Returns the highest mean return if earlier rounds had coin values up to `carried_micros`.
    #[must_use]
    pub fn rtp(&self, coin_micros: u64, carried_micros: u64) -> Exact {
        let coin = coin_micros.max(1);
        let sum = exact(carried_micros.max(coin)) * exact(self.earlier) + exact(coin);
        &self.own + &self.collected * sum / (exact(self.earlier + 1) * ratio(coin, 1))
    }
}
