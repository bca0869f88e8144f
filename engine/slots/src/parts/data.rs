//! Sections that data files of several games share. Unknown fields are refused. Errors are [`ModelError::Part`].

use serde::Deserialize;

use crate::contract::info::{SymbolInfo, SymbolRole};
use crate::contract::stake::StakeLimits;
use crate::parts::file::{ModelError, micros};
use crate::parts::lines::{LinePays, Lines, SYMBOLS_MAX};
use crate::parts::reels::{REELS, Reels};

const COINS_PER_LINE_MAX: u32 = 1000;

macro_rules! game_data {
    ($($(#[$doc:meta])* $section:ident: $data:ty,)*) => {
        #[derive(Clone, Debug, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct GameData {
            pub name: String,
            pub title: String,
            pub rules_version: String,
            pub rules_date: String,
            /// Return with all features unlocked, excluding the jackpot.
            pub rtp: String,
            pub rules: String,
            pub stake: $crate::parts::data::StakeData,
            pub symbols: Vec<$crate::parts::data::SymbolData>,
            $($(#[$doc])* pub $section: $data,)*
        }

        impl GameData {
            pub(super) fn info(
                &self,
                symbols: &[$crate::contract::info::SymbolInfo],
                limits: &$crate::contract::stake::StakeLimits,
            ) -> $crate::contract::info::GameInfo {
                $crate::contract::info::GameInfo {
                    title: self.title.clone(),
                    rules_text: self.rules.trim().to_owned(),
                    reels: 5,
                    symbols: symbols.to_vec(),
                    limits: limits.clone(),
                    ..Default::default()
                }
            }
        }
    };
}
pub(crate) use game_data;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StakeData {
    #[serde(default)]
    pub coin_values: Vec<String>,
    /// Key of the game's coin ladders in `ladders.toml`.
    #[serde(default)]
    pub ladders: Option<String>,
    pub lines: (u32, u32),
    pub coins_per_line: (u32, u32),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SymbolData {
    pub code: String,
    pub name: String,
    #[serde(default)]
    pub short: Option<String>,
    pub role: SymbolRole,
    /// Pays: the n-th number is the pay for n symbols.
    #[serde(default)]
    pub pays: Vec<u64>,
    /// The n-th number is the number of free spins for n scatters.
    #[serde(default)]
    pub free_spins: Vec<u32>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinesData {
    /// For each line, one digit per reel: the row, counted from 0 at the top.
    pub rows: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReelsData {
    pub strips: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WheelData {
    pub jackpot_per_coin: u64,
    pub prizes: Vec<PrizeData>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrizeData {
    /// Prize as a multiple of the total bet.
    pub multiple: Option<u32>,
    pub free_spins: Option<u32>,
    pub weight: u64,
}

/// `short` contains the symbols' short names, which older data files lack.
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

pub fn index_of(symbols: &[SymbolData], code: &str) -> Result<u8, ModelError> {
    let found = symbols.iter().position(|s| s.code == code);
    let index = found.and_then(|i| u8::try_from(i).ok());
    index.ok_or_else(|| ModelError::part("reels", format!("unknown symbol `{code}`")))
}

pub fn only(symbols: &[SymbolData], role: SymbolRole) -> Result<u8, ModelError> {
    let mut of_role = symbols.iter().filter(|s| s.role == role);
    match (of_role.next(), of_role.next()) {
        (Some(symbol), None) => index_of(symbols, &symbol.code),
        _ => Err(ModelError::part("symbols", format!("there must be exactly one {role:?} symbol"))),
    }
}

/// Fails on a duplicate or unknown symbol code.
pub fn strips(symbols: &[SymbolData], strips: &[String]) -> Result<Vec<Vec<u8>>, ModelError> {
    let codes: std::collections::BTreeSet<&str> = symbols.iter().map(|s| s.code.as_str()).collect();
    if codes.len() != symbols.len() || codes.len() > SYMBOLS_MAX {
        return Err(ModelError::part("symbols", "two symbols have the same code, or there are too many symbols"));
    }
    strips_of(symbols, strips)
}

pub(crate) fn strips_of(symbols: &[SymbolData], strips: &[String]) -> Result<Vec<Vec<u8>>, ModelError> {
    let strip = |text: &String| text.split_whitespace().map(|code| index_of(symbols, code)).collect();
    strips.iter().map(strip).collect()
}

pub fn lines(reels: &Reels, symbols: &[SymbolData], lines: &LinesData) -> Result<Lines, ModelError> {
    Lines::new(reels, rows(lines)?, line_pays(symbols)?, only(symbols, SymbolRole::Wild)?, on_lines(symbols))
}

fn rows(lines: &LinesData) -> Result<Vec<[u8; REELS]>, ModelError> {
    let bad = |text: &str| ModelError::part("lines", format!("line `{text}` must have one digit per reel"));
    let line = |text: &String| {
        let digits: Option<Vec<u8>> = text.bytes().map(|b| b.is_ascii_digit().then(|| b - b'0')).collect();
        digits.and_then(|d| d.try_into().ok()).ok_or_else(|| bad(text))
    };
    lines.rows.iter().map(line).collect()
}

pub fn from_none<T: Copy + Default>(part: &'static str, table: &[T]) -> Result<[T; REELS + 1], ModelError> {
    if table.len() > REELS {
        return Err(ModelError::part(part, "a symbol has more pays than there are reels"));
    }
    let mut all = [T::default(); REELS + 1];
    all[1..=table.len()].copy_from_slice(table);
    Ok(all)
}

fn on_lines(symbols: &[SymbolData]) -> [bool; SYMBOLS_MAX] {
    let pays = |s: &SymbolData| matches!(s.role, SymbolRole::Regular | SymbolRole::Wild);
    std::array::from_fn(|symbol| symbols.get(symbol).is_some_and(pays))
}

fn line_pays(symbols: &[SymbolData]) -> Result<LinePays, ModelError> {
    let mut pays = LinePays::default();
    for (symbol, pays) in symbols.iter().zip(&mut pays) {
        if symbol.role != SymbolRole::Scatter {
            *pays = from_none("symbols", &symbol.pays)?;
        }
        if symbol.role != SymbolRole::Scatter && !symbol.free_spins.is_empty() {
            return Err(ModelError::part("symbols", "a symbol other than a scatter awards free spins"));
        }
    }
    Ok(pays)
}

pub fn limits(stake: &StakeData, lines: usize) -> Result<StakeLimits, ModelError> {
    let ascends = |(min, max): (u32, u32)| 1 <= min && min <= max;
    let fits = usize::try_from(stake.lines.1).is_ok_and(|most| most <= lines);
    if !ascends(stake.lines) || !ascends(stake.coins_per_line) || !fits || stake.coins_per_line.1 > COINS_PER_LINE_MAX {
        return Err(ModelError::part(
            "stake",
            "the limits on lines or coins per line are 0, out of order, or too high",
        ));
    }
    let coin_values_micros = match &stake.ladders {
        Some(game) if stake.coin_values.is_empty() => crate::parts::ladder::in_eur(game).unwrap_or_default(),
        Some(_) => {
            return Err(ModelError::part(
                "stake",
                "a game has either its own coin values or coin ladders, but this game has both",
            ));
        }
        None => stake.coin_values.iter().map(|text| micros("stake", text)).collect::<Result<_, _>>()?,
    };
    if coin_values_micros.is_empty() || coin_values_micros.windows(2).any(|pair| pair[0] >= pair[1]) {
        return Err(ModelError::part("stake", "coin values must be in ascending order"));
    }
    let by_currency = stake.ladders.is_some();
    Ok(StakeLimits { coin_values_micros, by_currency, lines: stake.lines, coins_per_line: stake.coins_per_line })
}
