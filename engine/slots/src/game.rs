//! The contract between games and those who play, describe or audit them, and the list of games.
//!
//! A round is driven in steps. Each [`Round::resolve`] takes the player's choice and the draws of a
//! fresh seed and fills an [`Outcome`]; a round is rebuilt by resolving its logged steps again.

use thiserror::Error;

use crate::bewitched;
use crate::carried::{Carried, Carries};
use crate::cash::{CoinFraction, Rounding};
use crate::draws::Draws;
use crate::dwarf_mine;
use crate::highest::HighestWin;
use crate::mystery_elves;
use crate::neptune;
use crate::outcome::{Card, Outcome, PICKS_MAX, PickOffer};
use crate::par::Par;
use crate::stake::{Stake, StakeLimits, StakeRefused};
use crate::witch_feature;

/// What besides the stake decides how a round is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// The pool is open. False while it's suspended and in demo play: the jackpot's chances go
    /// back to the money prizes that they were traded from, so the rest of the return is the same.
    pub jackpot: bool,
    /// The player keeps the gamble open after a win; without it the round settles (BW-23, ME-14).
    pub double: bool,
    /// Worth of a minor unit of the account's currency, in millionths of the major unit: 10,000 for a cent.
    pub minor_micros: u64,
    /// The limit of the gamble in minor units (ME-14, ME-15); what it's on is said by the game's rules version.
    pub gamble_max_minor: u64,
    /// What the player carries when the round opens.
    pub carried: Carried,
}

impl Terms {
    /// The terms of a simulation, of a description, of mathematics: cents, the pool open, no gamble, and a player who
    /// carries this.
    #[must_use]
    pub fn plain(carried: Carried) -> Self {
        Self { jackpot: true, double: false, minor_micros: 10_000, gamble_max_minor: 0, carried }
    }
}

/// What a player does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Spins the reels: the first step of every round.
    Spin,
    /// Picks different objects (Merlin's vials, Neptune's treasures).
    Pick(Picked),
    /// Plays the free spins won, or goes on with them.
    StartFreeSpins,
    /// Plays the feature won, or goes on with it.
    StartFeature,
    /// Guesses the next card: the heart for red, the spade for black.
    Double(Card),
    /// Secures half of what is at risk and keeps the rest at risk (ME-16).
    Halve,
    /// Takes the win and ends the gamble.
    Collect,
}

/// Objects that the player picked, by number from 0, in the order picked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Picked {
    len: u8,
    at: [u8; PICKS_MAX],
}

impl Picked {
    /// Objects in the order picked; `None` when they are more than a game asks for.
    #[must_use]
    pub fn new(objects: &[u8]) -> Option<Self> {
        let mut at = [0; PICKS_MAX];
        at.get_mut(..objects.len())?.copy_from_slice(objects);
        Some(Self { len: u8::try_from(objects.len()).ok()?, at })
    }

    /// The objects in the order picked.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        self.at.get(..usize::from(self.len)).unwrap_or_default()
    }

    /// Checks that these are `needs` different objects out of `of`.
    ///
    /// # Errors
    /// The first fault: their number, then the first object that doesn't exist, then the first named twice.
    pub fn check(&self, needs: u8, of: u8) -> Result<(), ChoiceRefused> {
        let objects = self.as_slice();
        if self.len != needs {
            return Err(ChoiceRefused::PickCount { needs, given: self.len });
        }
        if let Some(&object) = objects.iter().find(|&&object| object >= of) {
            return Err(ChoiceRefused::UnknownObject { object, of });
        }
        let twice = objects.iter().enumerate().find(|(place, object)| objects[..*place].contains(object));
        twice.map_or(Ok(()), |(_, &object)| Err(ChoiceRefused::SameObject { object }))
    }
}

/// What a round waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Awaiting {
    /// Nothing: it's settled.
    #[default]
    Nothing,
    /// [`Choice::Spin`].
    Spin,
    /// [`Choice::Pick`], as [`Outcome::pick`] says.
    Pick,
    /// [`Choice::StartFreeSpins`].
    FreeSpins,
    /// [`Choice::StartFeature`].
    Feature,
    /// [`Choice::Double`], [`Choice::Collect`] or, where the game has it, [`Choice::Halve`].
    Double,
}

