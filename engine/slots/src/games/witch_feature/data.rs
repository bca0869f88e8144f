use serde::Deserialize;

use crate::parts::data::{LinesData, ReelsData, game_data};

game_data! {
    lines: LinesData,
    potions: PotionsData,
    high_symbols: HighSymbolsData,
    random_wilds: CountsData,
    multiplier: CountsData,
    mega_wild: MegaWildData,
    explosion: CountsData,
    free_spins: FreeSpinsData,
    reels: ReelsData,
    respin_reels: ReelsData,
    free_reels: ReelsData,
    explosion_chance: ChanceData,
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
    /// Weight of one 3x3 Wild; the alternative is two 2x2 Wilds.
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
