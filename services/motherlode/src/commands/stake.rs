//! The stake as the commands `play`, `par` and `simulate` take it.

use super::Failure;
use motherlode_books::{CoinValue, Currency};
use motherlode_ledger::offer;
use motherlode_slots::{Game, Stake, games, latest};

/// The coin value that is taken where none is named and the game offers it, in millionths; else the game's smallest.
const COIN_MICROS: u64 = 100_000;

/// The arguments of a bet.
#[derive(Debug, Clone, Default, PartialEq, Eq, clap::Args)]
pub struct StakeArgs {
    /// Lines played; all that the game has by default.
    #[arg(long, value_name = "L")]
    pub lines: Option<u32>,
    /// Coins on each line; the fewest that the game offers by default.
    #[arg(long, value_name = "C")]
    pub coins: Option<u32>,
    /// Value of a coin in the account's currency; 0.10 by default where the game offers it, else its smallest.
    #[arg(long, value_name = "V")]
    pub coin_value: Option<CoinValue>,
    /// Buy the game's feature instead of waiting for it.
    #[arg(long)]
    pub buy_feature: bool,
}

impl StakeArgs {
    /// The stake for a game; whether the game offers it is for the game to say.
    #[must_use]
    pub fn of(&self, game: &dyn Game) -> Stake {
        let limits = &game.info().limits;
        let coins = &limits.coin_values_micros;
        let usual = coins.iter().find(|micros| **micros == COIN_MICROS).or(coins.first());
        Stake {
            coin_value_micros: self.coin_value.map_or(usual.copied().unwrap_or_default(), |value| value.0),
            lines: self.lines.unwrap_or(limits.lines.1),
            coins_per_line: self.coins.unwrap_or(limits.coins_per_line.0),
            buy_feature: self.buy_feature,
        }
    }

    /// The stake in an account's currency: without a coin value, the one that a player begins with there.
    #[must_use]
    pub fn in_currency(&self, game: &dyn Game, currency: Currency) -> Stake {
        let stake = self.of(game);
        let begin = || offer::standard().of(game, currency.code()).map(|ladder| ladder.default_micros);
        match (self.coin_value, currency) {
            (None, Currency::EUR | Currency::PLAY) | (Some(_), _) => stake,
            (None, _) => Stake { coin_value_micros: begin().unwrap_or(stake.coin_value_micros), ..stake },
        }
    }

    /// The stake for a game that offers it.
    ///
    /// # Errors
    /// Says what is at fault, and what the game offers.
    pub fn checked(&self, game: &dyn Game) -> Result<Stake, Failure> {
        let stake = self.of(game);
        game.check_stake(&stake).map_err(|refused| {
            let limits = &game.info().limits;
            let ((fewest, most), (least, top)) = (limits.lines, limits.coins_per_line);
            let coins: Vec<_> = limits.coin_values_micros.iter().map(|coin| CoinValue(*coin).to_string()).collect();
            Failure::unusable(format!(
                "{refused}\n{} offers {fewest} to {most} lines, {least} to {top} coins a line, coin values {}",
                game.name(),
                coins.join(" ")
            ))
        })?;
        Ok(stake)
    }
}

/// The newest version of a game.
///
/// # Errors
/// Names the games that there are.
pub fn newest(name: &str) -> Result<&'static dyn Game, Failure> {
    latest(name).ok_or_else(|| {
        let mut known: Vec<_> = games().iter().map(|game| game.name()).collect();
        known.sort_unstable();
        known.dedup();
        Failure::unusable(format!("there is no game {name}; there is {}", known.join(", ")))
    })
}
