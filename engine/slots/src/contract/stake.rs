//! A player's bet, and coin arithmetic: a stake is lines x coins a line, and a coin value that
//! the engine only checks, because every win is in coins.

use thiserror::Error;

/// The largest coin value, in millionths of the major unit: far below what any sum of cash may be.
pub const COIN_MICROS_MAX: u64 = 10_000_000_000_000;
/// A bet as the player composes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stake {
    /// Value of a coin in millionths of the currency's major unit (0.01 is 10,000).
    pub coin_value_micros: u64,
    /// Paylines in play, from the first.
    pub lines: u32,
    /// Coins on each line.
    pub coins_per_line: u32,
    /// Buys the game's feature instead of waiting for it, where the game sells one.
    pub buy_feature: bool,
}

/// Why a stake isn't accepted. The first fault in this order is the one reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum StakeRefused {
    /// The coin value isn't one of the game's.
    #[error("coin value {micros} millionths is not offered")]
    CoinValue {
        /// The value asked for.
        micros: u64,
    },
    /// Too few or too many lines.
    #[error("{lines} lines is outside {min} to {max}")]
    Lines {
        /// The number asked for.
        lines: u32,
        /// Fewest.
        min: u32,
        /// Most.
        max: u32,
    },
    /// Too few or too many coins a line.
    #[error("{coins} coins per line is outside {min} to {max}")]
    CoinsPerLine {
        /// The number asked for.
        coins: u32,
        /// Fewest.
        min: u32,
        /// Most.
        max: u32,
    },
    /// The game sells no feature.
    #[error("the game has no feature to buy")]
    BuyFeature,
}

/// The stakes that a game offers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StakeLimits {
    /// Coin values in millionths of the major unit, ascending: those of EUR where they are offered by currency.
    pub coin_values_micros: Vec<u64>,
    /// Coin values are offered by currency, by ladders that are no part of the rules; a round is the same at any.
    pub by_currency: bool,
    /// Fewest and most lines.
    pub lines: (u32, u32),
    /// Fewest and most coins a line.
    pub coins_per_line: (u32, u32),
}

impl StakeLimits {
    /// The number that the coins of every bet are a multiple of.
    #[must_use]
    pub fn bet_unit(&self) -> u64 {
        // Of several numbers in a row two are neighbours.
        let unit = |(min, max): (u32, u32)| if min == max { u64::from(min) } else { 1 };
        unit(self.lines) * unit(self.coins_per_line)
    }

    /// The lowest and the highest coin value that rounds can have; none where that is for ladders to say.
    #[must_use]
    pub fn coins_within(&self) -> Option<(u64, u64)> {
        let listed = Some((*self.coin_values_micros.first()?, *self.coin_values_micros.last()?));
        listed.filter(|_| !self.by_currency)
    }

    /// The coins that the stake costs in all.
    ///
    /// # Errors
    /// The first fault, in the order of [`StakeRefused`].
    pub fn check(&self, stake: &Stake) -> Result<u32, StakeRefused> {
        let Stake { coin_value_micros: micros, lines, coins_per_line: coins, buy_feature } = *stake;
        let offered = match self.by_currency {
            true => (1..=COIN_MICROS_MAX).contains(&micros),
            false => self.coin_values_micros.contains(&micros),
        };
        if !offered {
            return Err(StakeRefused::CoinValue { micros });
        }
        let (min, max) = self.lines;
        if !(min..=max).contains(&lines) {
            return Err(StakeRefused::Lines { lines, min, max });
        }
        let (min, max) = self.coins_per_line;
        if !(min..=max).contains(&coins) {
            return Err(StakeRefused::CoinsPerLine { coins, min, max });
        }
        if buy_feature {
            return Err(StakeRefused::BuyFeature);
        }
        Ok(lines * coins)
    }
}
