//! `[currencies]`: ISO 4217 currencies and coin values (PL-35).

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Currencies and coin ladders; startup checks them against the games.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Currencies {
    /// Codes of currencies that allow new accounts and bets; default: all currencies with a coin ladder. Unlisted
    /// currencies allow only withdrawals and the completion of open rounds.
    pub enabled: Option<Vec<String>>,
    /// Maps games and currencies to coin ladders that replace the built-in ones.
    pub ladders: BTreeMap<String, BTreeMap<String, CoinLadder>>,
}

/// Coin values of a game in a currency.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CoinLadder {
    /// 1 to 40 ascending decimals in the major unit, separated by spaces.
    pub coin_values: String,
    /// Initial coin value.
    pub default: String,
}
