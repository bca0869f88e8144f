use serde::Deserialize;

use crate::parts::data::{LinesData, ReelsData, StakeData, SymbolData};

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GameData {
    pub name: String,
    pub title: String,
    pub rules_version: String,
    pub rules_date: String,
    /// Return with all features unlocked, exact to fifteen places.
    pub rtp: String,
    pub rules: String,
    pub stake: StakeData,
    pub symbols: Vec<SymbolData>,
    pub lines: LinesData,
    pub potions: PotionsData,
    pub high_symbols: HighSymbolsData,
    pub random_wilds: CountsData,
    pub multiplier: CountsData,
    pub mega_wild: MegaWildData,
    pub explosion: CountsData,
    pub free_spins: FreeSpinsData,
    pub reels: ReelsData,
    pub respin_reels: ReelsData,
    pub free_reels: ReelsData,
    /// Chance of the Explosion after a combination without a feature.
    pub explosion_chance: ChanceData,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChanceData {
    pub times: u64,
    pub of: u64,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PotionsData {
    pub chance: ChanceData,
    /// Weights of Red, Blue and Green.
    pub colours: [u32; 3],
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HighSymbolsData {
    pub symbols: Vec<(String, u32)>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountsData {
    pub counts: Vec<(u32, u32)>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MegaWildData {
    /// Weight of a single 3x3 Wild.
    pub one_of_three: u32,
    pub two_of_two: u32,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FreeSpinsData {
    pub awarded: u32,
    pub one: u32,
    pub both: u32,
    pub feature_chance: ChanceData,
    pub features: [u32; 7],
}
