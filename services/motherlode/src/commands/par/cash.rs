//! The return of a game in cash, by currency and coin value (DM-19), of the ladders that come with the games.

use super::report::PLACES;
use motherlode_books::{CoinValue, Currency};
use motherlode_ledger::offer;
use motherlode_rounds::minor_micros;
use motherlode_slots::{CashReturn, Game, Par, cash_return, par::decimal};
use serde::Serialize;

/// How the figures are known.
pub(super) const PROOF: &str = "a coin that is whole minor units makes every win whole, for wins are whole coins: nothing is \
     rounded, and the return in cash is exactly that in coins; where wins are rounded, half to even, what that adds or takes \
     is worked out over all windows that can come, for a player who keeps to the coin value";

/// A coin value in a currency.
#[derive(Debug, Serialize)]
pub(super) struct CashReport {
    pub(super) currency: &'static str,
    pub(super) coin_value: String,
    /// As [`Par::rtp`] means it, in cash.
    pub(super) rtp: String,
    /// Wins are rounded to whole minor units.
    pub(super) rounds_wins: bool,
    /// How far that may be from the truth.
    pub(super) within: String,
    /// The most that it's higher or lower where what was collected at several coin values is played at their mean.
    pub(super) mixed_at_most: String,
}

/// Every coin value that the game offers, currency by currency.
pub(super) fn returns(game: &dyn Game, par: &Par) -> Vec<CashReport> {
    let ladders = offer::standard();
    let mut all = vec![];
    for currency in ladders.currencies().filter_map(|code| code.parse::<Currency>().ok()) {
        for micros in ladders.of(game, currency.code()).map_or_else(Vec::new, |ladder| ladder.coins_micros) {
            if let Ok(CashReturn { adds, within, mixed_at_most, whole }) =
                cash_return(game, micros, minor_micros(currency))
            {
                all.push(CashReport {
                    currency: currency.code(),
                    coin_value: CoinValue(micros).to_string(),
                    rtp: decimal(&(&par.rtp + &adds), PLACES),
                    rounds_wins: !whole,
                    within: decimal(&within, 2 * PLACES),
                    mixed_at_most: decimal(&mixed_at_most, PLACES),
                });
            }
        }
    }
    all
}

/// For people: what is the same in all coin values of a currency on one line.
pub(super) fn lines(reports: &[CashReport]) -> Vec<(String, String)> {
    let mut lines: Vec<(String, String)> = vec![];
    for of in reports.chunk_by(|one, next| {
        one.currency == next.currency && one.rounds_wins == next.rounds_wins && one.rtp == next.rtp
    }) {
        let (Some(first), Some(last)) = (of.first(), of.last()) else { continue };
        let coins = match of.len() {
            1 => first.coin_value.clone(),
            _ => format!("{} to {}", first.coin_value, last.coin_value),
        };
        let how = if first.rounds_wins { "wins rounded" } else { "as in coins" };
        lines.push((format!("{} {coins}, {how}", first.currency), first.rtp.clone()));
    }
    lines
}
