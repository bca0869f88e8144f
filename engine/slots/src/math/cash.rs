//! Checks whether a game can be played at a coin value (DM-17, DM-19). If a coin is not a whole number of minor units, the
//! game needs [`Game::rounding`].

use num_traits::Signed;
use thiserror::Error;

use crate::contract::game::Game;
use crate::contract::par::{Exact, decimal, exact, ratio};
use crate::contract::rounding::{CoinFraction, Rounding};
use crate::contract::stake::COIN_MICROS_MAX;

/// Maximum deviation from the published return: 0.05 percentage points (DM-19).
const APART: (u32, u32) = (5, 10_000);
const PLACES: usize = 4;

#[derive(Clone, Debug, PartialEq)]
pub struct CashReturn {
    pub adds: Exact,
    pub within: Exact,
    pub mixed_at_most: Exact,
    pub whole: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CoinRefused {
    #[error("the coin value must be above 0 and at most {} units of the currency", COIN_MICROS_MAX / 1_000_000)]
    Range,
    #[error("a bet of {coins} coins is not a whole number of minor units")]
    Bet { coins: u64 },
    #[error("the coin value is not a whole number of minor units, and the game has no rounding rule")]
    Win,
    #[error("the return with rounded wins, {cash}, differs by more than 0.0005 from the published return, {published}")]
    Return { cash: String, published: String },
}

pub fn cash_return(game: &dyn Game, coin_micros: u64, minor_micros: u64) -> Result<CashReturn, CoinRefused> {
    if coin_micros == 0 || coin_micros > COIN_MICROS_MAX {
        return Err(CoinRefused::Range);
    }
    let coin = CoinFraction::new(coin_micros, minor_micros);
    let unit = game.info().limits.bet_unit();
    if !coin.whole(unit) {
        return Err(CoinRefused::Bet { coins: unit });
    }
    let rounding = game.rounding(coin);
    let mixed_at_most = rounding.as_ref().map_or_else(|| exact(0), |rounding| rounding.mixed_at_most.clone());
    if coin.denominator == 1 {
        return Ok(CashReturn { adds: exact(0), within: exact(0), mixed_at_most, whole: true });
    }
    let Rounding { rtp, adds, within, published, .. } = rounding.ok_or(CoinRefused::Win)?;
    let cash = rtp + &adds;
    if (&cash - &published).abs() + &within > ratio(APART.0, APART.1) {
        return Err(CoinRefused::Return { cash: decimal(&cash, PLACES), published: decimal(&published, PLACES) });
    }
    Ok(CashReturn { adds, within, mixed_at_most, whole: false })
}
