use serde::Deserialize;

use crate::parts::data::{LinesData, ReelsData, WheelData, game_data};

game_data! {
    lines: LinesData,
    reels: ReelsData,
    wheel: WheelData,
    jackpot: JackpotData,
    bonus: BonusData,
    free_spins: FreeSpinsData,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JackpotData {
    pub odds: u64,
    pub seed_coins: u64,
    pub contribution: String,
    pub base_coin_value: String,
    #[serde(default)]
    pub rtp_span: Option<(String, String)>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BonusData {
    pub needs: u8,
    pub vials: u8,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FreeSpinsData {
    pub multiplier: u32,
}
