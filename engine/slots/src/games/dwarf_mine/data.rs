//! Data file of Dwarf Mine as written, unchecked.

use serde::Deserialize;

use crate::parts::collection::GiftTo;
use crate::parts::data::{StakeData, SymbolData};

/// Placeholder in free spin strips for the super-high symbol of Collection Free Spins (DM-11).
pub const SUPER_HIGH: &str = "*";

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
    /// Long-run return, a decimal that must hold to four places.
    pub rtp: String,
    /// Summary of the rules.
    pub rules: String,
    /// Stakes offered.
    pub stake: StakeData,
    /// Symbols in index order; crystals and super-high symbols in the order of the colours.
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
    /// Number awarded by three Bonus symbols.
    pub spins: u32,
}

/// Crystals.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CollectionData {
    /// Crystals of a colour that complete a collection.
    pub needs: u32,
    /// Free spins per collection.
    pub spins: u32,
    /// Red crystals given to a new player.
    pub gift: u32,
    /// Scope of the gift.
    #[serde(default)]
    pub gift_to: GiftTo,
}

/// Symbol codes of each strip, from its first stop downwards, as a ring.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReelsData {
    /// Paid spin: five reels of four rows.
    pub base: Vec<String>,
    /// Free spins: five reels of seven rows, with [`SUPER_HIGH`] placeholders.
    pub free: Vec<String>,
}

/// Added rows.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpansionData {
    /// Weights of paying symbols.
    pub symbols: Vec<CellData>,
    /// Weight per crystal colour.
    pub crystal: u32,
}

/// Weighted symbol of the added rows.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellData {
    /// Symbol code.
    pub code: String,
    /// Weight.
    pub weight: u32,
}
