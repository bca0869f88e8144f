//! The most that a round returns on average, over all that its player can bring into it (PL-36, PL-43).

use crate::contract::par::{Exact, exact, ratio};

/// The highest mean return of a round, in bets. Jackpot and rounding are not in it; a gamble keeps the mean.
#[derive(Clone, Debug, PartialEq)]
pub struct MostExpected {
    /// Return of the part that is paid at the round's coin value, in the most favourable state carried.
    pub own: Exact,
    /// Return of the part that is paid at the mean of the coin values of several rounds (DM-12), in the most favourable
    /// state, where that mean is the round's coin value.
    pub collected: Exact,
    /// Mean number of windows of that part.
    pub collected_windows: Exact,
    /// Earlier rounds in the mean, besides the round itself.
    pub earlier: u32,
}

impl MostExpected {
    /// The return of a game whose players carry nothing that changes it.
    #[must_use]
    pub fn of_return(rtp: Exact) -> Self {
        Self { own: rtp, collected: exact(0), collected_windows: exact(0), earlier: 0 }
    }

    /// The return in bets at a coin value, where earlier rounds had at most another one.
    #[must_use]
    pub fn rtp(&self, coin_micros: u64, carried_micros: u64) -> Exact {
        let coin = coin_micros.max(1);
        let sum = exact(carried_micros.max(coin)) * exact(self.earlier) + exact(coin);
        &self.own + &self.collected * sum / (exact(self.earlier + 1) * ratio(coin, 1))
    }
}
