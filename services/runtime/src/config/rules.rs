//! `[rules]`: superseded rules versions (PL-41).

use serde::{Deserialize, Serialize};

/// Rules versions, checked against the games at the start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rules {
    /// Superseded versions that take new bets, as `game version`.
    pub superseded_enabled: Vec<String>,
}
