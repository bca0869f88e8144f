//! `[currencies]`: currencies of ISO 4217 and coin values (PL-35).

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Currencies and coin ladders, checked against the games at the start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Currencies {
    /// Codes that take new accounts and bets; default: all with a coin ladder. Others allow withdrawals and the
    /// completion of open rounds.
    pub enabled: Option<Vec<String>>,
    /// Ladders by game and currency that replace the built-in ones.
    pub ladders: BTreeMap<String, BTreeMap<String, CoinLadder>>,
}

/// Coin values of a game in a currency.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CoinLadder {
    /// 1 to 40 ascending decimals of the major unit, separated by spaces.
    pub coin_values: String,
    /// Initial coin value.
    pub default: String,
}
