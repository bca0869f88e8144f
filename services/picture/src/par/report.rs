use crate::figures;
use motherlode_slots::{
    Game, GameInfo, Par, PartName, Stake,
    par::{Combination, ReelSet},
};
use motherlode_state::CoinValue;
use serde::Serialize;
use std::fmt;

pub const PLACES: usize = 9;
pub const PERCENT_PLACES: usize = PLACES - 2;
pub const ROUNDING: &str = "decimal places: 9 for returns and frequencies; at least 18 for chances and rates, to show nine significant \
                        digits; 6 for bets. Figures are rounded half to even, except rtp_parts, which are rounded by \
                        the largest-remainder method so that they add up to rtp";

#[derive(Debug, Serialize)]
pub struct StakeReport {
    lines: u32,
    coins_per_line: u32,
    coin_value: String,
    buy_feature: bool,
    bet_coins: u64,
    #[serde(skip)]
    ways: bool,
}

impl fmt::Display for StakeReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { lines, coins_per_line, coin_value, buy_feature, bet_coins, ways } = self;
        match ways {
            true => write!(f, "{bet_coins} coins of {coin_value} per spin")?,
            false => write!(
                f,
                "{lines} lines, {coins_per_line} coins per line, coin value {coin_value}, {bet_coins} coins per spin"
            )?,
        }
        f.write_str(if *buy_feature { ", feature bought" } else { "" })
    }
}

impl StakeReport {
    pub fn new(game: &dyn Game, stake: &Stake, par: &Par) -> Self {
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

#[derive(Debug, Serialize)]
pub struct CashReport {
    pub currency: String,
    pub coin_value: String,
    pub rtp: String,
    pub rounds_wins: bool,
    pub within: String,
    pub mixed_at_most: String,
}

pub const CASH_PROOF: &str = "wins are whole coins, so if a coin is worth whole minor units, the return in cash equals \
     the return in coins. For other coins, the effect of rounding half to even is computed over all possible windows \
     of symbols, at a constant coin value";

/// Key of the return component that pays out the jackpot's growth. [`Par::rtp`] excludes this component.
pub const INCREMENTS: &str = "jackpot_increments";

pub fn returns(par: &Par, places: usize) -> Vec<(PartName, String)> {
    let parts: Vec<_> = par.parts.iter().filter(|part| part.name.key != INCREMENTS).collect();
    let exact: Vec<_> = parts.iter().map(|part| &part.rtp).collect();
    parts.iter().map(|part| part.name).zip(figures::parts(&par.rtp, &exact, places)).collect()
}

pub fn symbols(info: &GameInfo, set: &ReelSet) -> impl Iterator<Item = (String, Vec<usize>)> {
    let counted = info.symbols.iter().zip(0..).map(|(symbol, index)| (symbol.name.clone(), set.counts(index)));
    counted.filter(|(_, counts)| counts.iter().any(|count| *count > 0))
}

#[must_use]
pub fn symbol_name(info: &GameInfo, index: u8) -> String {
    info.symbols.get(usize::from(index)).map_or_else(String::new, |symbol| symbol.name.clone())
}

pub fn pays(info: &GameInfo, of: &Combination) -> (u64, u32) {
    let row = info.paytable.iter().find(|row| row.symbol == of.symbol && row.count == of.count);
    row.map_or((0, 0), |row| (row.pays, row.free_spins))
}

pub fn shifted(fraction: &str) -> String {
    let (whole, places) = fraction.split_once('.').unwrap_or((fraction, ""));
    let (up, rest) = places.split_at_checked(2).unwrap_or((places, ""));
    let digits = format!("{whole}{up}");
    let digits = digits.trim_start_matches('0');
    format!("{}.{rest} %", if digits.is_empty() { "0" } else { digits })
}
