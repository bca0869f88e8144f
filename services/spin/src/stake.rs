use motherlode_ledger::{fields, offer};
use motherlode_rounds::minor_micros;
use motherlode_runtime::{Reason, Refusal};
use motherlode_slots::{self as slots, Game, Ladders};
use motherlode_state::{CoinValue, Currency, Minor};

pub(crate) fn find_game(name: &str, rules_version: &str) -> Result<&'static dyn Game, Refusal> {
    fields::optional_id("game", name)?;
    fields::optional_id("rules_version", rules_version)?;
    let found = if rules_version.is_empty() { slots::latest(name) } else { slots::game(name, rules_version) };
    found.ok_or_else(|| {
        Refusal::new(Reason::GameUnknown, "there is no game with the requested name and rules version")
            .with("game", name)
            .with("rules_version", rules_version)
    })
}

pub(crate) fn invalid_stake(
    game: &dyn Game,
    ladders: &Ladders,
    currency: Currency,
    refused: &dyn std::fmt::Display,
) -> Refusal {
    let limits = &game.info().limits;
    let offered = ladders.for_game(game, currency.code()).map_or_else(Vec::new, |ladder| ladder.coins_micros);
    let coin_values: Vec<_> = offered.into_iter().map(|micros| CoinValue(micros).to_string()).collect();
    Refusal::new(Reason::InvalidStake, refused.to_string())
        .with("currency_code", currency)
        .with("coin_values", coin_values.join(" "))
        .with("lines_min", limits.lines.0)
        .with("lines_max", limits.lines.1)
        .with("coins_per_line_min", limits.coins_per_line.0)
        .with("coins_per_line_max", limits.coins_per_line.1)
}

pub(crate) fn offered(
    game: &dyn Game,
    ladders: &Ladders,
    currency: Currency,
    coin: CoinValue,
    granted: bool,
) -> Result<(), Refusal> {
    let code = currency.code();
    let is_offered = if granted { ladders.enabled(code) } else { ladders.offers(game, code, coin.0) };
    if is_offered {
        return Ok(());
    }
    if !ladders.enabled(code) {
        return Err(offer::not_offered(ladders, currency));
    }
    Err(invalid_stake(game, ladders, currency, &format_args!("a coin of {coin} {currency} is not offered")))
}

pub(crate) fn whole_bet(currency: Currency, coin: CoinValue, coins: u32) -> Result<Minor, Refusal> {
    bet_in(currency, coin, coins).ok_or_else(|| {
        let message = format!("a bet of {coins} coins of {coin} is not a whole number of minor units of {currency}");
        Refusal::new(Reason::InvalidStake, message).with("currency_code", currency)
    })
}

pub(crate) fn bet_in(currency: Currency, coin: CoinValue, coins: u32) -> Option<Minor> {
    let micros_per_minor = minor_micros(currency);
    let micros = coin.0.checked_mul(coins.into())?;
    let whole = micros.is_multiple_of(micros_per_minor).then_some(micros / micros_per_minor)?;
    i64::try_from(whole).ok().map(Minor)
}
