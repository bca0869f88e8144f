//! Interface between games and the code that plays, describes or audits them.

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

/// One version of a game's rules with its data file.
///
/// Logs have the SHA-256 of the file, so a played file never changes. One module builds all versions of a game from their files; a
/// part missing from an older file keeps its old behaviour (PL-01).
#[derive(Clone, Copy, Debug)]
pub struct RulesVersion {
    /// Version, such as `1.6`.
    pub name: &'static str,
    /// Date of the rules, ISO 8601.
    pub date: &'static str,
    /// Data file, TOML.
    pub file: &'static str,
}

/// Facts published about a rules version.
#[derive(Debug)]
pub struct Edition {
    name: &'static str,
    rules: &'static RulesVersion,
    model_hash: [u8; 32],
    parts: &'static [PartName],
    info: GameInfo,
}

impl Edition {
    /// Creates the edition of a rules version; hashes its data file.
    #[must_use]
    pub fn new(name: &'static str, rules: &'static RulesVersion, parts: &'static [PartName], info: GameInfo) -> Self {
        Self { name, rules, model_hash: Sha256::digest(rules.file).into(), parts, info }
    }
}

/// One version of one game.
pub trait Game: Sync + Send {
    /// Names, parts and description; source of the default methods below.
    fn edition(&self) -> &Edition;
    /// Opens a round, which awaits [`crate::Choice::Spin`].
    ///
    /// # Errors
    /// The first fault of the stake.
    fn open(&'static self, stake: &Stake, terms: &Terms) -> Result<Box<dyn Round>, StakeRefused>;
    /// Exact mathematics at a stake. Costs tens of milliseconds: cache it.
    ///
    /// # Errors
    /// The first fault of the stake.
    fn par(&self, stake: &Stake) -> Result<Par, StakeRefused>;
    /// Highest win of a round at a stake (WF-04). Costs up to seconds: cache it.
    ///
    /// # Errors
    /// The first fault of the stake.
    fn highest_win(&self, stake: &Stake) -> Result<HighestWin, StakeRefused>;

    /// Highest mean return of a round over all carried figures (PL-36, PL-43). Costs as much as [`Game::par`].
    ///
    /// # Errors
    /// The first fault of the stake.
    fn most_expected(&self, stake: &Stake) -> Result<MostExpected, StakeRefused> {
        self.par(stake).map(|par| MostExpected::of_return(par.rtp_without_jackpot))
    }

    /// Name in requests and in the log: lower case, words joined by hyphens.
    fn name(&self) -> &'static str {
        self.edition().name
    }
    /// Rules version, such as `1.6`.
    fn rules_version(&self) -> &'static str {
        self.edition().rules.name
    }
    /// Date of the rules, ISO 8601.
    fn rules_date(&self) -> &'static str {
        self.edition().rules.date
    }
    /// Data file, TOML.
    fn data_file(&self) -> &'static str {
        self.edition().rules.file
    }
    /// SHA-256 of the data file.
    fn model_hash(&self) -> [u8; 32] {
        self.edition().model_hash
    }
    /// Description for players and operators (PL-13).
    fn info(&self) -> &GameInfo {
        &self.edition().info
    }
    /// Further figures for the description, such as the highest win and its chance (WF-04, ME-21). Costs up to tens of
    /// milliseconds.
    fn facts(&self) -> Vec<Fact> {
        vec![]
    }
    /// Parts of the return paid by the game, in the order of [`crate::Outcome::part_coins`] and at the start of [`Par::parts`]; at
    /// most [`crate::contract::outcome::PARTS_MAX`].
    fn parts(&self) -> &'static [PartName] {
        self.edition().parts
    }
    /// Features of a paid spin with a reported frequency, at most [`crate::FEATURES_MAX`].
    fn features(&self) -> &'static [Feature] {
        &[]
    }
    /// Nature of a win by its source.
    fn nature(&self, _source: Source) -> Nature {
        Nature::Cash
    }
    /// Class of the carried figures, as far as feature chances depend on them. The number of classes is small.
    fn state(&self, _carried: &Carried) -> u16 {
        0
    }
    /// Chances of collected features in the next paid spin in a state, by key. Missing features have their rate from
    /// [`Par::rates`].
    fn chances_in(&self, _state: u16) -> Vec<(&'static str, Exact)> {
        vec![]
    }
    /// Total cost of the stake in coins.
    ///
    /// # Errors
    /// The first fault of the stake.
    fn check_stake(&self, stake: &Stake) -> Result<u32, StakeRefused> {
        self.info().limits.check(stake)
    }
    /// Name of a special win of `bets` total bets, such as GRAND (ME-05).
    fn special_win(&self, bets: u32) -> Option<&str> {
        self.info().specials.iter().find(|of| of.bets == bets).map(|of| of.name.as_str())
    }
    /// Effect of rounding on the cash return at a coin value (DM-17); `None` if the rules don't define rounding.
    fn rounding(&self, _coin: CoinFraction) -> Option<Rounding> {
        None
    }
    /// Name of the progressive jackpot's pool, equal to the game's; `None` without a jackpot.
    fn pool(&self) -> Option<&'static str> {
        self.info().jackpot.then(|| self.name())
    }
    /// Gamble limit in whole EUR (ME-14). Rounds are logged with its worth in their currency; the rules version defines whether it
    /// applies to the stake or the result.
    fn gamble_max_eur(&self) -> u32 {
        125_000
    }
    /// Figures carried from round to round.
    fn carries(&self) -> Carries {
        Carries::NOTHING
    }
    /// Hours after a round's latest step in which the player can continue it; then [`Round::automatic`] resolves it (PL-03). `None`
    /// if the rules state no time: the round waits.
    fn interruption_hours(&self) -> Option<u32> {
        None
    }
    /// Carried figures after a settled round is voided (PL-04). The round changed them from `before` to `after`, later rounds to
    /// `now`. Reverses the round's change within the game's limits; figures consumed by later rounds stay consumed.
    fn without(&self, now: &Carried, before: &Carried, after: &Carried) -> Carried {
        now.without(before, after)
    }
}
