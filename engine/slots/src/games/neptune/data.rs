//! Data file of Neptune as written, unchecked.

use serde::Deserialize;

use crate::parts::data::{LinesData, ReelsData, StakeData, SymbolData};
use crate::parts::picks::PicksData;

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
    /// Return, a decimal that must hold exactly.
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
    /// The Treasure bonus.
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
