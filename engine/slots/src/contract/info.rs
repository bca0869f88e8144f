//! Game description (PL-13).

use crate::contract::stake::StakeLimits;

/// Game description (PL-13).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GameInfo {
    /// Displayed title.
    pub title: String,
    /// Summary of the rules.
    pub rules_text: String,
    /// Number of reels.
    pub reels: u32,
    /// Rows per window.
    pub rows: u32,
    /// Symbols by index.
    pub symbols: Vec<SymbolInfo>,
    /// Paytable by symbol, highest count first.
    pub paytable: Vec<PayRow>,
    /// Row per reel of each payline; 0 is the top.
    pub lines: Vec<Vec<u8>>,
    /// Ways instead of lines.
    pub ways: bool,
    /// Maximum rows of an expanded window.
    pub rows_max: u32,
    /// Offered stakes.
    pub limits: StakeLimits,
    /// Price of the feature in bets, if for sale.
    pub buy_feature_bets: Option<u32>,
    /// Objects offered by a pick.
    pub picks_of: u8,
    /// Bonus symbols count only on active lines (NP-09).
    pub bonus_on_line: bool,
    /// Minimum and maximum objects per pick.
    pub picks: (u8, u8),
    /// Multipliers of feature wins, ascending (ME-06, WF-09).
    pub multipliers: Vec<u32>,
    /// Published return span with jackpot, in millionths (BW-21).
    pub rtp_span_micros: Option<(u64, u64)>,
    /// Assumptions about the pool.
    pub jackpot_assumes: String,
    /// Bonus prizes, the jackpot first. [`Par`](crate::Par) has their chances.
    pub prizes: Vec<PrizeInfo>,
    /// Named special wins, ascending (ME-05).
    pub specials: Vec<SpecialInfo>,
    /// Values of symbols and picked objects.
    pub values: Vec<ValueSet>,
    /// Combinations that start a feature (WF-07 to WF-10).
    pub combinations: Vec<FeatureCombination>,
    /// Progressive jackpot.
    pub jackpot: bool,
    /// Whether the player picks a witch (BW-05).
    pub witches: bool,
    /// Maximum gamble turns per round.
    pub doubles_max: u32,
    /// Whether half of a win can be secured (ME-16).
    pub halve: bool,
    /// Autoplay limits of all versions.
    pub autoplay: Autoplay,
    /// Multiplier of lines in free spins.
    pub free_spin_multiplier: u32,
    /// Crystals per collection (DM-11).
    pub collection_needs: u32,
}

/// Meaning of autoplay limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Autoplay {
    /// Loss limit.
    pub loss: AutoplayLoss,
    /// Whether a win must exceed its limit (ME-19), not only reach it (BW-25, WF-19).
    pub ends_above_win: bool,
}

/// Loss that ends a series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AutoplayLoss {
    /// Loss above the limit (BW-25, ME-19).
    #[default]
    Passed,
    /// Loss at or above the limit (WF-19).
    Reached,
    /// Next bet could exceed the limit (DM-26).
    Prevented,
}

/// Stated figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// Key, such as `max_win_bets`.
    pub key: &'static str,
    /// Displayed meaning.
    pub title: &'static str,
    /// Decimal value.
    pub value: String,
}

/// Maximum length of a short name.
pub const SHORT_MAX: usize = 12;

/// Symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SymbolInfo {
    /// Name.
    pub name: String,
    /// Name of at most [`SHORT_MAX`] letters.
    pub short: String,
    /// Two letters, unique within the game.
    pub code: String,
    /// Role.
    pub role: SymbolRole,
}

/// Role of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SymbolRole {
    /// Pays on lines.
    Regular,
    /// Substitutes and pays on lines.
    Wild,
    /// Pays anywhere.
    Scatter,
    /// Starts the bonus round.
    Bonus,
    /// Awards free spins.
    FreeSpins,
    /// Crystal or potion.
    Collected,
    /// Super-high symbol of free spins (DM-02).
    SuperHigh,
    /// Becomes another symbol.
    Question,
}

/// Row of the paytable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PayRow {
    /// Symbol index.
    pub symbol: u8,
    /// Number of symbols.
    pub count: u8,
    /// Pay times coins per line, total bet (scatters), or per way.
    pub pays: u64,
    /// Free spins awarded.
    pub free_spins: u32,
    /// Pays anywhere.
    pub scatter: bool,
    /// Starts the bonus round.
    pub bonus: bool,
}

/// Prize of a bonus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrizeInfo {
    /// Progressive jackpot.
    Jackpot,
    /// Total bets.
    Multiple(u32),
    /// Number of free spins.
    FreeSpins(u32),
}

/// Values of a symbol or object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueSet {
    /// Key, such as `treasure`.
    pub key: &'static str,
    /// Displayed meaning with unit.
    pub title: &'static str,
    /// Values, ascending.
    pub values: Vec<u64>,
}

/// Collected symbols that start a feature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeatureCombination {
    /// Key in [`crate::Game::features`].
    pub feature: &'static str,
    /// Symbol indexes in any order.
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
