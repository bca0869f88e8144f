use super::Failure;
use motherlode_ledger::offer;
use motherlode_slots::{Game, Stake, games, latest};
use motherlode_state::{CoinValue, Currency};

/// Default coin value, in millionths of the currency unit; if the game does not offer it, the smallest coin value is
/// used.
const COIN_MICROS: u64 = 100_000;

#[derive(Debug, Clone, Default, PartialEq, Eq, clap::Args)]
pub struct StakeArgs {
    /// Lines to play; default: all lines of the game.
    #[arg(long, value_name = "L")]
    pub lines: Option<u32>,
    /// Coins per line; default: the lowest number offered.
    #[arg(long, value_name = "C")]
    pub coins: Option<u32>,
    /// Value of a coin in the account's currency; default: 0.10 if offered, else the smallest.
    #[arg(long, value_name = "V")]
    pub coin_value: Option<CoinValue>,
    /// Buy the game's feature instead of waiting for it.
    #[arg(long)]
    pub buy_feature: bool,
}

impl StakeArgs {
    #[must_use]
    pub fn for_game(&self, game: &dyn Game) -> Stake {
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

    #[must_use]
    pub fn in_currency(&self, game: &dyn Game, currency: Currency) -> Stake {
        let stake = self.for_game(game);
        let begin = || offer::standard().for_game(game, currency.code()).map(|ladder| ladder.default_micros);
        match (self.coin_value, currency) {
            (None, Currency::EUR | Currency::PLAY) | (Some(_), _) => stake,
            (None, _) => Stake { coin_value_micros: begin().unwrap_or(stake.coin_value_micros), ..stake },
        }
    }

    pub fn checked(&self, game: &dyn Game) -> Result<Stake, Failure> {
        let stake = self.for_game(game);
        game.check_stake(&stake).map_err(|refused| {
            let limits = &game.info().limits;
            let ((fewest, most), (least, top)) = (limits.lines, limits.coins_per_line);
            let coins: Vec<_> = limits.coin_values_micros.iter().map(|coin| CoinValue(*coin).to_string()).collect();
            Failure::unusable(format!(
                "{refused}\n{} offers {fewest} to {most} lines, {least} to {top} coins per line, coin values {}",
                game.name(),
                coins.join(" ")
            ))
        })?;
        Ok(stake)
    }
}

pub fn newest(name: &str) -> Result<&'static dyn Game, Failure> {
    latest(name).ok_or_else(|| {
        let mut known: Vec<_> = games().iter().map(|game| game.name()).collect();
        known.sort_unstable();
        known.dedup();
        Failure::unusable(format!("there is no game {name}; the games are {}", known.join(", ")))
    })
}
