//! Switches: parts of the service that take no new rounds for now (PL-25).
//!
//! The switches are folded from the system stream, and the fold itself refuses the bets that they cover: none follows a
//! switch in the log. Rounds that are open go on, and wins are paid. A pool has no switch of
//! its own: it's suspended and resumed on its own stream (BW-20). Cost: a bet looks at everything that is off.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::events::Refused;
use crate::values::{Switch, operator_of};

/// Why and since when a part of the service is off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwitchedOff {
    /// The reason.
    pub reason: String,
    /// The actor.
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

/// Everything that is switched off.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Switches(BTreeMap<Switch, SwitchedOff>);

impl Switches {
    /// The parts that are off, in order of operator, game and version.
    pub fn off(&self) -> impl Iterator<Item = (&Switch, &SwitchedOff)> {
        self.0.iter()
    }

    /// The first of [`Switches::off`] that covers a bet, and so keeps it from being taken.
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
