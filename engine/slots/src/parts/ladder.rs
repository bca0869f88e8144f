//! A coin ladder: the coin values that a game offers in a currency (PL-35, DM-19, DM-25). The ladders are data beside
//! the games and no part of a model: a round says its coin value.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::parts::file::{micros, parse};

/// Most coin values of a ladder.
const COINS_MAX: usize = 40;
/// The ladders that stand beside the games.
const STANDARD: &str = include_str!("../../games/ladders.toml");

/// A ladder as written.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LadderData {
    /// Coin values in the major unit, ascending decimals with a space between.
    pub coin_values: String,
    /// The one that a player begins with.
    pub default: String,
}

/// Ladders as written, by game and currency.
pub type LaddersData = BTreeMap<String, BTreeMap<String, LadderData>>;

/// The coin values that a game offers in a currency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ladder {
    /// In millionths of the major unit, ascending.
    pub coins_micros: Vec<u64>,
    /// The one that a player begins with.
    pub default_micros: u64,
}

impl Ladder {
    /// Reads a ladder as written.
    ///
    /// # Errors
    /// The fault, for people.
    pub(crate) fn of(data: &LadderData) -> Result<Self, &'static str> {
        let micros = |text: &str| micros("ladder", text).map_err(|_| "a coin value is no decimal");
        let coins_micros = data.coin_values.split_whitespace().map(micros).collect::<Result<Vec<_>, _>>()?;
        let default_micros = micros(&data.default)?;
        if coins_micros.is_empty() || coins_micros.len() > COINS_MAX {
            return Err("there must be 1 to 40 coin values");
        }
        if coins_micros.windows(2).any(|pair| pair[0] >= pair[1]) {
            return Err("coin values must ascend");
        }
        if !coins_micros.contains(&default_micros) {
            return Err("the default is none of the coin values");
        }
        Ok(Self { coins_micros, default_micros })
    }
}

/// The ladders that stand beside the games, as written.
pub(crate) static STANDARD_DATA: LazyLock<LaddersData> =
    LazyLock::new(|| parse(STANDARD).expect("the embedded ladders parse: a test loads them"));

/// The coin values of a game in EUR, as they stand beside the games.
pub(crate) fn in_eur(game: &str) -> Option<Vec<u64>> {
    Ladder::of(STANDARD_DATA.get(game)?.get("EUR")?).ok().map(|ladder| ladder.coins_micros)
}
