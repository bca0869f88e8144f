use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::events::Refused;
use crate::values::{Switch, operator_of};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwitchedOff {
    pub reason: String,
    pub actor: String,
    pub position: u64,
    pub time_ms: i64,
}

impl SwitchedOff {
    #[must_use]
    pub fn operator(&self) -> Option<&str> {
        operator_of(&self.actor)
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Switches(BTreeMap<Switch, SwitchedOff>);

impl Switches {
    pub fn off(&self) -> impl Iterator<Item = (&Switch, &SwitchedOff)> {
        self.0.iter()
    }

    pub fn against(&self, operator: &str, game: &str, rules_version: &str) -> Option<(&Switch, &SwitchedOff)> {
        self.off().find(|(switch, _)| switch.covers(operator, game, rules_version))
    }

    /// Stops the bets that `switch` covers, or permits them again if `off` is `None`. The platform can replace a switch
    /// that an operator set.
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
