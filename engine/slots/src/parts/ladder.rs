use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::parts::file::{micros, parse};

const COINS_MAX: usize = 40;
const STANDARD: &str = include_str!("../../ladders.toml");

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LadderData {
    /// Ascending decimals, separated by spaces.
    pub coin_values: String,
    pub default: String,
}

pub type LaddersData = BTreeMap<String, BTreeMap<String, LadderData>>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ladder {
    pub coins_micros: Vec<u64>,
    pub default_micros: u64,
}

impl Ladder {
    pub(crate) fn from_data(data: &LadderData) -> Result<Self, &'static str> {
        let micros = |text: &str| micros("ladder", text).map_err(|_| "a coin value is not a decimal");
        let coins_micros = data.coin_values.split_whitespace().map(micros).collect::<Result<Vec<_>, _>>()?;
        let default_micros = micros(&data.default)?;
        if coins_micros.is_empty() || coins_micros.len() > COINS_MAX {
            return Err("there must be 1 to 40 coin values");
        }
        if coins_micros.windows(2).any(|pair| pair[0] >= pair[1]) {
            return Err("coin values must be in ascending order");
        }
        if !coins_micros.contains(&default_micros) {
            return Err("the default coin value is not one of the ladder's coin values");
        }
        Ok(Self { coins_micros, default_micros })
    }
}

pub(crate) static STANDARD_DATA: LazyLock<LaddersData> =
    LazyLock::new(|| parse(STANDARD).expect("the embedded ladders are valid, because a test loads them"));

pub(crate) fn in_eur(game: &str) -> Option<Vec<u64>> {
    Ladder::from_data(STANDARD_DATA.get(game)?.get("EUR")?).ok().map(|ladder| ladder.coins_micros)
}
