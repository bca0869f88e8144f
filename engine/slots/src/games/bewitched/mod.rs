//! Bewitched (BW-01 to BW-24): 15 lines, a bonus wheel with a progressive jackpot, free spins, a gamble.

pub mod data;
mod highest;
pub mod model;
pub mod moments;
pub mod par;
pub mod round;

use crate::contract::game::{Edition, Game, RulesVersion};
use crate::contract::highest_win::HighestWin;
use crate::contract::nature::{Feature, Sign};
use crate::contract::par::Par;
use crate::contract::round::{Round, Terms};
use crate::contract::stake::{Stake, StakeRefused};
use crate::parts::file::{ModelError, parse};

use model::{Model, PARTS};
use round::BewitchedRound;

pub const NAME: &str = "bewitched";
pub const VERSIONS: [RulesVersion; 2] = [
    RulesVersion { name: "1.6", date: "2016-04-21", file: include_str!("../../../golden/bewitched/1.6.toml") },
    RulesVersion { name: "1.6.1", date: "2026-11-22", file: include_str!("../../../golden/bewitched/1.6.1.toml") },
];
const FEATURES: [Feature; 2] = [
    Feature::cash("bonus", "Bonus", Sign::Bonus),
    Feature::cash("scatter_free_spins", "Free spins started by scatters", Sign::FreeSpins),
];

#[derive(Debug)]
pub struct Bewitched {
    edition: Edition,
    model: Model,
}

impl Bewitched {
    pub fn new(version: &'static RulesVersion) -> Result<Self, ModelError> {
        let data = parse(version.file)?;
        let model = Model::new(&data)?;
        par::prove(&model)?;
        Ok(Self { edition: Edition::new(NAME, version, &PARTS, &FEATURES, model.info(&data)), model })
    }
}

impl Game for Bewitched {
    fn edition(&self) -> &Edition {
        &self.edition
    }

    fn open(&'static self, stake: &Stake, terms: &Terms) -> Result<Box<dyn Round>, StakeRefused> {
        Ok(Box::new(BewitchedRound::new(&self.model, stake, terms)?))
    }

    fn par(&self, stake: &Stake) -> Result<Par, StakeRefused> {
        par::par(self, &self.model, stake)
    }

    fn highest_win(&self, stake: &Stake) -> Result<HighestWin, StakeRefused> {
        highest::win(&self.model, stake)
    }
}
