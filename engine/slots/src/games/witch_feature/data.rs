//! Data file of Witch Feature as written, unchecked.

use serde::Deserialize;

use crate::parts::data::{LinesData, ReelsData, StakeData, SymbolData};

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
    /// Published return with all features unlocked, a decimal that must hold to fifteen places.
    pub rtp: String,
    /// Summary of the rules.
    pub rules: String,
    /// Stakes offered.
    pub stake: StakeData,
    /// Symbols in index order.
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
    /// Explosion: number of Question marks.
    pub explosion: CountsData,
    /// Free spins.
    pub free_spins: FreeSpinsData,
    /// Reels of the paid spin.
    pub reels: ReelsData,
    /// Reels of the respins.
    pub respin_reels: ReelsData,
    /// Reels of the free spins.
    pub free_reels: ReelsData,
    /// Chance of an explosion after a combination without feature.
    pub explosion_chance: ChanceData,
}

/// Chance as a fraction.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChanceData {
    /// Numerator.
    pub times: u64,
    /// Denominator.
    pub of: u64,
}

/// Potions.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PotionsData {
    /// Chance to land, on each of the reels 2, 3 and 4.
    pub chance: ChanceData,
    /// Weights of Red, Blue and Green.
    pub colours: [u32; 3],
}

/// High Symbols Respin and Question marks.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HighSymbolsData {
    /// Symbol codes with weights.
    pub symbols: Vec<(String, u32)>,
}

/// Weighted numbers.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountsData {
    /// Numbers with weights.
    pub counts: Vec<(u32, u32)>,
}

/// Mega Wild Respin.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MegaWildData {
    /// Weight of one 3x3 Wild.
    pub one_of_three: u32,
    /// Weight of two 2x2 Wilds.
    pub two_of_two: u32,
}

/// Free spins.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FreeSpinsData {
    /// Number awarded by the symbol on reels 1 and 5 of the paid spin.
    pub awarded: u32,
    /// Number awarded by one symbol in free spins.
    pub one: u32,
    /// Number awarded by both symbols in free spins.
    pub both: u32,
    /// Chance of a Potion feature after a free spin.
    pub feature_chance: ChanceData,
    /// Weights of these features: High Symbols, Random Wilds, Multiplier, Mega Wild, and the first, second and fourth with
    /// Multiplier.
    pub features: [u32; 7],
}
