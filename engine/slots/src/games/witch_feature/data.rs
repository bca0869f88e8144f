//! The data file of Witch Feature as written, before anything is checked or compiled.

use serde::Deserialize;

use crate::parts::data::{LinesData, ReelsData, StakeData, SymbolData};

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
    /// The published return, a decimal that must hold to fifteen places once all features are unlocked.
    pub rtp: String,
    /// The rules in short.
    pub rules: String,
    /// Stakes offered.
    pub stake: StakeData,
    /// Symbols; their order is their index.
    pub symbols: Vec<SymbolData>,
    /// Paylines.
    pub lines: LinesData,
    /// Potions.
    pub potions: PotionsData,
    /// High Symbols Respin.
    pub high_symbols: HighSymbolsData,
    /// Random Wilds Respin.
    pub random_wilds: CountsData,
    /// Multiplier Respin.
    pub multiplier: CountsData,
    /// Mega Wild Respin.
    pub mega_wild: MegaWildData,
    /// Explosion: how many Question marks land.
    pub explosion: CountsData,
    /// Free spins.
    pub free_spins: FreeSpinsData,
    /// Reels of the paid spin.
    pub reels: ReelsData,
    /// Reels of the respins.
    pub respin_reels: ReelsData,
    /// Reels of the free spins.
    pub free_reels: ReelsData,
    /// How often an explosion follows a combination that triggers no feature.
    pub explosion_chance: ChanceData,
}

/// A chance, as a fraction.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChanceData {
    /// So often ...
    pub times: u64,
    /// ... in so many.
    pub of: u64,
}

/// Potions.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PotionsData {
    /// Chance that one lands, on each of the reels 2, 3 and 4.
    pub chance: ChanceData,
    /// Weights of Red, Blue and Green.
    pub colours: [u32; 3],
}

/// High Symbols Respin, and what a Question mark becomes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HighSymbolsData {
    /// Each cell's symbols by code, with their weights.
    pub symbols: Vec<(String, u32)>,
}

/// Numbers with their weights.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountsData {
    /// Each number with its weight.
    pub counts: Vec<(u32, u32)>,
}

/// Mega Wild Respin.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MegaWildData {
    /// Weight of one Wild of 3x3.
    pub one_of_three: u32,
    /// Weight of two Wilds of 2x2.
    pub two_of_two: u32,
}

/// Free spins.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FreeSpinsData {
    /// Awarded by the symbol on reels 1 and 5 of the paid spin.
    pub awarded: u32,
    /// Awarded by one of them in free spins.
    pub one: u32,
    /// Awarded by both of them in free spins.
    pub both: u32,
    /// Chance that a Potion feature follows a free spin.
    pub feature_chance: ChanceData,
    /// Weights of the features that follow: High Symbols, Random Wilds, Multiplier, Mega Wild, and the first, second
    /// and fourth together with the Multiplier.
    pub features: [u32; 7],
}
