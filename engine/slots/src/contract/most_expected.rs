//! Highest mean return of a round over all states of a player.

use crate::contract::par::{Exact, exact, ratio};

/// Mean returns as multiples of the total bet, excluding jackpots and rounding.
#[derive(Clone, Debug, PartialEq)]
pub struct MostExpected {
    /// Highest mean return, over all states, of the spins that pay at the round's own coin value.
    pub own: Exact,
    /// Highest mean return, over all states, of the spins that pay at the mean coin value of several rounds (DM-12).
    pub collected: Exact,
    pub collected_windows: Exact,
    /// Number of earlier rounds whose coin values are averaged with the current round's.
    pub earlier: u32,
}

impl MostExpected {
    #[must_use]
    pub fn of_return(rtp: Exact) -> Self {
        Self { own: rtp, collected: exact(0), collected_windows: exact(0), earlier: 0 }
    }

    /// Returns the highest possible mean return at coin value `coin_micros`, if every earlier round's coin value was at
    /// most `carried_micros`.
    #[must_use]
    pub fn rtp(&self, coin_micros: u64, carried_micros: u64) -> Exact {
        let coin = coin_micros.max(1);
        let sum = exact(carried_micros.max(coin)) * exact(self.earlier) + exact(coin);
        &self.own + &self.collected * sum / (exact(self.earlier + 1) * ratio(coin, 1))
    }
}
