use super::data::GameData;
use crate::contract::info::{Fact, GameInfo, SymbolInfo, SymbolRole, ValueSet};
use crate::contract::par::PartName;
use crate::contract::stake::StakeLimits;
use crate::parts::data;
use crate::parts::file::{self, ModelError};
use crate::parts::picks::{LineRuns, MaxOf, NEEDS, Objects};
use crate::parts::reels::Reels;
use crate::parts::scatters::Scatters;
use crate::parts::windows::Windows;

pub(super) const BASE_LINES: usize = 0;
pub(super) const SCATTER: usize = 1;
pub(super) const TREASURE: usize = 2;
pub(super) const FREE_SPINS: usize = 3;
pub(super) const PARTS: [PartName; 4] = [
    PartName::cash("base_lines", "line wins of the paid spin"),
    PartName::cash("scatter", "scatter wins of the paid spin"),
    PartName::cash("treasure", "treasures of the paid spin"),
    PartName::cash("free_spins", "all wins in free spins, including their treasures"),
];

const ROWS: usize = 3;
const REELS_MOST: u8 = 5;
const MULTIPLIER_MAX: u32 = 100;

#[derive(Clone, Debug)]
pub struct Model {
    pub windows: Windows,
    pub treasure: u8,
    pub treasures: LineRuns,
    pub objects: Objects,
    pub max_of: MaxOf,
    pub multiplier: u32,
    pub limits: StakeLimits,
    pub symbols: Vec<SymbolInfo>,
    pub rtp_micros: u64,
}

impl Model {
    /// Compiles a data file without checking its published return.
    pub fn new(data: &GameData) -> Result<Self, ModelError> {
        let reels = Reels::new(&data::strips(&data.symbols, &data.reels.strips)?, ROWS)?;
        let lines = data::lines(&reels, &data.symbols, &data.lines)?;
        let limits = data::limits(&data.stake, lines.rows().len())?;
        if !(1..=MULTIPLIER_MAX).contains(&data.free_spins.multiplier) {
            return Err(ModelError::part("free_spins", "the multiplier must be 1 to 100"));
        }
        let treasure = data::only(&data.symbols, SymbolRole::Bonus)?;
        let treasures = LineRuns::new(&reels, lines.rows(), treasure);
        let objects = Objects::new(&data.treasure)?;
        let most = treasures.picks_max().saturating_mul(objects.highest());
        if data.treasure.max_coins_of == MaxOf::Spin && most > objects.max_coins() {
            return Err(ModelError::part("treasure", "the treasures of one spin can exceed the maximum win"));
        }
        let scatters = Scatters::new(&data.symbols, &reels)?;
        Ok(Self {
            windows: Windows { scatters, ..Windows::of_lines(reels, lines)? },
            treasure,
            treasures,
            objects,
            max_of: data.treasure.max_coins_of,
            multiplier: data.free_spins.multiplier,
            limits,
            symbols: data::symbol_infos(&data.symbols, &[]),
            rtp_micros: file::micros("rtp", &data.rtp)?,
        })
    }

    #[must_use]
    pub fn info(&self, data: &GameData) -> GameInfo {
        GameInfo {
            rows: 3,
            paytable: self.windows.paytable(&self.symbols, NEEDS),
            lines: self.windows.lines.rows().iter().map(|rows| rows.to_vec()).collect(),
            rows_max: 3,
            picks_of: self.objects.count(),
            bonus_on_line: true,
            picks: (NEEDS, REELS_MOST),
            free_spin_multiplier: self.multiplier,
            values: vec![ValueSet {
                key: "treasure",
                title: "amount of a picked treasure, in coins per coin bet on its line",
                values: self.objects.amounts().iter().map(|(coins, _)| *coins).collect(),
            }],
            ..data.info(&self.symbols, &self.limits)
        }
    }

    pub(crate) fn facts(&self) -> Vec<Fact> {
        vec![Fact {
            key: "treasure_max_coins",
            title: match self.max_of {
                MaxOf::Line => "highest win of one Treasure bonus, in coins per coin bet on its line",
                MaxOf::Spin => "highest win of all Treasure picks of one spin, in coins per coin bet on a line",
            },
            value: self.objects.max_coins().to_string(),
        }]
    }
}
