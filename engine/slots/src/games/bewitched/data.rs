use serde::Deserialize;

use crate::parts::data::{LinesData, ReelsData, StakeData, SymbolData, WheelData};

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GameData {
    pub name: String,
    pub title: String,
    pub rules_version: String,
    pub rules_date: String,
    /// Without the jackpot.
    pub rtp: String,
    pub rules: String,
    pub stake: StakeData,
    pub symbols: Vec<SymbolData>,
    pub lines: LinesData,
    pub reels: ReelsData,
    pub wheel: WheelData,
    pub jackpot: JackpotData,
    pub bonus: BonusData,
    pub free_spins: FreeSpinsData,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JackpotData {
    pub odds: u64,
    pub seed_coins: u64,
    pub contribution: String,
    pub base_coin_value: String,
    #[serde(default)]
    pub rtp_span: Option<(String, String)>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BonusData {
    pub needs: u8,
    pub vials: u8,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FreeSpinsData {
    pub multiplier: u32,
}
