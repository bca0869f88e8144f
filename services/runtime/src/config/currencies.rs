//! `[currencies]` in the configuration: which of ISO 4217's take accounts and bets, and at which coin values (PL-35).

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Currencies and coin ladders. What they come to is checked against the games before anything is opened.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Currencies {
    /// Codes of those that take new accounts and bets, beside play money; by default all that have a coin ladder. In
    /// another one what is there can be withdrawn, and what is open played to its end.
    pub enabled: Option<Vec<String>>,
    /// By game and currency, ladders in place of those that come with the games.
    pub ladders: BTreeMap<String, BTreeMap<String, CoinLadder>>,
}

/// Coin values of a game in a currency.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CoinLadder {
    /// Decimals of the major unit, ascending, with a space between: 1 to 40 of them.
    pub coin_values: String,
    /// The one that a player begins with.
    pub default: String,
}
