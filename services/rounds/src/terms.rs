use motherlode_proto::convert::Malformed;
use motherlode_slots::{Carried, Carries, Game, Stake, Terms};
use motherlode_state::{CoinValue, Currency, FxRate, MoneyError, Nano, RoundStarted, RoundTerms};

/// Value of a minor unit in millionths of the major unit.
#[must_use]
pub fn minor_micros(currency: Currency) -> u64 {
    10_u64.pow(CoinValue::DIGITS.saturating_sub(currency.digits()))
}

/// Returns the highest win that may be gambled, in minor units, rounded down (ME-14).
pub fn gamble_max_minor(game: &dyn Game, currency: Currency, rate: FxRate) -> Result<u64, MoneyError> {
    let most = rate.minor_within(Nano::major(game.gamble_max_eur().into()), currency)?;
    u64::try_from(most.0).map_err(|_| MoneyError::OutOfRange)
}

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

pub fn terms_of(started: &RoundStarted) -> Result<&RoundTerms, Malformed> {
    started.stake.terms().ok_or(Malformed::Field("stake"))
}

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
