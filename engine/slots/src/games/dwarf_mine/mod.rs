//! Dwarf Mine: five reels whose window grows by a row for each Bonus symbol, wins on up to 16,807 ways, free spins, and
//! crystals that are collected over rounds (rules DM-01 to DM-26).

mod cash;
pub mod data;
mod highest;
pub mod model;
pub mod moments;
pub mod paid_spin;
pub mod par;
pub mod round;

use crate::contract::carried::{Carried, Carries};
use crate::contract::game::Game;
use crate::contract::highest_win::HighestWin;
use crate::contract::info::GameInfo;
use crate::contract::par::{Par, PartName};
use crate::contract::round::{Round, Terms};
use crate::contract::rounding::{CoinFraction, Rounding};
use crate::contract::stake::{Stake, StakeRefused};
use crate::parts::collection::Collections;
use crate::parts::compiled::{Rules, RulesVersion};
use crate::parts::file::{self, ModelError};

use cash::Cash;
use model::{Model, PARTS};
use round::DwarfMineRound;

/// The rules of Dwarf Mine.
pub struct DwarfMine {
    model: Model,
    cash: Cash,
}

impl Rules for DwarfMine {
    const NAME: &'static str = "dwarf-mine";
    const VERSIONS: &'static [RulesVersion] = &[
        RulesVersion { name: "1.0", date: "2019-03-14", file: include_str!("../../../games/dwarf-mine/1.0.toml") },
        RulesVersion { name: "1.0.1", date: "2026-11-22", file: include_str!("../../../games/dwarf-mine/1.0.1.toml") },
    ];
    const PARTS: &'static [PartName] = &PARTS;
    /// An interrupted round can be replayed, or skipped to its win, for so long (DM-21). The rules don't say what becomes of
    /// one that the player left alone (decision): its free spins are played, and the win is paid.
    const INTERRUPTION_HOURS: Option<u32> = Some(24);

    fn compile(file: &str) -> Result<(Self, GameInfo), ModelError> {
        let data = file::parse(file)?;
        let model = Model::compile(&data)?;
        let info = model.info(&data);
        Ok((Self { model, cash: Cash::default() }, info))
    }

    fn check_stake(&self, stake: &Stake) -> Result<u32, StakeRefused> {
        self.model.limits.check(stake)
    }

    fn open(&'static self, stake: &Stake, terms: &Terms) -> Result<Box<dyn Round>, StakeRefused> {
        Ok(Box::new(DwarfMineRound::new(&self.model, stake, terms)?))
    }

    fn par(&self, game: &dyn Game, stake: &Stake) -> Result<Par, StakeRefused> {
        par::par(game, &self.model, stake)
    }

    fn highest_win(&self, stake: &Stake) -> Result<HighestWin, StakeRefused> {
        highest::of(&self.model, stake)
    }

    fn rounding(&self, coin: CoinFraction) -> Option<Rounding> {
        self.cash.rounding(&self.model, coin)
    }

    fn carries(&self) -> Carries {
        self.model.gift_to.carries()
    }

    fn without(&self, now: &Carried, before: &Carried, after: &Carried) -> Carried {
        let Model { needs, limits, .. } = &self.model;
        let [now, before, after] = [now, before, after].map(Collections::of);
        now.without(&before, &after, (*needs).into(), limits.coins_within()).carried()
    }
}
