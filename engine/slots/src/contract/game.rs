//! The contract between games and those who play, describe or audit them.

use sha2::{Digest, Sha256};

use crate::contract::carried::{Carried, Carries};
use crate::contract::highest_win::HighestWin;
use crate::contract::info::{Fact, GameInfo};
use crate::contract::most_expected::MostExpected;
use crate::contract::nature::{Feature, Nature, Source};
use crate::contract::par::{Exact, Par, PartName};
use crate::contract::round::{Round, Terms};
use crate::contract::rounding::{CoinFraction, Rounding};
use crate::contract::stake::{Stake, StakeRefused};

/// One version of a game's rules, and its data file.
///
/// The SHA-256 of the file is in logs: a file that was played never changes. One module builds all versions of a game.
/// Their files say what differs between them; a part that an older file doesn't name is as it was then (PL-01).
#[derive(Clone, Copy, Debug)]
pub struct RulesVersion {
    /// The version, such as `1.6`.
    pub name: &'static str,
    /// The date of the rules, ISO 8601.
    pub date: &'static str,
    /// The data file.
    pub file: &'static str,
}

/// A rules version as it's announced: the same kind of facts for every game.
#[derive(Debug)]
pub struct Edition {
    name: &'static str,
    rules: &'static RulesVersion,
    model_hash: [u8; 32],
    parts: &'static [PartName],
    info: GameInfo,
}

impl Edition {
    /// A rules version of the game of this name, with the parts of its return and its description.
    #[must_use]
    pub fn new(name: &'static str, rules: &'static RulesVersion, parts: &'static [PartName], info: GameInfo) -> Self {
        Self { name, rules, model_hash: Sha256::digest(rules.file).into(), parts, info }
    }
}

/// One version of one game.
pub trait Game: Sync + Send {
    /// Its names, its parts and its description: the methods below read them.
    fn edition(&self) -> &Edition;
    /// Opens a round, which awaits [`crate::Choice::Spin`].
    ///
    /// # Errors
    /// The first fault of the stake.
    fn open(&'static self, stake: &Stake, terms: &Terms) -> Result<Box<dyn Round>, StakeRefused>;
    /// The exact mathematics of the game at a stake. Costs tens of milliseconds: cache it.
    ///
    /// # Errors
    /// The first fault of the stake.
    fn par(&self, stake: &Stake) -> Result<Par, StakeRefused>;
    /// The highest win of a round at a stake (WF-04). Costs up to seconds: cache it.
    ///
    /// # Errors
    /// The first fault of the stake.
    fn highest_win(&self, stake: &Stake) -> Result<HighestWin, StakeRefused>;

    /// The most that a round returns on average, over all that its player can carry into it (PL-36, PL-43). Costs as
    /// much as [`Game::par`].
    ///
    /// # Errors
    /// The first fault of the stake.
    fn most_expected(&self, stake: &Stake) -> Result<MostExpected, StakeRefused> {
        self.par(stake).map(|par| MostExpected::of_return(par.rtp_without_jackpot))
    }

    /// The game's name in requests and in the log: lower case, words joined by hyphens.
    fn name(&self) -> &'static str {
        self.edition().name
    }
    /// The version of its rules, such as `1.6`.
    fn rules_version(&self) -> &'static str {
        self.edition().rules.name
    }
    /// The date of those rules, ISO 8601.
    fn rules_date(&self) -> &'static str {
        self.edition().rules.date
    }
    /// The data file, in TOML.
    fn data_file(&self) -> &'static str {
        self.edition().rules.file
    }
    /// SHA-256 of the bytes of its data file.
    fn model_hash(&self) -> [u8; 32] {
        self.edition().model_hash
    }
    /// The description for players and operators (PL-13).
    fn info(&self) -> &GameInfo {
        &self.edition().info
    }
    /// Other figures that the description must state, such as the highest win and its chance (WF-04, ME-21). Costs up to tens of
    /// milliseconds, as [`Game::par`] does: who only plays has no need of them.
    fn facts(&self) -> Vec<Fact> {
        vec![]
    }
    /// The parts of the return that the game itself pays, in the order of [`crate::Outcome::part_coins`]; at most
    /// [`crate::contract::outcome::PARTS_MAX`]. [`Par::parts`] starts with the same.
    fn parts(&self) -> &'static [PartName] {
        self.edition().parts
    }
    /// The features of a paid spin whose frequency reports show, at most [`crate::FEATURES_MAX`].
    fn features(&self) -> &'static [Feature] {
        &[]
    }
    /// The nature of a win, by its source in a step's record.
    fn nature(&self, _source: Source) -> Nature {
        Nature::Cash
    }
    /// The class of the figures that a player carries into a round, as far as chances of features depend on them: a small
    /// number of classes.
    fn state(&self, _carried: &Carried) -> u16 {
        0
    }
    /// The chances of collected features in the next paid spin of a player in a state, by key. Features that it leaves out have
    /// the rate of their key in [`Par::rates`].
    fn chances_in(&self, _state: u16) -> Vec<(&'static str, Exact)> {
        vec![]
    }
    /// The coins that the stake costs in all.
    ///
    /// # Errors
    /// The first fault of the stake.
    fn check_stake(&self, stake: &Stake) -> Result<u32, StakeRefused> {
        self.info().limits.check(stake)
    }
    /// The name of a special win of so many total bets, such as GRAND (ME-05); `None` where the game has no such.
    fn special_win(&self, bets: u32) -> Option<&str> {
        self.info().specials.iter().find(|of| of.bets == bets).map(|of| of.name.as_str())
    }
    /// The effect of rounding on the return in cash at a coin value (DM-17); `None` where the rules don't say how wins
    /// are rounded.
    fn rounding(&self, _coin: CoinFraction) -> Option<Rounding> {
        None
    }
    /// The progressive jackpot that its bets add to and can win: the pool of its own name. `None` in games without one.
    fn pool(&self) -> Option<&'static str> {
        self.info().jackpot.then(|| self.name())
    }
    /// The limit of the gamble in whole EUR (ME-14), at any rules version: rounds are logged with its worth in their
    /// currency, and what it's on is the version's to say.
    fn gamble_max_eur(&self) -> u32 {
        125_000
    }
    /// The figures that the player carries from round to round.
    fn carries(&self) -> Carries {
        Carries::NOTHING
    }
    /// Hours after a round's latest step in which its player can see it again, go on with it or skip to its result;
    /// then it's resolved by [`Round::automatic`] (PL-03). `None` where the rules name no time: it waits for the
    /// player.
    fn interruption_hours(&self) -> Option<u32> {
        None
    }
    /// The figures that the player carries once a settled round is void (PL-04). The round brought them from `before`
    /// to `after`; later rounds have brought them to `now`, which isn't `after`. What the round gave is taken back and
    /// what it took is given back, within what the game lets a player carry. What later rounds have used up stays used
    /// up.
    fn without(&self, now: &Carried, before: &Carried, after: &Carried) -> Carried {
        now.without(before, after)
    }
}
