//! Data file of Witch Feature, unchecked.

use serde::Deserialize;

use crate::parts::data::{LinesData, ReelsData, StakeData, SymbolData};

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
    /// Decimal return with all features unlocked, exact to fifteen places.
    pub rtp: String,
    /// Summary of the rules.
    pub rules: String,
    /// Offered stakes.
    pub stake: StakeData,
    /// Symbols by index.
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
    /// Explosion.
    pub explosion: CountsData,
    /// Free spins.
    pub free_spins: FreeSpinsData,
    /// Paid reels.
    pub reels: ReelsData,
    /// Respin reels.
    pub respin_reels: ReelsData,
    /// Free spin reels.
    pub free_reels: ReelsData,
    /// Chance of an Explosion after a combination without feature.
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
    /// Chance on each of the reels 2, 3 and 4.
    pub chance: ChanceData,
    /// Weights of Red, Blue and Green.
    pub colours: [u32; 3],
}

/// High Symbols Respin, Question marks.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HighSymbolsData {
    /// Codes with weights.
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

/// Free spins and their features.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FreeSpinsData {
    /// Number awarded by the paid spin.
    pub awarded: u32,
    /// Number awarded by one symbol in free spins.
    pub one: u32,
    /// Number awarded by two symbols in free spins.
    pub both: u32,
    /// Chance of a feature after a free spin.
    pub feature_chance: ChanceData,
    /// Weights of High Symbols, Random Wilds, Multiplier, Mega Wild, and the first, second and fourth with Multiplier.
    pub features: [u32; 7],
}
