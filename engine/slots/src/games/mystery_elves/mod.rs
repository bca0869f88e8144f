//! Mystery Elves (ME-01 to ME-22): 10 lines, a Hold and Win feature that can be bought, and a gamble on a card's colour.

pub mod data;
mod highest;
pub mod model;
pub mod moments;
pub mod par;
pub mod round;

use crate::contract::game::{Edition, Game, RulesVersion};
use crate::contract::highest_win::HighestWin;
use crate::contract::info::Fact;
use crate::contract::nature::{Feature, Sign};
use crate::contract::par::Par;
use crate::contract::round::{Round, Terms};
use crate::contract::stake::{Stake, StakeRefused};
use crate::parts::file::{ModelError, parse};

use model::{Model, PARTS};
use round::MysteryElvesRound;

pub const NAME: &str = "mystery-elves";
pub const VERSIONS: [RulesVersion; 2] = [
    RulesVersion { name: "1.0", date: "2025-09-11", file: include_str!("../../../golden/mystery-elves/1.0.toml") },
    RulesVersion { name: "1.0.1", date: "2026-11-22", file: include_str!("../../../golden/mystery-elves/1.0.1.toml") },
];
const FEATURES: [Feature; 1] = [Feature::cash("hold_and_win", "Hold and Win", Sign::Bonus)];

#[derive(Debug)]
pub struct MysteryElves {
    edition: Edition,
    model: Model,
}

impl MysteryElves {
    pub fn new(version: &'static RulesVersion) -> Result<Self, ModelError> {
        let data = parse(version.file)?;
        let model = Model::new(&data)?;
        Ok(Self { edition: Edition::new(NAME, version, &PARTS, &FEATURES, model.info(&data)), model })
    }
}

impl Game for MysteryElves {
    fn edition(&self) -> &Edition {
        &self.edition
    }

    fn check_stake(&self, stake: &Stake) -> Result<u32, StakeRefused> {
        Ok(self.model.check(stake)?.1)
    }

    fn open(&'static self, stake: &Stake, terms: &Terms) -> Result<Box<dyn Round>, StakeRefused> {
        Ok(Box::new(MysteryElvesRound::new(&self.model, stake, terms)?))
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

    fn interruption_hours(&self) -> Option<u32> {
        Some(120)
    }
}
