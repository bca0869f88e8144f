use serde::Deserialize;

use crate::parts::data::{LinesData, ReelsData, game_data};
use crate::parts::gamble::ColourRules;

game_data! {
    lines: LinesData,
    reels: ReelsData,
    feature: FeatureData,
    mysteries: Vec<MysteryData>,
    factors: Vec<FactorData>,
    bonus: BonusData,
    buy: BuyData,
    #[serde(default)]
    gamble: ColourRules,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeatureData {
    pub needs: u8,
    pub respins: u8,
    pub strip: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MysteryData {
    pub name: String,
    pub bets: u32,
    pub weight: u32,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FactorData {
    pub times: u32,
    pub weight: u32,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BonusData {
    /// Weight of each Bonus value from 1 to 18 total bets.
    pub values: Vec<u32>,
    pub mystery: u32,
    pub multiplying: u32,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BuyData {
    pub bets: u32,
    /// Return of the bought feature, divided by its price (ME-18).
    pub rtp: String,
    pub strips: Vec<String>,
}
