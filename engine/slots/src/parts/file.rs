//! How a data file is read, and why it's refused.

use serde::de::DeserializeOwned;
use thiserror::Error;

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
        /// The fault.
        what: String,
    },
    /// The return isn't what the file promises.
    #[error("the game returns {actual}, not {promised}")]
    Return {
        /// The return of this data, an exact fraction.
        actual: String,
        /// The promise of the file.
        promised: String,
    },
    /// The jackpot's chance isn't what the file promises.
    #[error("a coin wins the jackpot with chance {actual}, not 1/{promised_odds}")]
    JackpotChance {
        /// The chance of this data, an exact fraction.
        actual: String,
        /// The promise of the file.
        promised_odds: u64,
    },
}

impl ModelError {
    /// Names the part and what is wrong with it.
    pub fn part(part: &'static str, what: impl Into<String>) -> Self {
        Self::Part { part, what: what.into() }
    }
}

/// Parses a data file.
///
/// # Errors
/// [`ModelError::Parse`] with the place.
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T, ModelError> {
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
