use thiserror::Error;

pub const COIN_MICROS_MAX: u64 = 10_000_000_000_000;
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stake {
    pub coin_value_micros: u64,
    pub lines: u32,
    pub coins_per_line: u32,
    pub buy_feature: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum StakeRefused {
    #[error("the game does not offer a coin value of {micros} millionths of the currency unit")]
    CoinValue { micros: u64 },
    #[error("the number of lines must be {min} to {max}, not {lines}")]
    Lines { lines: u32, min: u32, max: u32 },
    #[error("the number of coins per line must be {min} to {max}, not {coins}")]
    CoinsPerLine { coins: u32, min: u32, max: u32 },
    #[error("the game has no feature to buy")]
    BuyFeature,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StakeLimits {
    /// Coin values in millionths of the major unit, ascending. If they depend on the currency, these are the values in EUR.
    pub coin_values_micros: Vec<u64>,
    pub by_currency: bool,
    pub lines: (u32, u32),
    pub coins_per_line: (u32, u32),
}

impl StakeLimits {
    /// Returns a number of coins that divides every possible bet.
    #[must_use]
    pub fn bet_unit(&self) -> u64 {
        let unit = |(min, max): (u32, u32)| if min == max { u64::from(min) } else { 1 };
        unit(self.lines) * unit(self.coins_per_line)
    }

    /// Returns the lowest and highest coin value; `None` if they depend on the currency.
    #[must_use]
    pub fn coins_within(&self) -> Option<(u64, u64)> {
        let listed = Some((*self.coin_values_micros.first()?, *self.coin_values_micros.last()?));
        listed.filter(|_| !self.by_currency)
    }

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
