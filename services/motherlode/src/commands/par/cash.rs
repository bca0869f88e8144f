use motherlode_ledger::offer;
use motherlode_picture::par::report::{CashReport, PLACES};
use motherlode_rounds::minor_micros;
use motherlode_slots::{CashReturn, Game, Par, cash_return, par::decimal};
use motherlode_state::{CoinValue, Currency};

pub(super) fn returns(game: &dyn Game, par: &Par) -> Vec<CashReport> {
    let ladders = offer::standard();
    let mut all = vec![];
    for currency in ladders.currencies().filter_map(|code| code.parse::<Currency>().ok()) {
        let rtp = if currency.is_real() { &par.rtp } else { &par.rtp_without_jackpot };
        for micros in ladders.for_game(game, currency.code()).map_or_else(Vec::new, |ladder| ladder.coins_micros) {
            if let Ok(CashReturn { adds, within, mixed_at_most, whole }) =
                cash_return(game, micros, minor_micros(currency))
            {
                all.push(CashReport {
                    currency: currency.code().to_owned(),
                    coin_value: CoinValue(micros).to_string(),
                    rtp: decimal(&(rtp + &adds), PLACES),
                    rounds_wins: !whole,
                    within: decimal(&within, 2 * PLACES),
                    mixed_at_most: decimal(&mixed_at_most, PLACES),
                });
            }
        }
    }
    all
}

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
        let how = if first.rounds_wins { "wins rounded" } else { "wins not rounded" };
        lines.push((format!("{} {coins}, {how}", first.currency), first.rtp.clone()));
    }
    lines
}
