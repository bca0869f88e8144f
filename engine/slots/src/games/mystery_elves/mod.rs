//! Mystery Elves: 5x3 reels, 10 fixed lines, Hold and Win with Mystery and Multiplying Bonus symbols, the feature for
//! sale, and the gamble on a colour (rules ME-01 to ME-22).

pub mod data;
mod highest;
pub mod model;
pub mod moments;
pub mod par;
pub mod round;

use crate::contract::game::Game;
use crate::contract::highest_win::HighestWin;
use crate::contract::info::GameInfo;
use crate::contract::par::{Par, PartName};
use crate::contract::round::{Round, Terms};
use crate::contract::stake::{Stake, StakeRefused};
use crate::parts::compiled::{Rules, RulesVersion};
use crate::parts::file::{self, ModelError};

use model::{Model, PARTS};
use round::MysteryElvesRound;

/// The rules of Mystery Elves.
pub struct MysteryElves(Model);

impl Rules for MysteryElves {
    const NAME: &'static str = "mystery-elves";
    const VERSIONS: &'static [RulesVersion] = &[
        RulesVersion { name: "1.0", date: "2025-09-11", file: include_str!("../../../games/mystery-elves/1.0.toml") },
        RulesVersion {
            name: "1.0.1",
            date: "2026-11-22",
            file: include_str!("../../../games/mystery-elves/1.0.1.toml"),
        },
    ];
    const PARTS: &'static [PartName] = &PARTS;
    /// An incomplete game is resolved after so long, and its winnings are paid (ME-20).
    const INTERRUPTION_HOURS: Option<u32> = Some(120);

    fn compile(file: &str) -> Result<(Self, GameInfo), ModelError> {
        let data = file::parse(file)?;
        let model = Model::of(&data)?;
        let info = model.info(&data);
        Ok((Self(model), info))
    }

    fn check_stake(&self, stake: &Stake) -> Result<u32, StakeRefused> {
        Ok(self.0.check(stake)?.1)
    }

    fn open(&'static self, stake: &Stake, terms: &Terms) -> Result<Box<dyn Round>, StakeRefused> {
        Ok(Box::new(MysteryElvesRound::new(&self.0, stake, terms)?))
    }

    fn par(&self, game: &dyn Game, stake: &Stake) -> Result<Par, StakeRefused> {
        par::par(game, &self.0, stake)
    }

    fn highest_win(&self, stake: &Stake) -> Result<HighestWin, StakeRefused> {
        highest::of(&self.0, stake)
    }

    fn special_win(&self, bets: u32) -> Option<&str> {
        self.0.specials.iter().find(|(of, _)| *of == bets).map(|(_, name)| name.as_str())
    }
}
