//! The contract between games and those who play, describe or audit them, and the list of games.
//!
//! A round is driven in steps. Each [`Round::resolve`] takes the player's choice and the draws of a
//! fresh seed and fills an [`Outcome`]; a round is rebuilt by resolving its logged steps again.

use thiserror::Error;

use crate::bewitched;
use crate::draws::Draws;
use crate::outcome::{Card, Outcome};
use crate::par::Par;
use crate::scan::ScanTotals;
use crate::stake::{Stake, StakeLimits, StakeRefused};

/// What besides the stake decides how a round is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// The pool is open. False while it's suspended and in demo play: the jackpot's chances go
    /// back to the money prizes that they were traded from, so the rest of the return is the same.
    pub jackpot: bool,
    /// The player keeps the double open after a line win; without it the round settles (BW-23).
    pub double: bool,
}

/// What a player does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Spins the reels: the first step of every round.
    Spin,
    /// Combines three different vials, by number from 0, in the order picked.
    Vials([u8; 3]),
    /// Plays the free spins won.
    StartFreeSpins,
    /// Guesses the next card.
    Double(Card),
    /// Takes the win and ends the double.
    Collect,
}

/// What a round waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Awaiting {
    /// Nothing: it's settled.
    #[default]
    Nothing,
    /// [`Choice::Spin`].
    Spin,
    /// [`Choice::Vials`].
    Vials,
    /// [`Choice::StartFreeSpins`].
    FreeSpins,
    /// [`Choice::Double`] or [`Choice::Collect`].
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
    /// There is no such vial.
    #[error("vial {vial} does not exist: there are {vials}")]
    UnknownVial {
        /// The vial named.
        vial: u8,
        /// How many there are.
        vials: u8,
    },
    /// The same vial was named twice.
    #[error("vial {vial} is named twice")]
    SameVial {
        /// The vial named twice.
        vial: u8,
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
    /// How many stop combinations the reels have.
    fn cycle(&self) -> u64;
    /// Evaluates the stop combinations `range` of [`Game::cycle`] with `lines` lines at one coin
    /// each, through the evaluator that serves players. Ranges may be scanned apart and merged.
    fn scan(&self, lines: u32, range: std::ops::Range<u64>) -> ScanTotals;
}

/// A round in play.
pub trait Round: Send {
    /// What the round waits for.
    fn awaiting(&self) -> Awaiting;
    /// Resolves one step: clears `out` and fills it.
    ///
    /// # Errors
    /// The choice isn't one that the round waits for, or is malformed. Nothing was drawn then, the
    /// round is as it was, and `out` says nothing.
    fn resolve(&mut self, choice: &Choice, draws: &mut Draws, out: &mut Outcome) -> Result<(), ChoiceRefused>;
    /// Makes it a new round at the same stake and terms, without allocating.
    fn reopen(&mut self);
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
    /// The stakes offered.
    pub limits: StakeLimits,
    /// Vials of the bonus to choose three from; 0 where the game has none.
    pub vials: u8,
    /// What the bonus can award, the jackpot first where there is one. Without their chances: those
    /// depend on the stake and are in [`Par`].
    pub prizes: Vec<PrizeInfo>,
    /// Whether the game has a progressive jackpot.
    pub jackpot: bool,
    /// Most turns of the double in a round; 0 where there is none.
    pub doubles_max: u32,
    /// What line wins are multiplied by in free spins.
    pub free_spin_multiplier: u32,
}

/// A symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SymbolInfo {
    /// Its name.
    pub name: String,
    /// What it does.
    pub role: SymbolRole,
}

/// What a symbol does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolRole {
    /// Pays on lines.
    Regular,
    /// Replaces regular symbols on lines, and pays on lines.
    Wild,
    /// Pays anywhere.
    Scatter,
    /// Starts the bonus round.
    Bonus,
}

/// A row of the paytable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PayRow {
    /// The symbol's index.
    pub symbol: u8,
    /// How many of it.
    pub count: u8,
    /// What it pays: times the coins of a line, or of the total bet for scatters.
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

/// Every version of every game, oldest version first. What was once played stays here (PL-01).
#[must_use]
pub fn games() -> &'static [&'static dyn Game] {
    static GAMES: std::sync::LazyLock<[&'static dyn Game; 1]> = std::sync::LazyLock::new(|| [bewitched::v1_6()]);
    &*GAMES
}

/// The game of this name and rules version.
#[must_use]
pub fn game(name: &str, rules_version: &str) -> Option<&'static dyn Game> {
    games().iter().copied().find(|g| g.name() == name && g.rules_version() == rules_version)
}

/// The latest version of the game of this name.
#[must_use]
pub fn latest(name: &str) -> Option<&'static dyn Game> {
    games().iter().copied().rev().find(|g| g.name() == name)
}
