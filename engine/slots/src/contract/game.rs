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

/// Once a version has been played, its data file never changes, because logs contain the file's hash (PL-01).
#[derive(Clone, Copy, Debug)]
pub struct RulesVersion {
    pub name: &'static str,
    pub date: &'static str,
    pub file: &'static str,
}

#[derive(Debug)]
pub struct Edition {
    name: &'static str,
    rules: &'static RulesVersion,
    model_hash: [u8; 32],
    parts: &'static [PartName],
    features: &'static [Feature],
    info: GameInfo,
}

impl Edition {
    #[must_use]
    pub fn new(
        name: &'static str,
        rules: &'static RulesVersion,
        parts: &'static [PartName],
        features: &'static [Feature],
        info: GameInfo,
    ) -> Self {
        Self { name, rules, model_hash: Sha256::digest(rules.file).into(), parts, features, info }
    }
}

/// Version of a game. If a stake is invalid, methods return its first error.
pub trait Game: Sync + Send {
    fn edition(&self) -> &Edition;
    fn open(&'static self, stake: &Stake, terms: &Terms) -> Result<Box<dyn Round>, StakeRefused>;
    fn par(&self, stake: &Stake) -> Result<Par, StakeRefused>;
    /// Computes the highest win (WF-04), which can take seconds.
    fn highest_win(&self, stake: &Stake) -> Result<HighestWin, StakeRefused>;

    /// Returns the highest mean return of a round over all states of a player. `rtp` is the return without the jackpot,
    /// from [`Self::par`].
    fn most_expected(&self, rtp: &Exact) -> MostExpected {
        MostExpected::of_return(rtp.clone())
    }

    fn name(&self) -> &'static str {
        self.edition().name
    }
    fn rules_version(&self) -> &'static str {
        self.edition().rules.name
    }
    fn rules_date(&self) -> &'static str {
        self.edition().rules.date
    }
    fn data_file(&self) -> &'static str {
        self.edition().rules.file
    }
    fn model_hash(&self) -> [u8; 32] {
        self.edition().model_hash
    }
    fn info(&self) -> &GameInfo {
        &self.edition().info
    }
    fn facts(&self) -> Vec<Fact> {
        vec![]
    }
    /// Kinds of win that add up to the game's return; at most [`crate::contract::outcome::PARTS_MAX`].
    fn parts(&self) -> &'static [PartName] {
        self.edition().parts
    }
    fn features(&self) -> &'static [Feature] {
        self.edition().features
    }
    fn nature(&self, _source: Source) -> Nature {
        Nature::Cash
    }
    fn state(&self, _carried: &Carried) -> u16 {
        0
    }
    fn chances_in(&self, _state: u16) -> Vec<(&'static str, Exact)> {
        vec![]
    }
    fn check_stake(&self, stake: &Stake) -> Result<u32, StakeRefused> {
        self.info().limits.check(stake)
    }
    /// Returns the name of the special win that pays `bets` times the total bet (ME-05).
    fn special_win(&self, bets: u32) -> Option<&str> {
        self.info().specials.iter().find(|of| of.bets == bets).map(|of| of.name.as_str())
    }
    /// Returns how wins are rounded, or `None` if the game has no rounding rule (DM-17).
    fn rounding(&self, _coin: CoinFraction) -> Option<Rounding> {
        None
    }
    fn pool(&self) -> Option<&'static str> {
        self.info().jackpot.then(|| self.name())
    }
    fn gamble_max_eur(&self) -> u32 {
        125_000
    }
    fn carries(&self) -> Carries {
        Carries::NOTHING
    }
    /// Hours after which [`Round::automatic`] finishes an abandoned round; `None` if the rules set no time (PL-03).
    fn interruption_hours(&self) -> Option<u32> {
        None
    }
    /// Returns a player's current figures, `now`, without a voided round's change from `before` to `after` (PL-04). Figures
    /// that later rounds have used do not change.
    fn without(&self, now: &Carried, before: &Carried, after: &Carried) -> Carried {
        now.without(before, after)
    }
}
