//! The data file of Bewitched as written, before anything is checked or compiled.

use serde::Deserialize;

use crate::parts::data::{LinesData, ReelsData, StakeData, SymbolData, WheelData};

/// A game's data file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GameData {
    /// The name in requests and in the log.
    pub name: String,
    /// The title shown.
    pub title: String,
    /// Version of the rules.
    pub rules_version: String,
    /// Date of the rules, ISO 8601.
    pub rules_date: String,
    /// The return without the jackpot, a decimal that must hold exactly.
    pub rtp: String,
    /// The rules in short.
    pub rules: String,
    /// Stakes offered.
    pub stake: StakeData,
    /// Symbols; their order is their index.
    pub symbols: Vec<SymbolData>,
    /// Paylines.
    pub lines: LinesData,
    /// Reels.
    pub reels: ReelsData,
    /// The bonus wheel.
    pub wheel: WheelData,
    /// The progressive jackpot.
    pub jackpot: JackpotData,
    /// The bonus round.
    pub bonus: BonusData,
    /// Free spins.
    pub free_spins: FreeSpinsData,
}

/// The progressive jackpot.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JackpotData {
    /// Paid spins to one jackpot, for each coin staked.
    pub odds: u64,
    /// The pool's seed in coins.
    pub seed_coins: u64,
    /// The part of each bet that grows the pool, a decimal.
    pub contribution: String,
    /// The coin value that the whole pool belongs to, in the major unit.
    pub base_coin_value: String,
    /// The published span of the return, jackpot included: at the smallest coins, and at the coin value of the whole
    /// pool.
    #[serde(default)]
    pub rtp_span: Option<(String, String)>,
}

/// The bonus round.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BonusData {
    /// Bonus symbols that start it.
    pub needs: u8,
    /// Vials to choose three from.
    pub vials: u8,
}

/// Free spins.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FreeSpinsData {
    /// Factor of line wins.
    pub multiplier: u32,
}
