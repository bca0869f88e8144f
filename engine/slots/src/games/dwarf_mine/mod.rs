//! Dwarf Mine (DM-01 to DM-26): added rows of symbols, free spins, and crystals collected over many rounds.

mod cash;
pub mod data;
mod highest;
pub mod model;
pub mod moments;
mod new_player;
pub mod paid_spin;
pub mod par;
pub mod round;

use std::sync::{Arc, OnceLock};

use crate::contract::carried::{Carried, Carries};
use crate::contract::game::{Edition, Game, RulesVersion};
use crate::contract::highest_win::HighestWin;
use crate::contract::info::Fact;
use crate::contract::most_expected::MostExpected;
use crate::contract::nature::{Feature, Nature, Sign, Source};
use crate::contract::outcome::SpinKind;
use crate::contract::par::{Exact, Par, exact};
use crate::contract::round::{Round, Terms};
use crate::contract::rounding::{CoinFraction, Rounding};
use crate::contract::stake::{Stake, StakeRefused};
use crate::parts::collection::Collections;
use crate::parts::expansion::CRYSTALS;
use crate::parts::file::{ModelError, parse};

use cash::Cash;
use model::{Model, PARTS};
use moments::{Moments, Returns};
use round::DwarfMineRound;

pub const NAME: &str = "dwarf-mine";
pub const VERSIONS: [RulesVersion; 2] = [
    RulesVersion { name: "1.0", date: "2019-03-14", file: include_str!("../../../golden/dwarf-mine/1.0.toml") },
    RulesVersion { name: "1.0.1", date: "2026-11-22", file: include_str!("../../../golden/dwarf-mine/1.0.1.toml") },
];
const FEATURES: [Feature; 3] = [
    Feature::cash("free_spins", "Free spins", Sign::FreeSpinsAtRows(7)),
    Feature::cash("five_rows", "Five rows", Sign::Rows(5)),
    Feature::cash("six_rows", "Six rows", Sign::Rows(6)),
];

#[derive(Debug)]
pub struct DwarfMine {
    edition: Edition,
    model: Model,
    cash: Cash,
    moments: OnceLock<Arc<Moments>>,
}

impl DwarfMine {
    pub fn new(version: &'static RulesVersion) -> Result<Self, ModelError> {
        let data = parse(version.file)?;
        let model = Model::new(&data)?;
        Ok(Self {
            edition: Edition::new(NAME, version, &PARTS, &FEATURES, model.info(&data)),
            cash: Cash::default(),
            moments: OnceLock::new(),
            model,
        })
    }

    fn returns(&self) -> Returns<'_> {
        Returns::from_moments(&self.model, self.moments.get_or_init(|| Arc::new(Moments::new(&self.model))))
    }
}

impl Game for DwarfMine {
    fn edition(&self) -> &Edition {
        &self.edition
    }

    fn nature(&self, source: Source) -> Nature {
        match source {
            Source::Window { kind: SpinKind::Collection(_), .. } => Nature::Collected,
            _ => Nature::Cash,
        }
    }

    fn open(&'static self, stake: &Stake, terms: &Terms) -> Result<Box<dyn Round>, StakeRefused> {
        Ok(Box::new(DwarfMineRound::new(&self.model, stake, terms)?))
    }

    fn par(&self, stake: &Stake) -> Result<Par, StakeRefused> {
        par::par(self, &self.returns(), stake)
    }

    fn highest_win(&self, stake: &Stake) -> Result<HighestWin, StakeRefused> {
        highest::win(&self.returns(), stake)
    }

    fn most_expected(&self, _: &Exact) -> MostExpected {
        let (needs, spins) = (self.model.needs, self.model.collection_spins);
        let returns = self.returns();
        let windows = returns.paid.crystal() * exact(CRYSTALS) * exact(spins);
        let collected = returns.collections() * exact(needs);
        let own = returns.base() + returns.free_spins();
        MostExpected { own, collected, collected_windows: windows, earlier: needs - 1 }
    }

    fn facts(&self) -> Vec<Fact> {
        self.model.facts()
    }

    fn rounding(&self, coin: CoinFraction) -> Option<Rounding> {
        self.cash.rounding(&self.model, || self.returns(), coin)
    }

    fn carries(&self) -> Carries {
        self.model.gift_to.carries()
    }

    fn without(&self, now: &Carried, before: &Carried, after: &Carried) -> Carried {
        let Model { needs, limits, .. } = &self.model;
        let [now, before, after] = [now, before, after].map(Collections::from_carried);
        now.without(&before, &after, (*needs).into(), limits.coins_within()).carried()
    }

    fn interruption_hours(&self) -> Option<u32> {
        Some(24)
    }
}
