use serde::Deserialize;

use crate::parts::data::{LinesData, ReelsData, game_data};
use crate::parts::picks::PicksData;

game_data! {
    lines: LinesData,
    reels: ReelsData,
    treasure: PicksData,
    free_spins: FreeSpinsData,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FreeSpinsData {
    pub multiplier: u32,
}
