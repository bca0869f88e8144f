//! Data file of Mystery Elves as written, unchecked.

use serde::Deserialize;

use crate::parts::data::{LinesData, ReelsData, StakeData, SymbolData};
use crate::parts::gamble::ColourRules;

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
    /// Published return, a decimal.
    pub rtp: String,
    /// Summary of the rules.
    pub rules: String,
    /// Stakes offered.
    pub stake: StakeData,
    /// Symbols in index order.
    pub symbols: Vec<SymbolData>,
    /// Paylines.
    pub lines: LinesData,
    /// Reels of the paid spin.
    pub reels: ReelsData,
    /// Hold and Win.
    pub feature: FeatureData,
    /// Special wins of a Mystery Bonus; the highest is GRAND.
    pub mysteries: Vec<MysteryData>,
    /// Factors of a Multiplying Bonus.
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
    /// Number of Bonus symbols that starts it.
    pub needs: u8,
    /// Initial respins, restored by every new Bonus symbol.
    pub respins: u8,
    /// Strip of each position in the feature, as symbol codes.
    pub strip: String,
}

/// Special win.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MysteryData {
    /// Displayed name.
    pub name: String,
    /// Pay in total bets.
    pub bets: u32,
    /// Weight.
    pub weight: u32,
}

/// Factor of a Multiplying Bonus.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FactorData {
    /// Multiplier of every other Bonus symbol.
    pub times: u32,
    /// Weight.
    pub weight: u32,
}

/// Weights of the contents of a Bonus symbol.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BonusData {
    /// Weights of the values 1, 2, ... 18 total bets.
    pub values: Vec<u32>,
    /// Weight of Mystery.
    pub mystery: u32,
    /// Weight of Multiplying, on the middle reel only.
    pub multiplying: u32,
}

/// Bought feature.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BuyData {
    /// Price in bets.
    pub bets: u32,
    /// Return relative to the price, a decimal of six places (ME-18).
    pub rtp: String,
    /// Reels of the bought spin.
    pub strips: Vec<String>,
}
