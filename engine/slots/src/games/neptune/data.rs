//! The data file of Neptune as written, before anything is checked or compiled.

use serde::Deserialize;

use crate::parts::data::{LinesData, ReelsData, StakeData, SymbolData};
use crate::parts::picks::PicksData;

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
    /// The return, a decimal that must hold exactly.
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
    /// The Treasure bonus.
    pub treasure: PicksData,
    /// Free spins.
    pub free_spins: FreeSpinsData,
}

/// Free spins.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FreeSpinsData {
    /// Factor of line wins.
    pub multiplier: u32,
}
