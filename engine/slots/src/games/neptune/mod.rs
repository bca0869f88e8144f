//! Neptune: 5x3 reels, 1 to 15 lines, free spins that triple line wins, and treasures to pick (rules NP-01 to NP-14).

pub mod data;
mod highest;
pub mod model;
pub mod moments;
pub mod par;
pub mod round;
pub mod treasure;

use crate::contract::game::Game;
use crate::contract::highest_win::HighestWin;
use crate::contract::info::GameInfo;
use crate::contract::par::{Par, PartName};
use crate::contract::round::{Round, Terms};
use crate::contract::stake::{Stake, StakeRefused};
use crate::parts::compiled::{Rules, RulesVersion};
use crate::parts::file::{self, ModelError};

use model::{Model, PARTS};
use round::NeptuneRound;

/// The rules of Neptune.
pub struct Neptune(Model);

impl Rules for Neptune {
    const NAME: &'static str = "neptune";
    const VERSIONS: &'static [RulesVersion] = &[
        RulesVersion { name: "1.0", date: "2026-11-21", file: include_str!("../../../games/neptune/1.0.toml") },
        RulesVersion { name: "1.0.1", date: "2026-11-22", file: include_str!("../../../games/neptune/1.0.1.toml") },
    ];
    const PARTS: &'static [PartName] = &PARTS;

    fn compile(file: &str) -> Result<(Self, GameInfo), ModelError> {
        let data = file::parse(file)?;
        let model = Model::compile(file)?;
        let info = model.info(&data);
        Ok((Self(model), info))
    }

    fn check_stake(&self, stake: &Stake) -> Result<u32, StakeRefused> {
        self.0.limits.check(stake)
    }

    fn open(&'static self, stake: &Stake, terms: &Terms) -> Result<Box<dyn Round>, StakeRefused> {
        Ok(Box::new(NeptuneRound::new(&self.0, stake, terms)?))
    }

    fn par(&self, game: &dyn Game, stake: &Stake) -> Result<Par, StakeRefused> {
        par::par(game, &self.0, stake)
    }

    fn highest_win(&self, stake: &Stake) -> Result<HighestWin, StakeRefused> {
        highest::of(&self.0, stake)
    }
}
