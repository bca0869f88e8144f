use serde::Deserialize;

use crate::parts::collection::GiftTo;
use crate::parts::data::game_data;

/// Placeholder for the super-high symbol (DM-11).
pub const SUPER_HIGH: &str = "*";

game_data! {
    free_spins: FreeSpinsData,
    collection: CollectionData,
    reels: ReelsData,
    expansion: ExpansionData,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FreeSpinsData {
    pub spins: u32,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CollectionData {
    pub needs: u32,
    pub spins: u32,
    pub gift: u32,
    #[serde(default)]
    pub gift_to: GiftTo,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReelsData {
    pub base: Vec<String>,
    /// With [`SUPER_HIGH`].
    pub free: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpansionData {
    pub symbols: Vec<CellData>,
    /// Per colour.
    pub crystal: u32,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellData {
    pub code: String,
    pub weight: u32,
}
