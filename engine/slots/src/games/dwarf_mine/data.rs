//! Data file of Dwarf Mine, unchecked.

use serde::Deserialize;

use crate::parts::collection::GiftTo;
use crate::parts::data::{StakeData, SymbolData};

/// Placeholder in free spin strips for the super-high symbol (DM-11).
pub const SUPER_HIGH: &str = "*";

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
    /// Decimal long-run return, to four places.
    pub rtp: String,
    /// Summary of the rules.
    pub rules: String,
    /// Offered stakes.
    pub stake: StakeData,
    /// Symbols by index; crystals and super-high symbols by colour.
    pub symbols: Vec<SymbolData>,
    /// Free spins.
    pub free_spins: FreeSpinsData,
    /// Crystals.
    pub collection: CollectionData,
    /// Reels.
    pub reels: ReelsData,
    /// Added rows.
    pub expansion: ExpansionData,
}

/// Free spins.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FreeSpinsData {
    /// Number awarded.
    pub spins: u32,
}

/// Crystals.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CollectionData {
    /// Crystals that complete a collection.
    pub needs: u32,
    /// Free spins per collection.
    pub spins: u32,
    /// Red crystals for a new player.
    pub gift: u32,
    /// Scope of the gift.
    #[serde(default)]
    pub gift_to: GiftTo,
}

/// Symbol codes of each strip.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReelsData {
    /// Paid spin, four rows.
    pub base: Vec<String>,
    /// Free spins, seven rows, with [`SUPER_HIGH`].
    pub free: Vec<String>,
}

/// Added rows.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpansionData {
    /// Weights of symbols.
    pub symbols: Vec<CellData>,
    /// Weight per colour.
    pub crystal: u32,
}

/// Weighted symbol.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellData {
    /// Symbol code.
    pub code: String,
    /// Weight.
    pub weight: u32,
}
