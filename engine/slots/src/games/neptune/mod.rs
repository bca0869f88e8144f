//! Neptune (NP-01 to NP-14): 15 lines, free spins with tripled line wins, and picked treasures.

pub mod data;
mod highest;
pub mod model;
pub mod moments;
pub mod par;
pub mod round;
pub mod treasure;

use crate::contract::game::{Edition, Game, RulesVersion};
use crate::contract::highest_win::HighestWin;
use crate::contract::info::Fact;
use crate::contract::nature::{Feature, Sign};
use crate::contract::par::Par;
use crate::contract::round::{Round, Terms};
use crate::contract::stake::{Stake, StakeRefused};
use crate::parts::file::{ModelError, parse};

use model::{Model, PARTS};
use round::NeptuneRound;

pub const NAME: &str = "neptune";
pub const VERSIONS: [RulesVersion; 2] = [
    RulesVersion { name: "1.0", date: "2026-11-21", file: include_str!("../../../golden/neptune/1.0.toml") },
    RulesVersion { name: "1.0.1", date: "2026-11-22", file: include_str!("../../../golden/neptune/1.0.1.toml") },
];
const FEATURES: [Feature; 2] =
    [Feature::cash("treasure", "Treasure", Sign::Bonus), Feature::cash("free_spins", "Free spins", Sign::FreeSpins)];

#[derive(Debug)]
pub struct Neptune {
    edition: Edition,
    model: Model,
}

impl Neptune {
    pub fn new(version: &'static RulesVersion) -> Result<Self, ModelError> {
        let data = parse(version.file)?;
        let model = Model::new(&data)?;
        par::prove(&model)?;
        Ok(Self { edition: Edition::new(NAME, version, &PARTS, &FEATURES, model.info(&data)), model })
    }
}

impl Game for Neptune {
    fn edition(&self) -> &Edition {
        &self.edition
    }

    fn open(&'static self, stake: &Stake, terms: &Terms) -> Result<Box<dyn Round>, StakeRefused> {
        Ok(Box::new(NeptuneRound::new(&self.model, stake, terms)?))
    }

    fn par(&self, stake: &Stake) -> Result<Par, StakeRefused> {
        par::par(self, &self.model, stake)
    }

    fn highest_win(&self, stake: &Stake) -> Result<HighestWin, StakeRefused> {
        highest::win(&self.model, stake)
    }

    fn facts(&self) -> Vec<Fact> {
        self.model.facts()
    }
}
