//! The data file of Mystery Elves as written, before anything is checked or compiled.

use serde::Deserialize;

use crate::parts::data::{LinesData, ReelsData, StakeData, SymbolData};
use crate::parts::gamble::ColourRules;

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
    /// The published return, a decimal.
    pub rtp: String,
    /// The rules in short.
    pub rules: String,
    /// Stakes offered.
    pub stake: StakeData,
    /// Symbols; their order is their index.
    pub symbols: Vec<SymbolData>,
    /// Paylines.
    pub lines: LinesData,
    /// Reels of the paid spin.
    pub reels: ReelsData,
    /// Hold and Win.
    pub feature: FeatureData,
    /// Special wins of a Mystery Bonus; the highest is GRAND.
    pub mysteries: Vec<MysteryData>,
    /// The factors of a Multiplying Bonus.
    pub factors: Vec<FactorData>,
    /// The values of a Bonus symbol.
    pub bonus: BonusData,
    /// The bought feature.
    pub buy: BuyData,
    /// The gamble.
    #[serde(default)]
    pub gamble: ColourRules,
}

/// Hold and Win.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeatureData {
    /// Bonus symbols that start it.
    pub needs: u8,
    /// Respins at first, and again after every new Bonus symbol.
    pub respins: u8,
    /// The reel that each position is in the feature, as symbol codes.
    pub strip: String,
}

/// A special win.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MysteryData {
    /// The name shown.
    pub name: String,
    /// Total bets.
    pub bets: u32,
    /// Weight among all.
    pub weight: u32,
}

/// A factor.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FactorData {
    /// The factor of every other Bonus symbol.
    pub times: u32,
    /// Weight among all.
    pub weight: u32,
}

/// Weights of what a Bonus symbol carries.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BonusData {
    /// Of the values of 1, 2, ... 18 total bets.
    pub values: Vec<u32>,
    /// Of Mystery.
    pub mystery: u32,
    /// Of Multiplying, on the middle reel only.
    pub multiplying: u32,
}

/// The bought feature.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BuyData {
    /// Its price in bets.
    pub bets: u32,
    /// Its return in its price, a decimal of six places (ME-18).
    pub rtp: String,
    /// The reels of the spin that comes with it.
    pub strips: Vec<String>,
}
