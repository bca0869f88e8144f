//! The sections that the games' data files share, as written, and how the parts read them.
//!
//! Each game's file has its own shape, made of these sections; unknown fields are refused everywhere.

use serde::Deserialize;

use crate::contract::info::{SymbolInfo, SymbolRole};
use crate::contract::stake::StakeLimits;
use crate::parts::file::{ModelError, micros};
use crate::parts::lines::{LinePays, Lines, SYMBOLS_MAX};
use crate::parts::reels::{REELS, Reels};

/// Most coins a line.
const COINS_PER_LINE_MAX: u32 = 1000;

/// Stakes offered.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StakeData {
    /// Coin values in the major unit, decimals: the same in every currency.
    #[serde(default)]
    pub coin_values: Vec<String>,
    /// Instead of them: coin values are offered by currency, by the ladders of this game (`games/ladders.toml`).
    #[serde(default)]
    pub ladders: Option<String>,
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
    /// A shorter name, chosen by hand; left out where the name itself is short enough.
    #[serde(default)]
    pub short: Option<String>,
    /// Its role in the game.
    pub role: SymbolRole,
    /// The pays of 1, 2, ... of it.
    #[serde(default)]
    pub pays: Vec<u64>,
    /// Free spins for 1, 2, ... of it; scatters only.
    #[serde(default)]
    pub free_spins: Vec<u32>,
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

/// The symbols as players are told of them. `short` has the short names, by name, of symbols whose data file says none:
/// those of a game's first version are frozen.
#[must_use]
pub fn symbol_infos(symbols: &[SymbolData], short: &[(&str, &str)]) -> Vec<SymbolInfo> {
    let named = |name: &String| short.iter().find(|(long, _)| long == name).map(|(_, short)| (*short).to_owned());
    let info = |of: &SymbolData| SymbolInfo {
        name: of.name.clone(),
        short: of.short.clone().or_else(|| named(&of.name)).unwrap_or_else(|| of.name.clone()),
        code: of.code.clone(),
        role: of.role,
    };
    symbols.iter().map(info).collect()
}

/// The index of a symbol by its code.
///
/// # Errors
/// [`ModelError::Part`] when no symbol has the code.
pub fn index_of(symbols: &[SymbolData], code: &str) -> Result<u8, ModelError> {
    let found = symbols.iter().position(|s| s.code == code);
    let index = found.and_then(|i| u8::try_from(i).ok());
    index.ok_or_else(|| ModelError::part("reels", format!("unknown symbol `{code}`")))
}

/// The index of the only symbol of a role.
///
/// # Errors
/// [`ModelError::Part`] when none or several have the role.
pub fn only(symbols: &[SymbolData], role: SymbolRole) -> Result<u8, ModelError> {
    let mut of_role = symbols.iter().filter(|s| s.role == role);
    match (of_role.next(), of_role.next()) {
        (Some(symbol), None) => index_of(symbols, &symbol.code),
        _ => Err(ModelError::part("symbols", format!("there must be one {role:?} symbol"))),
    }
}

/// Strips as symbol indexes; refuses codes that are used twice.
///
/// # Errors
/// [`ModelError::Part`] for a code that is used twice or unknown.
pub fn strips(symbols: &[SymbolData], strips: &[String]) -> Result<Vec<Vec<u8>>, ModelError> {
    let codes: std::collections::BTreeSet<&str> = symbols.iter().map(|s| s.code.as_str()).collect();
    if codes.len() != symbols.len() || codes.len() > SYMBOLS_MAX {
        return Err(ModelError::part("symbols", "a code is used twice, or there are too many"));
    }
    strips_of(symbols, strips)
}

/// Strips as symbol indexes, of games that don't play on lines.
pub(crate) fn strips_of(symbols: &[SymbolData], strips: &[String]) -> Result<Vec<Vec<u8>>, ModelError> {
    let strip = |text: &String| text.split_whitespace().map(|code| index_of(symbols, code)).collect();
    strips.iter().map(strip).collect()
}

