use serde::Deserialize;

use crate::parts::data::{LinesData, ReelsData, StakeData, SymbolData};
use crate::parts::picks::PicksData;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GameData {
    pub name: String,
    pub title: String,
    pub rules_version: String,
    pub rules_date: String,
    pub rtp: String,
    pub rules: String,
    pub stake: StakeData,
    pub symbols: Vec<SymbolData>,
    pub lines: LinesData,
    pub reels: ReelsData,
    pub treasure: PicksData,
    pub free_spins: FreeSpinsData,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FreeSpinsData {
    pub multiplier: u32,
}
