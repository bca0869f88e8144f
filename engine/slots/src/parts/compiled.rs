//! A game compiled from its data file. What all games have in common as a [`Game`] is written here, once.

use sha2::{Digest, Sha256};

use crate::contract::carried::{Carried, Carries};
use crate::contract::game::Game;
use crate::contract::highest_win::HighestWin;
use crate::contract::info::GameInfo;
use crate::contract::par::{Par, PartName};
use crate::contract::round::{Round, Terms};
use crate::contract::rounding::{CoinFraction, Rounding};
use crate::contract::stake::{Stake, StakeRefused};
use crate::parts::file::ModelError;

/// A rules version of a game, and the whole of its data file. Its SHA-256 is in logs: a file that was played never changes.
///
/// All versions of a game are built by its one module. What differs between them is said by their files; a part that an
/// older file doesn't name is as it was then (PL-01).
#[derive(Clone, Copy, Debug)]
pub struct RulesVersion {
    /// The version, such as `1.6`.
    pub name: &'static str,
    /// The date of the rules, ISO 8601.
    pub date: &'static str,
    /// The data file.
    pub file: &'static str,
}

/// The rules of one game, compiled from one of its data files. [`Compiled`] makes a [`Game`] of them; methods of the same
/// name promise the same.
pub trait Rules: Sized + Send + Sync + 'static {
    /// The game's name in requests and in the log, such as `bewitched`.
    const NAME: &'static str;
    /// Every rules version, oldest first.
    const VERSIONS: &'static [RulesVersion];
    /// As [`Game::parts`].
    const PARTS: &'static [PartName];
    /// As [`Game::interruption_hours`].
    const INTERRUPTION_HOURS: Option<u32> = None;

    /// Compiles a data file, and describes the game to players and operators.
    ///
    /// # Errors
    /// The first part of the file that's wrong, then a promise that it doesn't keep.
    fn compile(file: &str) -> Result<(Self, GameInfo), ModelError>;

    /// As [`Game::check_stake`].
    ///
    /// # Errors
    /// The first fault of the stake.
    fn check_stake(&self, stake: &Stake) -> Result<u32, StakeRefused>;

    /// As [`Game::open`].
    ///
    /// # Errors
    /// The first fault of the stake.
    fn open(&'static self, stake: &Stake, terms: &Terms) -> Result<Box<dyn Round>, StakeRefused>;

    /// As [`Game::par`], of the game that is named on the sheet.
    ///
    /// # Errors
    /// The first fault of the stake.
    fn par(&self, game: &dyn Game, stake: &Stake) -> Result<Par, StakeRefused>;

    /// As [`Game::highest_win`].
    ///
    /// # Errors
    /// The first fault of the stake.
    fn highest_win(&self, stake: &Stake) -> Result<HighestWin, StakeRefused>;

    /// As [`Game::rounding`].
    fn rounding(&self, _coin: CoinFraction) -> Option<Rounding> {
        None
    }

    /// As [`Game::carries`].
    fn carries(&self) -> Carries {
        Carries::NOTHING
    }

    /// As [`Game::special_win`].
    fn special_win(&self, _bets: u32) -> Option<&str> {
        None
    }

    /// As [`Game::without`].
    fn without(&self, now: &Carried, before: &Carried, after: &Carried) -> Carried {
        now.without(before, after)
    }
}

/// A rules version of a game, ready to be played.
pub struct Compiled<R> {
    version: &'static RulesVersion,
    rules: R,
    info: GameInfo,
    hash: [u8; 32],
}

impl<R: Rules> Compiled<R> {
    /// Compiles the data file of a rules version.
    ///
    /// # Errors
    /// The file isn't a game, or doesn't keep its promise.
    pub fn new(version: &'static RulesVersion) -> Result<Self, ModelError> {
        let (rules, info) = R::compile(version.file)?;
        Ok(Self { version, rules, info, hash: Sha256::digest(version.file).into() })
    }
}

/// Every rules version of a game, oldest first. They stay in memory until the program ends: call it once.
#[must_use]
pub fn versions<R: Rules>() -> Vec<&'static dyn Game> {
    let compile = |version| -> &'static dyn Game {
        let game = Compiled::<R>::new(version).expect("the embedded data file is a game: a test loads it");
        Box::leak(Box::new(game))
    };
    R::VERSIONS.iter().map(compile).collect()
}

impl<R: Rules> Game for Compiled<R> {
    fn name(&self) -> &'static str {
        R::NAME
    }

    fn rules_version(&self) -> &'static str {
        self.version.name
    }

    fn rules_date(&self) -> &'static str {
        self.version.date
    }

    fn model_hash(&self) -> [u8; 32] {
        self.hash
    }

    fn info(&self) -> &GameInfo {
        &self.info
    }

    fn check_stake(&self, stake: &Stake) -> Result<u32, StakeRefused> {
        self.rules.check_stake(stake)
    }

    fn open(&'static self, stake: &Stake, terms: &Terms) -> Result<Box<dyn Round>, StakeRefused> {
        self.rules.open(stake, terms)
    }

    fn par(&self, stake: &Stake) -> Result<Par, StakeRefused> {
        self.rules.par(self, stake)
    }

    fn highest_win(&self, stake: &Stake) -> Result<HighestWin, StakeRefused> {
        self.rules.highest_win(stake)
    }

    fn parts(&self) -> &'static [PartName] {
        R::PARTS
    }

    fn rounding(&self, coin: CoinFraction) -> Option<Rounding> {
        self.rules.rounding(coin)
    }

    fn carries(&self) -> Carries {
        self.rules.carries()
    }

    fn special_win(&self, bets: u32) -> Option<&str> {
        self.rules.special_win(bets)
    }

    fn interruption_hours(&self) -> Option<u32> {
        R::INTERRUPTION_HOURS
    }

    fn without(&self, now: &Carried, before: &Carried, after: &Carried) -> Carried {
        self.rules.without(now, before, after)
    }
}
