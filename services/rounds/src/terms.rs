//! The terms of a round, logged with its bet: with them a round replays from its own commits alone.

use motherlode_books::{CoinValue, Currency, FxRate, MoneyError, Nano, RoundStarted, RoundTerms};
use motherlode_proto::convert::Malformed;
use motherlode_slots::{Carried, Carries, Game, Stake, Terms};

/// Worth of a currency's minor unit in millionths of its major unit: 10,000 for a cent.
#[must_use]
pub fn minor_micros(currency: Currency) -> u64 {
    10_u64.pow(CoinValue::DIGITS.saturating_sub(currency.digits()))
}

/// The most that may be gambled in a game, in minor units of a currency, at the bet's rate, rounded down (ME-14).
///
/// # Errors
/// [`MoneyError::OutOfRange`] where a currency is worth so little that the limit is no amount of it.
pub fn gamble_max_minor(game: &dyn Game, currency: Currency, rate: FxRate) -> Result<u64, MoneyError> {
    let most = rate.minor_within(Nano::major(game.gamble_max_eur().into()), currency)?;
    u64::try_from(most.0).map_err(|_| MoneyError::OutOfRange)
}

/// Stake and terms of a game that carries such figures, without a witch.
#[must_use]
pub fn terms_to_log(stake: &Stake, terms: &Terms, carries: Carries) -> RoundTerms {
    RoundTerms {
        lines: stake.lines,
        coins_per_line: stake.coins_per_line,
        jackpot: terms.jackpot,
        double: terms.double,
        buy_feature: stake.buy_feature,
        gamble_max_minor: terms.gamble_max_minor,
        carried: terms.carried.0.iter().copied().take(carries.keys.len()).collect(),
        witch: 0,
    }
}

/// The stake and the terms of a round as the log has them.
///
/// # Errors
/// The log has none that can be read.
pub fn terms_of(started: &RoundStarted) -> Result<&RoundTerms, Malformed> {
    started.stake.terms().ok_or(Malformed::Field("stake"))
}

/// The stake and terms of a round as logged, of a game that carries such figures.
///
/// # Errors
/// There are more or fewer figures than the game carries.
pub fn terms_from_log(
    terms: &RoundTerms,
    carries: Carries,
    coin_value: CoinValue,
    currency: Currency,
) -> Result<(Stake, Terms), Malformed> {
    let mut carried = Carried::default();
    let places = carried.0.get_mut(..terms.carried.len()).filter(|places| places.len() == carries.keys.len());
    places.ok_or(Malformed::Field("terms.carried"))?.copy_from_slice(&terms.carried);
    let stake = Stake {
        coin_value_micros: coin_value.0,
        lines: terms.lines,
        coins_per_line: terms.coins_per_line,
        buy_feature: terms.buy_feature,
    };
    let terms = Terms {
        jackpot: terms.jackpot,
        double: terms.double,
        minor_micros: minor_micros(currency),
        gamble_max_minor: terms.gamble_max_minor,
        carried,
    };
    Ok((stake, terms))
}
