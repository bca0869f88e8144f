//! `[rules]`: superseded rules versions (PL-41).

use serde::{Deserialize, Serialize};

/// Rules versions; startup checks them against the games.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rules {
    /// Superseded rules versions that accept new bets, each as `game version`.
    pub superseded_enabled: Vec<String>,
}