/// Why a choice isn't accepted. Nothing was drawn and the round is as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ChoiceRefused {
    /// The round waits for something else.
    #[error("the round awaits {awaiting:?}")]
    NotAwaited {
        /// What it waits for.
        awaiting: Awaiting,
    },
    /// Too few or too many objects were picked.
    #[error("{given} objects are picked, not {needs}")]
    PickCount {
        /// How many the round asks for.
        needs: u8,
        /// How many were named.
        given: u8,
    },
    /// There is no such object.
    #[error("object {object} does not exist: there are {of}")]
    UnknownObject {
        /// The object named, from 0.
        object: u8,
        /// How many there are.
        of: u8,
    },
    /// The same object was named twice.
    #[error("object {object} is named twice")]
    SameObject {
        /// The object named twice, from 0.
        object: u8,
    },
    /// The game doesn't offer it here: a double past the limit, a half of nothing, a guess that is no colour.
    #[error("the round does not offer this: {what}")]
    NotOffered {
        /// What isn't offered.
        what: &'static str,
    },
}

/// One version of one game.
pub trait Game: Sync + Send {
    /// The game's name in requests and in the log, such as `bewitched`.
    fn name(&self) -> &'static str;
    /// The version of its rules, such as `1.6`.
    fn rules_version(&self) -> &'static str;
    /// The date of those rules, ISO 8601.
    fn rules_date(&self) -> &'static str;
    /// SHA-256 of the bytes of its data file.
    fn model_hash(&self) -> [u8; 32];
    /// The description for players and operators (PL-13).
    fn info(&self) -> &GameInfo;
    /// The coins that the stake costs in all.
    ///
    /// # Errors
    /// The first fault of the stake.
    fn check_stake(&self, stake: &Stake) -> Result<u32, StakeRefused>;
    /// Opens a round, which awaits [`Choice::Spin`].
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
    /// The parts of the return that the game itself pays, in the order of [`Outcome::part_coins`]; at most
    /// [`crate::outcome::PARTS_MAX`]. [`Par::parts`] starts with the same.
    fn parts(&self) -> &'static [PartName];
    /// What rounding does to the return in cash at a coin value, where the game's rules say how wins are rounded (DM-17).
    fn rounding(&self, _coin: CoinFraction) -> Option<Rounding> {
        None
    }
    /// What the player carries from round to round.
    fn carries(&self) -> Carries {
        Carries::NOTHING
    }
    /// The name of a special win of so many total bets, such as GRAND (ME-05); `None` where the game has no such.
    fn special_win(&self, _bets: u32) -> Option<&str> {
        None
    }
    /// Hours after a round's latest step in which its player can see it again, go on with it or skip to its result; then
    /// it's resolved by [`Round::automatic`] (PL-03). `None` where the rules name no time: it waits for the player.
    fn interruption_hours(&self) -> Option<u32> {
        None
    }
    /// What the player carries once a settled round is void (PL-04) that brought them from `before` to `after`, where
    /// later rounds have brought them to `now`, which is not `after`: what the round gave is taken back and what it took
    /// is given back, within what the game lets a player carry. What later rounds have used up stays used up.
    fn without(&self, now: &Carried, before: &Carried, after: &Carried) -> Carried {
        now.without(before, after)
    }
}

/// A part of the return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartName {
    /// Its key in JSON, such as `base_lines`.
    pub key: &'static str,
    /// Its name for people, such as `line wins of the paid spin`.
    pub title: &'static str,
}

