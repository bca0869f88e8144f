//! Witch Feature (WF-01 to WF-18, WF-21): 50 lines, Potions that trigger four kinds of respins, the Explosion, and
//! free spins with random features.
//!
//! Decisions where the rules are silent: A Potion is an additional cell that leaves the window before evaluation, so wins
//! and Potions are independent (WF-05). If a spin shows more Potions than the combination needs, the remaining Potions count
//! for the next combination (WF-06). The Explosion changes the window of the paid spin (WF-13). In free spins every feature
//! is possible, even if locked, and starting a feature does not unlock the next (WF-15).

pub mod data;
mod highest;
pub mod model;
pub mod moments;
pub mod par;
pub mod potions;
pub mod round;
mod states;
mod unlocking;
pub mod variance;

use std::sync::OnceLock;

use crate::contract::carried::{Carried, CarriedScope, Carries};
use crate::contract::game::{Edition, Game, RulesVersion};
use crate::contract::highest_win::HighestWin;
use crate::contract::info::Fact;
use crate::contract::most_expected::MostExpected;
use crate::contract::nature::{Feature, Nature, Sign, Source};
use crate::contract::outcome::SpinKind;
use crate::contract::par::{Exact, Par};
use crate::contract::round::{Round, Terms};
use crate::contract::stake::{Stake, StakeRefused};
use crate::parts::file::{ModelError, parse};

use model::{Model, PARTS};
use moments::Means;
use round::{CARRIED, WitchRound, carried, shelf};
use unlocking::Chain;

pub const NAME: &str = "witch-feature";
pub const VERSIONS: [RulesVersion; 2] = [
    RulesVersion { name: "1.0", date: "2022-12-02", file: include_str!("../../../golden/witch-feature/1.0.toml") },
    RulesVersion { name: "1.0.1", date: "2026-11-22", file: include_str!("../../../golden/witch-feature/1.0.1.toml") },
];
const FEATURES: [Feature; 6] = [
    Feature::collected("high_symbols", "High Symbols Respin", Sign::Window(SpinKind::HighSymbols)),
    Feature::collected("random_wilds", "Random Wilds Respin", Sign::Window(SpinKind::RandomWilds)),
    Feature::collected("multiplier", "Multiplier", Sign::Window(SpinKind::MultiplierRespin)),
    Feature::collected("mega_wild", "Mega Wild Respin", Sign::Window(SpinKind::MegaWild)),
    Feature::collected("explosion", "Explosion", Sign::Window(SpinKind::Explosion)),
    Feature::cash("free_spins_trigger", "Free spins", Sign::FreeSpins),
];

#[derive(Debug)]
pub struct WitchFeature {
    edition: Edition,
    model: Model,
    means: OnceLock<Means>,
}

impl WitchFeature {
    pub fn new(version: &'static RulesVersion) -> Result<Self, ModelError> {
        let data = parse(version.file)?;
        let model = Model::new(&data)?;
        Ok(Self {
            edition: Edition::new(NAME, version, &PARTS, &FEATURES, model.info(&data)),
            model,
            means: OnceLock::new(),
        })
    }

    fn means(&self) -> &Means {
        self.means.get_or_init(|| Means::new(&self.model))
    }
}

impl Game for WitchFeature {
    fn edition(&self) -> &Edition {
        &self.edition
    }

    fn nature(&self, source: Source) -> Nature {
        use SpinKind::{Explosion, HighSymbols, MegaWild, MultiplierRespin, RandomWilds};
        match source {
            Source::Window {
                kind: HighSymbols | RandomWilds | MultiplierRespin | MegaWild | Explosion,
                in_free_spins: false,
            } => Nature::Collected,
            _ => Nature::Cash,
        }
    }

    fn state(&self, carried: &Carried) -> u16 {
        states::number(&shelf(carried))
    }

    fn chances_in(&self, state: u16) -> Vec<(&'static str, Exact)> {
        states::chances(&self.model, state)
    }

    fn open(&'static self, stake: &Stake, terms: &Terms) -> Result<Box<dyn Round>, StakeRefused> {
        Ok(Box::new(WitchRound::new(&self.model, stake, terms)?))
    }

    fn par(&self, stake: &Stake) -> Result<Par, StakeRefused> {
        par::par(self, (&self.model, self.means()), stake)
    }

    fn highest_win(&self, stake: &Stake) -> Result<HighestWin, StakeRefused> {
        highest::win(&self.model, self.means(), stake)
    }

    fn most_expected(&self, _: &Exact) -> MostExpected {
        MostExpected::of_return(Chain::new(&self.model, self.means()).most_expected())
    }

    fn facts(&self) -> Vec<Fact> {
        par::facts(&self.model, self.means())
    }

    fn carries(&self) -> Carries {
        Carries { keys: &CARRIED, scope: CarriedScope::Bet, shared: &[] }
    }

    fn without(&self, now: &Carried, before: &Carried, after: &Carried) -> Carried {
        carried(&shelf(now).without(&shelf(before), &shelf(after)))
    }
}
