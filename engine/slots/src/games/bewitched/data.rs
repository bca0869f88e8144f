//! Data file of Bewitched, unchecked.

use serde::Deserialize;

use crate::parts::data::{LinesData, ReelsData, StakeData, SymbolData, WheelData};

/// Data file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GameData {
    /// Name.
    pub name: String,
    /// Displayed title.
    pub title: String,
    /// Rules version.
    pub rules_version: String,
    /// ISO 8601 date.
    pub rules_date: String,
    /// Exact decimal return without the jackpot.
    pub rtp: String,
    /// Summary of the rules.
    pub rules: String,
    /// Offered stakes.
    pub stake: StakeData,
    /// Symbols by index.
    pub symbols: Vec<SymbolData>,
    /// Paylines.
    pub lines: LinesData,
    /// Reels.
    pub reels: ReelsData,
    /// Bonus wheel.
    pub wheel: WheelData,
    /// Progressive jackpot.
    pub jackpot: JackpotData,
    /// Bonus round.
    pub bonus: BonusData,
    /// Free spins.
    pub free_spins: FreeSpinsData,
}

/// Progressive jackpot.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JackpotData {
    /// Mean paid spins per jackpot, at one coin.
    pub odds: u64,
    /// Pool's seed in coins.
    pub seed_coins: u64,
    /// Decimal contribution of each bet.
    pub contribution: String,
    /// Coin value that wins the whole pool, in the major unit.
    pub base_coin_value: String,
    /// Published span of the return: smallest coins, base coin value.
    #[serde(default)]
    pub rtp_span: Option<(String, String)>,
}

/// Bonus round.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BonusData {
    /// Bonus symbols that start it.
    pub needs: u8,
    /// Vials on offer.
    pub vials: u8,
}

/// Free spins.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FreeSpinsData {
    /// Multiplier of line wins.
    pub multiplier: u32,
}
