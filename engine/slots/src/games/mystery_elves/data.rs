use serde::Deserialize;

use crate::parts::data::{LinesData, ReelsData, StakeData, SymbolData};
use crate::parts::gamble::ColourRules;

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
    pub feature: FeatureData,
    /// Special wins; the highest is GRAND.
    pub mysteries: Vec<MysteryData>,
    pub factors: Vec<FactorData>,
    pub bonus: BonusData,
    pub buy: BuyData,
    #[serde(default)]
    pub gamble: ColourRules,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeatureData {
    pub needs: u8,
    /// Number of respins, which each new Bonus symbol restores.
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
    /// Weights of the values from 1 to 18 total bets.
    pub values: Vec<u32>,
    pub mystery: u32,
    pub multiplying: u32,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BuyData {
    pub bets: u32,
    /// Relative to the price (ME-18).
    pub rtp: String,
    pub strips: Vec<String>,
}
