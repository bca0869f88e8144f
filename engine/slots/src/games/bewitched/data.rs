//! Data file of Bewitched as written, unchecked.

use serde::Deserialize;

use crate::parts::data::{LinesData, ReelsData, StakeData, SymbolData, WheelData};

/// Data file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GameData {
    /// Name in requests and in the log.
    pub name: String,
    /// Displayed title.
    pub title: String,
    /// Version of the rules.
    pub rules_version: String,
    /// Date of the rules, ISO 8601.
    pub rules_date: String,
    /// Return without the jackpot, a decimal that must hold exactly.
    pub rtp: String,
    /// Summary of the rules.
    pub rules: String,
    /// Stakes offered.
    pub stake: StakeData,
    /// Symbols in index order.
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
    /// Mean number of paid spins per jackpot, at one coin staked.
    pub odds: u64,
    /// Seed of the pool in coins.
    pub seed_coins: u64,
    /// Contribution of each bet to the pool, a decimal.
    pub contribution: String,
    /// Coin value that wins the whole pool, in the major unit.
    pub base_coin_value: String,
    /// Published span of the return with jackpot: at the smallest coins and at the base coin value.
    #[serde(default)]
    pub rtp_span: Option<(String, String)>,
}

/// The bonus round.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BonusData {
    /// Number of bonus symbols that starts it.
    pub needs: u8,
    /// Number of vials to choose three from.
    pub vials: u8,
}

/// Free spins.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FreeSpinsData {
    /// Multiplier of line wins.
    pub multiplier: u32,
}