/// The paylines of a game, compiled for these reels.
///
/// # Errors
/// [`ModelError::Part`] when there isn't one Wild, a line isn't a digit for each reel or leaves the window, or a table
/// of pays is refused.
pub fn lines(reels: &Reels, symbols: &[SymbolData], lines: &LinesData) -> Result<Lines, ModelError> {
    Lines::new(reels, rows(lines)?, line_pays(symbols)?, only(symbols, SymbolRole::Wild)?, on_lines(symbols))
}

/// Each line's row on every reel.
fn rows(lines: &LinesData) -> Result<Vec<[u8; REELS]>, ModelError> {
    let bad = |text: &str| ModelError::part("lines", format!("`{text}` is not a digit for each reel"));
    let line = |text: &String| {
        let digits: Option<Vec<u8>> = text.bytes().map(|b| b.is_ascii_digit().then(|| b - b'0')).collect();
        digits.and_then(|d| d.try_into().ok()).ok_or_else(|| bad(text))
    };
    lines.rows.iter().map(line).collect()
}

/// A table for 1, 2, ... of a kind as one for 0, 1, 2, ...; left out means nothing.
///
/// # Errors
/// [`ModelError::Part`] when the table is longer than the reels are many.
pub fn from_none<T: Copy + Default>(part: &'static str, table: &[T]) -> Result<[T; REELS + 1], ModelError> {
    if table.len() > REELS {
        return Err(ModelError::part(part, "a table is longer than the reels are many"));
    }
    let mut all = [T::default(); REELS + 1];
    all[1..=table.len()].copy_from_slice(table);
    Ok(all)
}

/// Which symbols pay on lines and are replaced by wilds, the wild itself included.
fn on_lines(symbols: &[SymbolData]) -> [bool; SYMBOLS_MAX] {
    let pays = |s: &SymbolData| matches!(s.role, SymbolRole::Regular | SymbolRole::Wild);
    std::array::from_fn(|symbol| symbols.get(symbol).is_some_and(pays))
}

/// The pays of each symbol on a line; scatters pay elsewhere.
fn line_pays(symbols: &[SymbolData]) -> Result<LinePays, ModelError> {
    let mut pays = LinePays::default();
    for (symbol, pays) in symbols.iter().zip(&mut pays) {
        if symbol.role != SymbolRole::Scatter {
            *pays = from_none("symbols", &symbol.pays)?;
        }
        if symbol.role != SymbolRole::Scatter && !symbol.free_spins.is_empty() {
            return Err(ModelError::part("symbols", "only scatters award free spins"));
        }
    }
    Ok(pays)
}

/// The stakes offered, of a game that has so many lines.
///
/// # Errors
/// [`ModelError::Part`] when limits are out of order, or allow more lines than there are.
pub fn limits(stake: &StakeData, lines: usize) -> Result<StakeLimits, ModelError> {
    let ascends = |(min, max): (u32, u32)| 1 <= min && min <= max;
    let fits = usize::try_from(stake.lines.1).is_ok_and(|most| most <= lines);
    if !ascends(stake.lines) || !ascends(stake.coins_per_line) || !fits || stake.coins_per_line.1 > COINS_PER_LINE_MAX {
        return Err(ModelError::part("stake", "limits out of order, or more lines than there are"));
    }
    let coin_values_micros = match &stake.ladders {
        Some(game) if stake.coin_values.is_empty() => crate::parts::ladder::in_eur(game).unwrap_or_default(),
        Some(_) => return Err(ModelError::part("stake", "coin values and ladders")),
        None => stake.coin_values.iter().map(|text| micros("stake", text)).collect::<Result<_, _>>()?,
    };
    if coin_values_micros.is_empty() || coin_values_micros.windows(2).any(|pair| pair[0] >= pair[1]) {
        return Err(ModelError::part("stake", "coin values must ascend"));
    }
    let by_currency = stake.ladders.is_some();
    Ok(StakeLimits { coin_values_micros, by_currency, lines: stake.lines, coins_per_line: stake.coins_per_line })
}
