use serde::Deserialize;
use std::collections::BTreeMap;

/// Test players, created by the operator. No other program may use them during a run of the kit.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Players {
    pub operator: String,
    #[serde(default = "eur")]
    pub currency: String,
    #[serde(default)]
    pub game: String,
    pub player: String,
    pub other_player: String,
    pub blocked_player: Option<String>,
    pub limited_player: Option<String>,
    #[serde(default)]
    pub limit_minor: i64,
    #[serde(default)]
    pub session: String,
    pub expired_session: Option<String>,
    /// Maps further currencies, such as JPY and KWD, to players.
    #[serde(default)]
    pub currencies: BTreeMap<String, String>,
}

fn eur() -> String {
    "EUR".to_owned()
}
