use core::fmt;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use super::name::is_id;

/// Switch that stops bets of one operator, game and rules version. An empty name means all operators, games or versions.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Switch {
    pub operator: SmolStr,
    pub game: SmolStr,
    /// Empty if `game` is empty.
    pub rules_version: SmolStr,
}

impl Switch {
    #[must_use]
    pub fn is_valid(&self) -> bool {
        let Self { operator, game, rules_version } = self;
        let names = [operator, game, rules_version];
        names.into_iter().all(|name| name.is_empty() || is_id(name)) && (rules_version.is_empty() || !game.is_empty())
    }

    #[must_use]
    pub(crate) fn covers(&self, operator: &str, game: &str, rules_version: &str) -> bool {
        let matches = |name: &str, of: &str| name.is_empty() || name == of;
        matches(&self.operator, operator) && matches(&self.game, game) && matches(&self.rules_version, rules_version)
    }
}

impl fmt::Display for Switch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operator, game, rules_version } = self;
        match (game.as_str(), rules_version.as_str()) {
            ("", _) if operator.is_empty() => return f.write_str("the service"),
            ("", _) => return write!(f, "operator {operator}"),
            (game, "") => write!(f, "game {game}")?,
            (game, version) => write!(f, "version {version} of game {game}")?,
        }
        if operator.is_empty() { Ok(()) } else { write!(f, " at operator {operator}") }
    }
}
