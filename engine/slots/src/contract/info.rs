//! The description of a game for players, operators and regulators (PL-13).

use crate::contract::stake::StakeLimits;

/// The description of a game for players, operators and regulators (PL-13). By default a game has none of it all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
    /// The paytable, symbol by symbol, most of a kind first.
    pub paytable: Vec<PayRow>,
    /// Each payline's row on every reel from the left, 0 for the top.
    pub lines: Vec<Vec<u8>>,
    /// Whether wins run on ways (the same symbol on neighbouring reels) instead of lines.
    pub ways: bool,
    /// Rows that the window can grow to; as `rows` where it can't.
    pub rows_max: u32,
    /// The stakes offered.
    pub limits: StakeLimits,
    /// Price of the feature in bets; `None` where it isn't sold.
    pub buy_feature_bets: Option<u32>,
    /// Objects of a pick to choose from; 0 where the game has none.
    pub picks_of: u8,
    /// Bonus symbols count on a line in play, not anywhere in the window (NP-09).
    pub bonus_on_line: bool,
    /// Fewest and most of them that are picked at once.
    pub picks: (u8, u8),
    /// Factors that a feature can multiply its wins by, ascending (ME-06, WF-09); empty where none does.
    pub multipliers: Vec<u32>,
    /// The published span of the return with the jackpot, in millionths (BW-21).
    pub rtp_span_micros: Option<(u64, u64)>,
    /// Assumptions about the pool behind the jackpot's share of the return; empty without a jackpot.
    pub jackpot_assumes: String,
    /// Prizes of the bonus, the jackpot first where there is one. Without their chances: those
    /// depend on the stake and are in [`Par`](crate::Par).
    pub prizes: Vec<PrizeInfo>,
    /// Special wins with names of their own, the lowest first (ME-05).
    pub specials: Vec<SpecialInfo>,
    /// Sets of values of which a symbol or a picked object has one.
    pub values: Vec<ValueSet>,
    /// Combinations of collected symbols that start a feature, in the order of unlocking (WF-07 to WF-10).
    pub combinations: Vec<FeatureCombination>,
    /// Whether the game has a progressive jackpot.
    pub jackpot: bool,
    /// Whether the player picks a witch, who comes along and has no effect on the return (BW-05).
    pub witches: bool,
    /// Most turns of the gamble in a round; 0 where there is none.
    pub doubles_max: u32,
    /// Whether half of a gambled win can be secured (ME-16).
    pub halve: bool,
    /// How autoplay keeps its limits; the same in all versions of a game's rules, as it is no part of a round.
    pub autoplay: Autoplay,
    /// Factor of line wins in free spins.
    pub free_spin_multiplier: u32,
    /// Crystals of a colour that complete a collection (DM-11); 0 where they complete none.
    pub collection_needs: u32,
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
    /// Its meaning, for people.
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
    /// A name of at most [`SHORT_MAX`] letters for where there's little room; the name itself where that is short
    /// enough.
    pub short: String,
    /// Two letters that stand for it on the strips; no other symbol of the game has them.
    pub code: String,
    /// Its role in the game.
    pub role: SymbolRole,
}

/// The role of a symbol.
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
    /// Its pay: times the coins of a line, or of the total bet for scatters; in ways games, coins for each way.
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

/// Possible values of a kind of symbol or object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueSet {
    /// Its key, such as `treasure`.
    pub key: &'static str,
    /// Its meaning with the unit, for people.
    pub title: &'static str,
    /// The values, ascending.
    pub values: Vec<u64>,
}

/// A combination of collected symbols that starts a feature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeatureCombination {
    /// The feature's key, as in [`crate::Game::features`].
    pub feature: &'static str,
    /// The symbols' indexes, in any order of collection.
    pub symbols: Vec<u8>,
}

/// A special win with a name of its own (ME-05).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecialInfo {
    /// Its name, such as `GRAND`.
    pub name: String,
    /// Its pay in total bets.
    pub bets: u32,
}
