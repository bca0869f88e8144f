//! Game description for players, operators and regulators (PL-13).

use crate::contract::stake::StakeLimits;

/// Game description (PL-13). The default has no features.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GameInfo {
    /// Displayed title.
    pub title: String,
    /// Summary of the rules.
    pub rules_text: String,
    /// Number of reels.
    pub reels: u32,
    /// Rows of the window.
    pub rows: u32,
    /// Symbols, referenced by index from wins and windows.
    pub symbols: Vec<SymbolInfo>,
    /// Paytable by symbol, highest count first.
    pub paytable: Vec<PayRow>,
    /// Row per reel of each payline, from the left; 0 is the top.
    pub lines: Vec<Vec<u8>>,
    /// Ways (same symbol on adjacent reels) instead of lines.
    pub ways: bool,
    /// Maximum rows of the window; equal to `rows` if it can't expand.
    pub rows_max: u32,
    /// Offered stakes.
    pub limits: StakeLimits,
    /// Price of the feature in bets; `None` if it can't be bought.
    pub buy_feature_bets: Option<u32>,
    /// Number of objects offered by a pick; 0 without a pick.
    pub picks_of: u8,
    /// Bonus symbols count on an active line instead of anywhere (NP-09).
    pub bonus_on_line: bool,
    /// Minimum and maximum number of objects per pick.
    pub picks: (u8, u8),
    /// Multipliers of feature wins, ascending (ME-06, WF-09).
    pub multipliers: Vec<u32>,
    /// Published span of the return with jackpot, in millionths (BW-21).
    pub rtp_span_micros: Option<(u64, u64)>,
    /// Assumptions about the pool in the jackpot's share of the return; empty without a jackpot.
    pub jackpot_assumes: String,
    /// Prizes of the bonus, the jackpot first. Their chances depend on the stake: see [`Par`](crate::Par).
    pub prizes: Vec<PrizeInfo>,
    /// Named special wins, ascending (ME-05).
    pub specials: Vec<SpecialInfo>,
    /// Possible values of symbols and picked objects.
    pub values: Vec<ValueSet>,
    /// Combinations of collected symbols that start a feature, in unlocking order (WF-07 to WF-10).
    pub combinations: Vec<FeatureCombination>,
    /// Progressive jackpot.
    pub jackpot: bool,
    /// The player picks a witch, without effect on the return (BW-05).
    pub witches: bool,
    /// Maximum gamble turns per round; 0 without a gamble.
    pub doubles_max: u32,
    /// Half of a gambled win can be secured (ME-16).
    pub halve: bool,
    /// Limits of autoplay, equal in all rules versions because they aren't part of a round.
    pub autoplay: Autoplay,
    /// Multiplier of line wins in free spins.
    pub free_spin_multiplier: u32,
    /// Crystals of one colour that complete a collection (DM-11); 0 without collections.
    pub collection_needs: u32,
}

/// Semantics of the player's autoplay limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Autoplay {
    /// Loss limit.
    pub loss: AutoplayLoss,
    /// A single win must exceed its limit to end the series (ME-19); otherwise reaching it suffices (BW-25, WF-19).
    pub ends_above_win: bool,
}

/// Comparison that ends a series by its loss, which is all bets minus all wins of the series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AutoplayLoss {
    /// After a round with the loss above the limit (BW-25, ME-19).
    #[default]
    Passed,
    /// After a round with the loss at or above the limit (WF-19).
    Reached,
    /// Before a round whose bet could raise the loss above the limit (DM-26).
    Prevented,
}

/// Stated figure of the game description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// Key, such as `max_win_bets`.
    pub key: &'static str,
    /// Meaning for people.
    pub title: &'static str,
    /// Decimal value.
    pub value: String,
}

/// Maximum length of a symbol's short name.
pub const SHORT_MAX: usize = 12;

/// A symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SymbolInfo {
    /// Name.
    pub name: String,
    /// Name of at most [`SHORT_MAX`] letters; equal to `name` if that fits.
    pub short: String,
    /// Two letters for strips, unique within the game.
    pub code: String,
    /// Role in the game.
    pub role: SymbolRole,
}

/// The role of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SymbolRole {
    /// Pays on lines.
    Regular,
    /// Substitutes regular symbols on lines, and pays on lines.
    Wild,
    /// Pays anywhere.
    Scatter,
    /// Starts the bonus round.
    Bonus,
    /// Awards free spins.
    FreeSpins,
    /// Collected: crystal or potion.
    Collected,
    /// Added to the reels of one kind of free spins; pays from two of a kind (DM-02).
    SuperHigh,
    /// Becomes another symbol.
    Question,
}

/// A row of the paytable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PayRow {
    /// Symbol index.
    pub symbol: u8,
    /// Number of symbols.
    pub count: u8,
    /// Pay: times coins per line, times total bet for scatters, or coins per way.
    pub pays: u64,
    /// Free spins awarded.
    pub free_spins: u32,
    /// Pays anywhere, times the total bet.
    pub scatter: bool,
    /// Starts the bonus round.
    pub bonus: bool,
}

/// Prize of a bonus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrizeInfo {
    /// The progressive jackpot.
    Jackpot,
    /// Win of this many total bets.
    Multiple(u32),
    /// Number of free spins.
    FreeSpins(u32),
}

/// Possible values of a kind of symbol or object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueSet {
    /// Key, such as `treasure`.
    pub key: &'static str,
    /// Meaning with unit, for people.
    pub title: &'static str,
    /// Values, ascending.
    pub values: Vec<u64>,
}

/// A combination of collected symbols that starts a feature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeatureCombination {
    /// Feature key, as in [`crate::Game::features`].
    pub feature: &'static str,
    /// Symbol indexes, collected in any order.
    pub symbols: Vec<u8>,
}

/// Named special win (ME-05).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecialInfo {
    /// Name, such as `GRAND`.
    pub name: String,
    /// Pay in total bets.
    pub bets: u32,
}
