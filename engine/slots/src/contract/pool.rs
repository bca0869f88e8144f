//! Return of a game with a progressive jackpot under its pool's terms (BW-21, PL-43).

use thiserror::Error;

use crate::contract::info::GameInfo;
use crate::contract::nature::Nature;
use crate::contract::par::{Exact, Par, PartName, ReturnPart, decimal, exact, ratio};

pub const SEED: PartName = PartName::jackpot("jackpot_seed", "the jackpot's seed");
pub const INCREMENTS: PartName = PartName::jackpot("jackpot_increments", "the jackpot's increments");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolTerms {
    pub seed_nanos: u64,
    pub contribution_ppm: u32,
    /// Lowest coin value, in millionths of a euro, at which a jackpot hit wins the whole pool.
    pub base_coin_micros: u64,
}

/// Mean return of a jackpot, as a multiple of the bet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JackpotReturn {
    pub seed: Exact,
    /// Return of the pool's increments at a coin value of 1 EUR.
    pub increments_per_eur: Exact,
    pub increments_max: Exact,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "with these pool terms, the game's return is {lowest} to {highest}, outside the published {span_min} to {span_max}"
)]
pub struct OutOfSpan {
    pub lowest: String,
    pub highest: String,
    pub span_min: String,
    pub span_max: String,
}

impl Par {
    #[must_use]
    pub fn jackpot_return(&self, terms: &PoolTerms) -> Option<JackpotReturn> {
        let chance = self.rate("jackpot")?;
        if terms.base_coin_micros == 0 {
            return None;
        }
        let base_coin = ratio(terms.base_coin_micros, 1_000_000);
        let seed = ratio(terms.seed_nanos, 1_000_000_000) / (&base_coin * exact(self.bet_coins));
        let increments_max = ratio(terms.contribution_ppm, 1_000_000);
        Some(JackpotReturn { seed: chance * seed, increments_per_eur: &increments_max / base_coin, increments_max })
    }

    /// Replaces the jackpot's return with the return under `terms`; removes it if `terms` is `None` (pool suspended).
    #[must_use]
    pub fn at_pool_terms(mut self, terms: Option<&PoolTerms>, coin_micros: u64) -> Self {
        if self.rate("jackpot").is_none() {
            return self;
        }
        self.parts.retain(|part| part.name.nature != Nature::Jackpot);
        self.rtp = self.rtp_without_jackpot.clone();
        if let Some(jackpot) = terms.and_then(|terms| self.jackpot_return(terms)) {
            let increments = jackpot.increments_per_eur * ratio(coin_micros, 1_000_000);
            self.rtp += &jackpot.seed;
            let parts = [(SEED, jackpot.seed), (INCREMENTS, increments.min(jackpot.increments_max))];
            self.parts.extend(parts.map(|(name, rtp)| ReturnPart { name, rtp }));
        }
        self
    }

    pub fn check_pool_terms(&self, info: &GameInfo, terms: &PoolTerms) -> Result<(), OutOfSpan> {
        let (Some((min, max)), Some(jackpot)) = (info.rtp_span_micros, self.jackpot_return(terms)) else {
            return Ok(());
        };
        let (min, max) = (ratio(min, 1_000_000), ratio(max, 1_000_000));
        let lowest = &self.rtp_without_jackpot + &jackpot.seed;
        let highest = &lowest + &jackpot.increments_max;
        if min <= lowest && highest <= max {
            return Ok(());
        }
        let [lowest, highest] = [lowest, highest].map(|rtp| decimal(&rtp, 6));
        let [span_min, span_max] = [min, max].map(|rtp| decimal(&rtp, 4));
        Err(OutOfSpan { lowest, highest, span_min, span_max })
    }
}
