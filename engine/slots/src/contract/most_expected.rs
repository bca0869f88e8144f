//! Highest mean return of a round over all carried figures (PL-36, PL-43).

use crate::contract::par::{Exact, exact, ratio};

/// Highest mean return of a round, in bets, without jackpot and rounding. A gamble does not change the mean.
#[derive(Clone, Debug, PartialEq)]
pub struct MostExpected {
    /// Return of the part paid at the round's coin value, in the most favourable carried state.
    pub own: Exact,
    /// Return of the part paid at the mean coin value of several rounds (DM-12), in the most favourable state, with the mean equal
    /// to the round's coin value.
    pub collected: Exact,
    /// Mean number of windows of the collected part.
    pub collected_windows: Exact,
    /// Number of earlier rounds in the mean, excluding the round itself.
    pub earlier: u32,
}

impl MostExpected {
    /// Creates it for a game whose return does not depend on carried figures.
    #[must_use]
    pub fn of_return(rtp: Exact) -> Self {
        Self { own: rtp, collected: exact(0), collected_windows: exact(0), earlier: 0 }
    }

    /// Return in bets at a coin value if earlier rounds had a coin value of at most `carried_micros`.
    #[must_use]
    pub fn rtp(&self, coin_micros: u64, carried_micros: u64) -> Exact {
        let coin = coin_micros.max(1);
        let sum = exact(carried_micros.max(coin)) * exact(self.earlier) + exact(coin);
        &self.own + &self.collected * sum / (exact(self.earlier + 1) * ratio(coin, 1))
    }
}
