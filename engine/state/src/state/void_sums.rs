//! Contributions of voided rounds, summed per operator, game, rules version and minute of the bet. They stay in the pool
//! unless an [`Incident`] (game malfunction) is declared (PL-38). Sums older than [`RETURN_MINUTES`] are dropped.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::events::Incident;
use crate::values::Nano;

pub(crate) const RETURN_MINUTES: i64 = 92 * 24 * 60;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct VoidKey {
    pub pool: Arc<str>,
    pub minute: i64,
    pub operator: SmolStr,
    pub game: SmolStr,
    pub rules_version: SmolStr,
    pub partition: u32,
}

impl VoidKey {
    pub fn first(pool: &Arc<str>, minute: i64) -> Self {
        let (operator, game, rules_version) = Default::default();
        Self { pool: Arc::clone(pool), minute, operator, game, rules_version, partition: 0 }
    }

    /// Compares operator, game and version, but not the minute.
    pub fn belongs_to(&self, incident: &Incident) -> bool {
        let is_version = incident.rules_version.is_empty() || incident.rules_version == self.rules_version;
        is_version && (&incident.operator, &incident.game) == (&self.operator, &self.game)
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VoidSum {
    pub voids: u64,
    cycle: u64,
    in_cycle: Nano,
    earlier: Nano,
}

impl VoidSum {
    /// In EUR.
    #[must_use]
    pub fn amount(&self) -> Nano {
        Nano(self.in_cycle.0 + self.earlier.0)
    }

    /// In EUR.
    #[must_use]
    pub fn in_cycle(&self, cycle: u64) -> Nano {
        if self.cycle == cycle { self.in_cycle } else { Nano::ZERO }
    }

    pub(crate) fn add(&mut self, void: &PendingVoid, cycle: u64, cycle_from: u64) {
        if self.cycle != cycle {
            self.earlier = self.amount();
            (self.cycle, self.in_cycle) = (cycle, Nano::ZERO);
        }
        self.voids += void.voids;
        let is_running = match void.bet {
            BetPlace::At(position) => position > cycle_from,
            BetPlace::InStretch => true,
            BetPlace::InCycle(of) => of == cycle,
            BetPlace::Earlier => false,
        };
        let part = if is_running { &mut self.in_cycle } else { &mut self.earlier };
        part.0 += void.amount.0;
    }

    pub(crate) fn join(&mut self, other: Self, cycle: u64) {
        let (in_cycle, amount) = (other.in_cycle(cycle), other.amount());
        let own = self.in_cycle(cycle);
        self.earlier = Nano(self.amount().0 - own.0 + amount.0 - in_cycle.0);
        (self.cycle, self.in_cycle) = (cycle, Nano(own.0 + in_cycle.0));
        self.voids += other.voids;
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum BetPlace {
    At(u64),
    InStretch,
    InCycle(u64),
    Earlier,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PendingVoid {
    /// Position of the void, or the end of the reported range that contains the void.
    pub position: u64,
    pub partition: u32,
    pub minute: i64,
    pub operator: SmolStr,
    pub game: SmolStr,
    pub rules_version: SmolStr,
    pub voids: u64,
    pub bet: BetPlace,
    pub amount: Nano,
}

impl PendingVoid {
    pub fn key(&self, pool: &Arc<str>) -> VoidKey {
        VoidKey {
            pool: Arc::clone(pool),
            minute: self.minute,
            operator: self.operator.clone(),
            game: self.game.clone(),
            rules_version: self.rules_version.clone(),
            partition: self.partition,
        }
    }
}
