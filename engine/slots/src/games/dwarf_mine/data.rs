//! The data file of Dwarf Mine as written, before anything is checked or compiled.

use serde::Deserialize;

use crate::parts::collection::GiftTo;
use crate::parts::data::{StakeData, SymbolData};

/// Stands in the strips of free spins for the super-high symbol that Collection Free Spins add (DM-11).
pub const SUPER_HIGH: &str = "*";

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
    /// The return in the long run, a decimal that must hold to the fourth place.
    pub rtp: String,
    /// The rules in short.
    pub rules: String,
    /// Stakes offered.
    pub stake: StakeData,
    /// Symbols; their order is their index. Crystals and super-high symbols stand in the order of the colours.
    pub symbols: Vec<SymbolData>,
    /// Free spins.
    pub free_spins: FreeSpinsData,
    /// The crystals.
    pub collection: CollectionData,
    /// Reels.
    pub reels: ReelsData,
    /// The rows that a window grows by.
    pub expansion: ExpansionData,
}

/// Free spins.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FreeSpinsData {
    /// How many three Bonus symbols award.
    pub spins: u32,
}

/// The crystals.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CollectionData {
    /// Crystals of a colour that complete a collection.
    pub needs: u32,
    /// Free spins that it awards.
    pub spins: u32,
    /// Red crystals that a new player is given.
    pub gift: u32,
    /// Whom they are given to once.
    #[serde(default)]
    pub gift_to: GiftTo,
}

/// Each strip as symbol codes, from its first stop downwards; it closes to a ring.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReelsData {
    /// The paid spin's: five reels of four rows.
    pub base: Vec<String>,
    /// Free spins': five reels of seven rows, with [`SUPER_HIGH`] where Collection Free Spins add a symbol.
    pub free: Vec<String>,
}

/// The rows that a window grows by.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpansionData {
    /// Weights of the symbols that pay.
    pub symbols: Vec<CellData>,
    /// Weight of each kind of crystal.
    pub crystal: u32,
}

/// A symbol of the expanded rows.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellData {
    /// Its code.
    pub code: String,
    /// Its weight.
    pub weight: u32,
}
