//! Coins as cash: the coin values that a game can be played at in a currency, and its return in cash (DM-17, DM-19).
//!
//! A coin that is whole minor units makes every win whole, for wins are whole coins: nothing is ever rounded, and the
//! return in cash is the return in coins. Any other coin needs a game whose rules say how wins are rounded; what that
//! adds to the return or takes from it, the game works out from all that it can show ([`Game::rounding`]).

use num_traits::Signed;
use thiserror::Error;

use crate::contract::game::Game;
use crate::contract::par::{Exact, decimal, exact, ratio};
use crate::contract::rounding::{CoinFraction, Rounding};
use crate::contract::stake::COIN_MICROS_MAX;

/// How far from the published return the return in cash may be: 0.05 points (DM-19).
const APART: (u32, u32) = (5, 10_000);
/// Places of a return in a refusal.
const PLACES: usize = 4;

/// The return in cash at a coin value.
#[derive(Clone, Debug, PartialEq)]
pub struct CashReturn {
    /// The part of the return that rounding adds; below 0 where it takes, exactly 0 where nothing is rounded.
    pub adds: Exact,
    /// How far that may be from the truth; exactly 0 where nothing is rounded.
    pub within: Exact,
    /// The most that coin values played before can add to it or take from it.
    pub mixed_at_most: Exact,
    /// A coin is whole minor units, so that no win of whole coins is ever rounded.
    pub whole: bool,
}

/// Why a coin value can't be offered.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CoinRefused {
    /// No coin value, or one beyond any use.
    #[error("it is not above 0 and at most {}", COIN_MICROS_MAX / 1_000_000)]
    Range,
    /// A bet would have to be rounded.
    #[error("a bet of {coins} coins is no whole number of minor units")]
    Bet {
        /// Coins of a bet.
        coins: u64,
    },
    /// A win would have to be rounded, and the rules don't say how.
    #[error("a coin is no whole number of minor units, and the game has no rule by which wins are rounded")]
    Win,
    /// Rounding changes the return.
    #[error("wins rounded to whole minor units return {cash}, more than 0.0005 from the published {published}")]
    Return {
        /// The return in cash, a decimal.
        cash: String,
        /// The published return, a decimal.
        published: String,
    },
}

/// The return of a game in cash at a coin value. Coin and minor unit are in millionths of the major unit.
/// The first time that wins are rounded costs some hundred milliseconds.
///
/// # Errors
/// The coin value can't be offered.
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
