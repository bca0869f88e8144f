//! Witch Feature: 5x4 reels, 50 fixed lines, Potions that are collected and trigger four respins, the Explosion, and
//! free spins in which the features come at random (rules WF-01 to WF-18, WF-21).
//!
//! Decisions where the rules are silent. A Potion is one cell more of its reel, drawn apart: it falls out, the cells
//! above it move down, and a new symbol enters at the top; what is evaluated is the strip's window, so wins and Potions
//! are independent (WF-05). Potions of a spin beyond the third start the next collection (WF-06). The Explosion starts
//! from the window that was just paid and pays what it shows afterwards (WF-13). In free spins all four features can
//! come, whatever is unlocked, and none of them counts as a trigger that unlocks (WF-15).

pub mod data;
mod highest;
pub mod model;
pub mod moments;
pub mod par;
pub mod potions;
pub mod round;
mod variance;

use crate::contract::carried::{Carried, CarriedScope, Carries};
use crate::contract::game::Game;
use crate::contract::highest_win::HighestWin;
use crate::contract::info::GameInfo;
use crate::contract::par::{Par, PartName};
use crate::contract::round::{Round, Terms};
use crate::contract::stake::{Stake, StakeRefused};
use crate::parts::compiled::{Rules, RulesVersion};
use crate::parts::file::{self, ModelError};

use model::{Model, PARTS};
use round::{CARRIED, WitchRound, carried, shelf};

/// The rules of Witch Feature.
pub struct WitchFeature(Model);

impl Rules for WitchFeature {
    const NAME: &'static str = "witch-feature";
    const VERSIONS: &'static [RulesVersion] = &[
        RulesVersion { name: "1.0", date: "2022-12-02", file: include_str!("../../../games/witch-feature/1.0.toml") },
        RulesVersion {
            name: "1.0.1",
            date: "2026-11-22",
            file: include_str!("../../../games/witch-feature/1.0.1.toml"),
        },
    ];
    const PARTS: &'static [PartName] = &PARTS;

    fn compile(file: &str) -> Result<(Self, GameInfo), ModelError> {
        let data = file::parse(file)?;
        let model = Model::of(&data)?;
        let info = model.info(&data, par::facts(&model));
        Ok((Self(model), info))
    }

    fn check_stake(&self, stake: &Stake) -> Result<u32, StakeRefused> {
        self.0.limits.check(stake)
    }

    fn open(&'static self, stake: &Stake, terms: &Terms) -> Result<Box<dyn Round>, StakeRefused> {
        Ok(Box::new(WitchRound::new(&self.0, stake, terms)?))
    }

    fn par(&self, game: &dyn Game, stake: &Stake) -> Result<Par, StakeRefused> {
        par::par(game, &self.0, stake)
    }

    fn highest_win(&self, stake: &Stake) -> Result<HighestWin, StakeRefused> {
        highest::of(&self.0, stake)
    }

    fn carries(&self) -> Carries {
        Carries { keys: &CARRIED, scope: CarriedScope::Bet, shared: &[] }
    }

    fn without(&self, now: &Carried, before: &Carried, after: &Carried) -> Carried {
        carried(&shelf(now).without(&shelf(before), &shelf(after)))
    }
}
