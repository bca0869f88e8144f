use serde::de::DeserializeOwned;
use thiserror::Error;

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ModelError {
    #[error("the data file cannot be parsed: {0}")]
    Parse(String),
    #[error("{part}: {what}")]
    Part { part: &'static str, what: String },
    #[error("the game's return is {actual}, but the data file states {promised}")]
    Return { actual: String, promised: String },
    #[error("a staked coin wins the jackpot with the probability {actual}, but the data file states 1/{promised_odds}")]
    JackpotChance { actual: String, promised_odds: u64 },
}

impl ModelError {
    pub fn part(part: &'static str, what: impl Into<String>) -> Self {
        Self::Part { part, what: what.into() }
    }
}

pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T, ModelError> {
    toml::from_str(text).map_err(|e| ModelError::Parse(e.to_string()))
}

pub fn micros(part: &'static str, text: &str) -> Result<u64, ModelError> {
    let bad = || ModelError::part(part, format!("`{text}` is not a decimal with at most six places"));
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
