//! The stake as the commands `play`, `par` and `simulate` take it.

use super::Failure;
use motherlode_books::CoinValue;
use motherlode_slots::{Game, Stake, games, latest};

/// What is bet on one round.
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub struct StakeArgs {
    /// Lines played; all that the game has by default.
    #[arg(long, value_name = "L")]
    pub lines: Option<u32>,
    /// Coins on each line.
    #[arg(long, value_name = "C", default_value_t = 1)]
    pub coins: u32,
    /// Value of a coin in the account's currency.
    #[arg(long, value_name = "V", default_value = "0.10")]
    pub coin_value: CoinValue,
}

impl StakeArgs {
    /// The stake for a game; whether the game offers it is for the game to say.
    #[must_use]
    pub fn of(&self, game: &dyn Game) -> Stake {
        Stake {
            coin_value_micros: self.coin_value.0,
            lines: self.lines.unwrap_or(game.info().limits.lines.1),
            coins_per_line: self.coins,
            buy_feature: false,
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
        known.dedup();
        Failure::unusable(format!("there is no game {name}; there is {}", known.join(", ")))
    })
}
