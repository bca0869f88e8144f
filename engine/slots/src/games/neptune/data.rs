//! Data file of Neptune, unchecked.

use serde::Deserialize;

use crate::parts::data::{LinesData, ReelsData, StakeData, SymbolData};
use crate::parts::picks::PicksData;

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
    /// Exact decimal return.
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
    /// Treasure bonus.
    pub treasure: PicksData,
    /// Free spins.
    pub free_spins: FreeSpinsData,
}

/// Free spins.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FreeSpinsData {
    /// Multiplier of line wins.
    pub multiplier: u32,
}
