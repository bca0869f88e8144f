//! Data file of Mystery Elves, unchecked.

use serde::Deserialize;

use crate::parts::data::{LinesData, ReelsData, StakeData, SymbolData};
use crate::parts::gamble::ColourRules;

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
    /// Decimal published return.
    pub rtp: String,
    /// Summary of the rules.
    pub rules: String,
    /// Offered stakes.
    pub stake: StakeData,
    /// Symbols by index.
    pub symbols: Vec<SymbolData>,
    /// Paylines.
    pub lines: LinesData,
    /// Paid reels.
    pub reels: ReelsData,
    /// Hold and Win.
    pub feature: FeatureData,
    /// Special wins; the highest is GRAND.
    pub mysteries: Vec<MysteryData>,
    /// Multiplying factors.
    pub factors: Vec<FactorData>,
    /// Contents of a Bonus symbol.
    pub bonus: BonusData,
    /// Bought feature.
    pub buy: BuyData,
    /// Gamble.
    #[serde(default)]
    pub gamble: ColourRules,
}

/// Hold and Win.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeatureData {
    /// Bonus symbols that start it.
    pub needs: u8,
    /// Initial respins, restored by each new Bonus symbol.
    pub respins: u8,
    /// Symbol codes of a position's strip.
    pub strip: String,
}

/// Special win.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MysteryData {
    /// Displayed name.
    pub name: String,
    /// Total bets.
    pub bets: u32,
    /// Weight.
    pub weight: u32,
}

/// Multiplying factor.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FactorData {
    /// Multiplier of the other Bonus symbols.
    pub times: u32,
    /// Weight.
    pub weight: u32,
}

/// Weights of a Bonus symbol's contents.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BonusData {
    /// Weights of 1 to 18 total bets.
    pub values: Vec<u32>,
    /// Weight of Mystery.
    pub mystery: u32,
    /// Weight of Multiplying, on the middle reel.
    pub multiplying: u32,
}

/// Bought feature.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BuyData {
    /// Price in bets.
    pub bets: u32,
    /// Decimal return relative to the price (ME-18).
    pub rtp: String,
    /// Bought reels.
    pub strips: Vec<String>,
}
