//! `[rules]` in the configuration: superseded rules versions that take new bets (PL-41).

use serde::{Deserialize, Serialize};

/// Rules versions. The names are checked against the games before anything is opened.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rules {
    /// Superseded versions that take new bets, each as the name of the game, a space and the version.
    pub superseded_enabled: Vec<String>,
}
