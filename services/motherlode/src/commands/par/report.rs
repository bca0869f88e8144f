//! The figures of a sheet as all its forms print them.

use crate::figures;
use motherlode_books::CoinValue;
use motherlode_slots::{
    Game, GameInfo, Par, PartName, Stake,
    par::{Combination, ReelSet},
};
use serde::Serialize;
use std::fmt;

/// Places of a return or a frequency.
pub(super) const PLACES: usize = 9;
/// Places of the returns in percent: the nine places of the fraction.
pub(super) const PERCENT_PLACES: usize = PLACES - 2;
pub(super) const ROUNDING: &str = "returns and frequencies: 9 places; chances and rates: 18, or as many as nine digits need; bets: 6; \
                        half to even, but rtp_parts, which are rounded down and made to add up to rtp by the largest \
                        remainder";

/// A stake as JSON.
#[derive(Debug, Serialize)]
pub(in super::super) struct StakeReport {
    lines: u32,
    coins_per_line: u32,
    coin_value: String,
    buy_feature: bool,
    bet_coins: u64,
    /// Wins run on ways: there are no lines to speak of.
    #[serde(skip)]
    ways: bool,
}

impl fmt::Display for StakeReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { lines, coins_per_line, coin_value, buy_feature, bet_coins, ways } = self;
        match ways {
            true => write!(f, "{bet_coins} coins of {coin_value} a spin")?,
            false => write!(f, "{lines} lines x {coins_per_line} of {coin_value}, {bet_coins} coins a spin")?,
        }
        f.write_str(if *buy_feature { ", feature bought" } else { "" })
    }
}

impl StakeReport {
    pub(in super::super) fn of(game: &dyn Game, stake: &Stake, par: &Par) -> Self {
        Self {
            lines: stake.lines,
            coins_per_line: stake.coins_per_line,
            coin_value: CoinValue(stake.coin_value_micros).to_string(),
            buy_feature: stake.buy_feature,
            bet_coins: par.bet_coins,
            ways: game.info().ways,
        }
    }
}

/// Key of the part that the jackpot's increments return, which is on top of [`Par::rtp`].
pub(super) const INCREMENTS: &str = "jackpot_increments";

/// The parts of [`Par::rtp`] as printed: they add up.
pub(super) fn returns(par: &Par, places: usize) -> Vec<(PartName, String)> {
    let parts: Vec<_> = par.parts.iter().filter(|part| part.name.key != INCREMENTS).collect();
    let exact: Vec<_> = parts.iter().map(|part| &part.rtp).collect();
    parts.iter().map(|part| part.name).zip(figures::parts(&par.rtp, &exact, places)).collect()
}

/// How often each symbol stands on each strip of a set.
pub(super) fn symbols(info: &GameInfo, set: &ReelSet) -> impl Iterator<Item = (String, Vec<usize>)> {
    let counted = info.symbols.iter().zip(0..).map(|(symbol, index)| (symbol.name.clone(), set.counts(index)));
    counted.filter(|(_, counts)| counts.iter().any(|count| *count > 0))
}

pub(super) fn symbol_name(info: &GameInfo, index: u8) -> String {
    info.symbols.get(usize::from(index)).map_or_else(String::new, |symbol| symbol.name.clone())
}

/// Returns a combination's pay and its free spins, from the paytable.
pub(super) fn pays(info: &GameInfo, of: &Combination) -> (u64, u32) {
    let row = info.paytable.iter().find(|row| row.symbol == of.symbol && row.count == of.count);
    row.map_or((0, 0), |row| (row.pays, row.free_spins))
}

/// A decimal fraction as percent by moving its point: nothing is rounded a second time.
pub(super) fn shifted(fraction: &str) -> String {
    let (whole, places) = fraction.split_once('.').unwrap_or((fraction, ""));
    let (up, rest) = places.split_at_checked(2).unwrap_or((places, ""));
    let digits = format!("{whole}{up}");
    let digits = digits.trim_start_matches('0');
    format!("{}.{rest} %", if digits.is_empty() { "0" } else { digits })
}
