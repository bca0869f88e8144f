//! The data file of a game as written, before anything is checked or compiled.
//!
//! Parsing accepts exactly the fields below; [`crate::model`] compiles them and refuses what the
//! shared parts can't serve.

use serde::Deserialize;
use thiserror::Error;

/// A game's data file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GameData {
    /// The name in requests and in the log.
    pub name: String,
    /// The title shown.
    pub title: String,
    /// Version of the rules.
    pub rules_version: String,
    /// Date of the rules, ISO 8601.
    pub rules_date: String,
    /// The return without the jackpot, a decimal that must hold exactly.
    pub rtp: String,
    /// The rules in short.
    pub rules: String,
    /// Stakes offered.
    pub stake: StakeData,
    /// Symbols; their order is their index.
    pub symbols: Vec<SymbolData>,
    /// Paylines.
    pub lines: LinesData,
    /// Reels.
    pub reels: ReelsData,
    /// The bonus wheel.
    pub wheel: WheelData,
    /// The progressive jackpot.
    pub jackpot: JackpotData,
    /// The bonus round.
    pub bonus: BonusData,
    /// Free spins.
    pub free_spins: FreeSpinsData,
}

/// Stakes offered.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StakeData {
    /// Coin values in the major unit, decimals.
    pub coin_values: Vec<String>,
    /// Fewest and most lines.
    pub lines: (u32, u32),
    /// Fewest and most coins a line.
    pub coins_per_line: (u32, u32),
}

/// A symbol.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SymbolData {
    /// The code that the strips use.
    pub code: String,
    /// The name shown.
    pub name: String,
    /// What it does.
    pub role: Role,
    /// What 1, 2, ... of it pay.
    #[serde(default)]
    pub pays: Vec<u64>,
    /// Free spins for 1, 2, ... of it; scatters only.
    #[serde(default)]
    pub free_spins: Vec<u32>,
}

/// What a symbol does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Pays on lines.
    Regular,
    /// Replaces regular symbols, and pays on lines.
    Wild,
    /// Pays anywhere.
    Scatter,
    /// Starts the bonus round.
    Bonus,
}

/// Paylines.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinesData {
    /// Each line as the digits of its rows, 0 for the top.
    pub rows: Vec<String>,
}

/// Reels.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReelsData {
    /// Each strip as symbol codes, from its first stop downwards; it closes to a ring.
    pub strips: Vec<String>,
}

/// The bonus wheel.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WheelData {
    /// The weight that each coin staked moves to the jackpot.
    pub jackpot_per_coin: u64,
    /// The prizes without the jackpot.
    pub prizes: Vec<PrizeData>,
}

/// A prize: exactly one of `multiple` and `free_spins`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrizeData {
    /// Money, times the total bet.
    pub multiple: Option<u32>,
    /// Free spins.
    pub free_spins: Option<u32>,
    /// Weight among all prizes.
    pub weight: u64,
}

/// The progressive jackpot.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JackpotData {
    /// Paid spins to one jackpot, for each coin staked.
    pub odds: u64,
    /// The pool's seed in coins.
    pub seed_coins: u64,
    /// The part of each bet that grows the pool, a decimal.
    pub contribution: String,
    /// The coin value that the whole pool belongs to, in the major unit.
    pub base_coin_value: String,
}

/// The bonus round.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BonusData {
    /// Bonus symbols that start it.
    pub needs: u8,
    /// Vials to choose three from.
    pub vials: u8,
}

/// Free spins.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FreeSpinsData {
    /// What line wins are multiplied by.
    pub multiplier: u32,
}

/// Why a data file isn't a game.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ModelError {
    /// Not TOML, or not these fields.
    #[error("the data file does not parse: {0}")]
    Parse(String),
    /// A part contradicts the others or the limits of the shared code.
    #[error("{part}: {what}")]
    Part {
        /// The part of the file.
        part: &'static str,
        /// What is wrong with it.
        what: String,
    },
    /// The return isn't what the file promises.
    #[error("the game returns {actual}, not {promised}")]
    Return {
        /// The return of this data, an exact fraction.
        actual: String,
        /// What the file says.
        promised: String,
    },
    /// The jackpot's chance isn't what the file promises.
    #[error("a coin wins the jackpot with chance {actual}, not 1/{promised_odds}")]
    JackpotChance {
        /// The chance of this data, an exact fraction.
        actual: String,
        /// What the file says.
        promised_odds: u64,
    },
}

impl ModelError {
    /// Names the part and what is wrong with it.
    pub(crate) fn part(part: &'static str, what: impl Into<String>) -> Self {
        Self::Part { part, what: what.into() }
    }
}

/// Parses a data file.
///
/// # Errors
/// [`ModelError::Parse`] with the place.
pub fn parse(text: &str) -> Result<GameData, ModelError> {
    toml::from_str(text).map_err(|e| ModelError::Parse(e.to_string()))
}

/// Reads a decimal such as `0.05` as millionths; more than six decimals are refused.
///
/// # Errors
/// [`ModelError::Part`] when it isn't such a decimal.
pub fn micros(part: &'static str, text: &str) -> Result<u64, ModelError> {
    let bad = || ModelError::part(part, format!("`{text}` is no decimal of at most six places"));
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if fraction.len() > 6 || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return Err(bad());
    }
    if whole.is_empty() || !whole.bytes().all(|b| b.is_ascii_digit()) {
        return Err(bad());
    }
    let whole: u64 = whole.parse().map_err(|_| bad())?;
    let fraction: u64 = format!("{fraction:0<6}").parse().map_err(|_| bad())?;
    whole.checked_mul(1_000_000).and_then(|w| w.checked_add(fraction)).ok_or_else(bad)
}
