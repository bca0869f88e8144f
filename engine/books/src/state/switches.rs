//! Switches: parts of the service that take no new rounds for now (PL-25).
//!
//! What is switched off is state folded from the system stream, and the fold itself refuses bets that it covers: after
//! the switch's place in the log there is none. Rounds that are open go on, and wins are paid. A pool has no switch of
//! its own: it's suspended and resumed on its own stream (BW-20). Cost: a bet looks at everything that is off.

use core::fmt;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use crate::events::refused::Refused;
use crate::values::name::is_id;

/// A part of the service: the bets that match all of its names. An empty name matches everything, so that the default
/// is the whole service.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Switch {
    /// The operator.
    pub operator: String,
    /// The game.
    pub game: String,
    /// A version of the game's rules; only with a game.
    pub rules_version: String,
}

impl Switch {
    /// Whether every name in it is well formed or empty, and a version has its game.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        let Self { operator, game, rules_version } = self;
        let names = [operator, game, rules_version];
        names.into_iter().all(|name| name.is_empty() || is_id(name)) && (rules_version.is_empty() || !game.is_empty())
    }

    fn covers(&self, operator: &str, game: &str, rules_version: &str) -> bool {
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

/// Why and since when a part of the service is off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwitchedOff {
    /// Why.
    pub reason: String,
    /// By whom.
    pub actor: String,
    /// Position of the switch in its partition.
    pub position: u64,
    /// Its time, Unix ms.
    pub time_ms: i64,
}

impl SwitchedOff {
    /// The operator whose actor switched it off; `None` where it was the platform's.
    #[must_use]
    pub fn operator(&self) -> Option<&str> {
        operator_of(&self.actor)
    }
}

/// The operator that an actor acts for; `None` for the platform's, who are called by their credential's name alone.
pub(crate) fn operator_of(actor: &str) -> Option<&str> {
    actor.split_once('/').map(|(operator, _)| operator)
}

/// Everything that is switched off.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Switches(BTreeMap<Switch, SwitchedOff>);

impl Switches {
    /// What is off, in order of operator, game and version.
    pub fn off(&self) -> impl Iterator<Item = (&Switch, &SwitchedOff)> {
        self.0.iter()
    }

    /// What keeps a bet from being taken: the first of [`Switches::off`] that covers it.
    pub fn against(&self, operator: &str, game: &str, rules_version: &str) -> Option<(&Switch, &SwitchedOff)> {
        self.off().find(|(switch, _)| switch.covers(operator, game, rules_version))
    }

    /// Turns a switch off, or on again with `None`. What an operator has switched off the platform can switch off as well: from
    /// then on it's the platform's.
    ///
    /// # Errors
    /// [`Refused::BadSwitch`]; [`Refused::SwitchUnchanged`] where it's so already.
    pub fn set(&mut self, switch: &Switch, off: Option<SwitchedOff>) -> Result<(), Refused> {
        if !switch.is_valid() {
            return Err(Refused::BadSwitch);
        }
        let stronger = |now: &SwitchedOff| {
            off.as_ref().is_some_and(|off| operator_of(&now.actor).is_some() && operator_of(&off.actor).is_none())
        };
        if self.0.get(switch).map_or(off.is_none(), |now| off.is_some() && !stronger(now)) {
            return Err(Refused::SwitchUnchanged { switch: switch.clone() });
        }
        match off {
            Some(off) => self.0.insert(switch.clone(), off),
            None => self.0.remove(switch),
        };
        Ok(())
    }
}