/// A round in play.
pub trait Round: Send {
    /// What the round waits for.
    fn awaiting(&self) -> Awaiting;
    /// The pick that it waits for, if it waits for one.
    fn pick(&self) -> Option<PickOffer> {
        None
    }
    /// What is chosen here for a player who doesn't choose (PL-03); `None` when the round is over. Whatever the rules of
    /// a game say otherwise, what was won is taken and never risked, features are played, and of hidden objects, which
    /// are all alike, the first are picked.
    fn automatic(&self) -> Option<Choice> {
        choice_for(self.awaiting(), self.pick())
    }
    /// Resolves one step: clears `out` and fills it.
    ///
    /// # Errors
    /// The choice isn't one that the round waits for, or is malformed. Nothing was drawn then, the
    /// round is as it was, and `out` says nothing.
    fn resolve(&mut self, choice: &Choice, draws: &mut Draws, out: &mut Outcome) -> Result<(), ChoiceRefused>;
    /// Makes it a new round at the same stake and terms, but for what the player carries, without allocating.
    fn reopen(&mut self, carried: &Carried);
}

/// The choice that brings a round on without risking anything; `None` when it's over.
#[must_use]
pub fn choice_for(awaiting: Awaiting, pick: Option<PickOffer>) -> Option<Choice> {
    const FIRST: [u8; PICKS_MAX] = [0, 1, 2, 3, 4];
    match awaiting {
        Awaiting::Nothing => None,
        Awaiting::Spin => Some(Choice::Spin),
        Awaiting::Pick => {
            let needs = pick.map_or(0, |offer| usize::from(offer.needs));
            Some(Choice::Pick(Picked::new(&FIRST[..needs.min(PICKS_MAX)]).unwrap_or_default()))
        }
        Awaiting::FreeSpins => Some(Choice::StartFreeSpins),
        Awaiting::Feature => Some(Choice::StartFeature),
        Awaiting::Double => Some(Choice::Collect),
    }
}

/// What a player, an operator or a regulator is told about a game (PL-13).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GameInfo {
    /// The title shown.
    pub title: String,
    /// The rules in short.
    pub rules_text: String,
    /// Reels.
    pub reels: u32,
    /// Rows of the window.
    pub rows: u32,
    /// The symbols; wins and windows name them by index.
    pub symbols: Vec<SymbolInfo>,
    /// What pays, symbol by symbol, most of a kind first.
    pub paytable: Vec<PayRow>,
    /// Each payline's row on every reel from the left, 0 for the top.
    pub lines: Vec<Vec<u8>>,
    /// Whether wins run on ways (the same symbol on neighbouring reels) instead of lines.
    pub ways: bool,
    /// Rows that the window can grow to; as `rows` where it can't.
    pub rows_max: u32,
    /// The stakes offered.
    pub limits: StakeLimits,
    /// What the feature costs to buy, in bets; `None` where it isn't sold.
    pub buy_feature_bets: Option<u32>,
    /// Objects of a pick to choose from; 0 where the game has none.
    pub picks_of: u8,
    /// Bonus symbols count on a line in play, not anywhere in the window (NP-09).
    pub bonus_on_line: bool,
    /// Fewest and most of them that are picked at once.
    pub picks: (u8, u8),
    /// What a feature can multiply its wins by, ascending (ME-06, WF-09); empty where none does.
    pub multipliers: Vec<u32>,
    /// The published span of the return with the jackpot, in millionths (BW-21).
    pub rtp_span_micros: Option<(u64, u64)>,
    /// What the jackpot's share of the return assumes of the pool; empty without a jackpot.
    pub jackpot_assumes: String,
    /// What the bonus can award, the jackpot first where there is one. Without their chances: those
    /// depend on the stake and are in [`Par`].
    pub prizes: Vec<PrizeInfo>,
    /// Special wins with names of their own, the lowest first (ME-05).
    pub specials: Vec<SpecialInfo>,
    /// Whether the game has a progressive jackpot.
    pub jackpot: bool,
    /// Most turns of the gamble in a round; 0 where there is none.
    pub doubles_max: u32,
    /// Whether half of a gambled win can be secured (ME-16).
    pub halve: bool,
    /// How autoplay keeps its limits; the same in all versions of a game's rules, as it is no part of a round.
    pub autoplay: Autoplay,
    /// What line wins are multiplied by in free spins.
    pub free_spin_multiplier: u32,
    /// What else the game description must state, such as the highest win and its chance (WF-04, ME-21).
    pub facts: Vec<Fact>,
}

/// How a game's autoplay keeps the limits that its player sets, each as its own rules put it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Autoplay {
    /// The loss limit.
    pub loss: AutoplayLoss,
    /// Whether a single win must pass its limit to end the series (ME-19); else it's enough that it reaches it (BW-25,
    /// WF-19).
    pub ends_above_win: bool,
}

/// When a series ends by its loss limit. The loss is all bets of the series minus all wins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AutoplayLoss {
    /// After a round that brought the loss past the limit (BW-25, ME-19).
    #[default]
    Passed,
    /// After a round that brought the loss to the limit (WF-19).
    Reached,
    /// Before a round whose bet could bring the loss past the limit (DM-26).
    Prevented,
}

/// A stated figure of the game description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// Its key, such as `max_win_bets`.
    pub key: &'static str,
    /// What it says, for people.
    pub title: &'static str,
    /// The figure, a decimal.
    pub value: String,
}

/// Most letters of a symbol's short name.
pub const SHORT_MAX: usize = 12;

/// A symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SymbolInfo {
    /// Its name.
    pub name: String,
    /// A name of at most [`SHORT_MAX`] letters for where there's little room; the name itself where that is short enough.
    pub short: String,
    /// Two letters that stand for it on the strips; no other symbol of the game has them.
    pub code: String,
    /// What it does.
    pub role: SymbolRole,
}

/// What a symbol does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SymbolRole {
    /// Pays on lines.
    Regular,
    /// Replaces regular symbols on lines, and pays on lines.
    Wild,
    /// Pays anywhere.
    Scatter,
    /// Starts the bonus round.
    Bonus,
    /// Awards free spins.
    FreeSpins,
    /// Is collected: a crystal, a potion.
    Collected,
    /// Is added to the reels of one kind of free spins and pays from two of a kind on (DM-02).
    SuperHigh,
    /// Becomes another symbol.
    Question,
}

/// A row of the paytable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PayRow {
    /// The symbol's index.
    pub symbol: u8,
    /// How many of it.
    pub count: u8,
    /// What it pays: times the coins of a line, or of the total bet for scatters; in ways games, coins for each way.
    pub pays: u64,
    /// Free spins it awards.
    pub free_spins: u32,
    /// Whether it pays anywhere, times the total bet.
    pub scatter: bool,
    /// Whether it starts the bonus round.
    pub bonus: bool,
}

/// Something that a bonus can award.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrizeInfo {
    /// The progressive jackpot.
    Jackpot,
    /// This multiple of the total bet.
    Multiple(u32),
    /// This many free spins.
    FreeSpins(u32),
}

/// A special win with a name of its own (ME-05).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecialInfo {
    /// Its name, such as `GRAND`.
    pub name: String,
    /// What it pays in total bets.
    pub bets: u32,
}

/// Every version of every game, game by game, each game's oldest version first. What was once played stays here (PL-01).
#[must_use]
pub fn games() -> &'static [&'static dyn Game] {
    static GAMES: std::sync::LazyLock<Vec<&'static dyn Game>> = std::sync::LazyLock::new(|| {
        let games = bewitched::versions().chain(dwarf_mine::versions()).chain(mystery_elves::versions());
        games.chain(neptune::versions()).chain(witch_feature::versions()).collect()
    });
    &GAMES
}

/// The game of this name and rules version.
#[must_use]
pub fn game(name: &str, rules_version: &str) -> Option<&'static dyn Game> {
    games().iter().copied().find(|g| g.name() == name && g.rules_version() == rules_version)
}

/// The latest version of every game, which is what's played where nobody names a version.
#[must_use]
pub fn latest_games() -> &'static [&'static dyn Game] {
    static LATEST: std::sync::LazyLock<Vec<&'static dyn Game>> = std::sync::LazyLock::new(|| {
        let mut latest = games().to_vec();
        latest.reverse();
        latest.dedup_by_key(|game| game.name());
        latest.reverse();
        latest
    });
    &LATEST
}

/// The latest version of the game of this name.
#[must_use]
pub fn latest(name: &str) -> Option<&'static dyn Game> {
    games().iter().copied().rev().find(|g| g.name() == name)
}
