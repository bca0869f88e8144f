//! Contributions of voided rounds that stay in a pool until an incident is approved (PL-38).
//!
//! A void leaves a [`PendingVoid`] under its position. When the pool takes up the stretch with it, the contribution joins the
//! [`VoidSum`] of its operator, game, version and minute of the bet. So the state grows with the minutes of bets that were
//! voided, not with voids, and sums of bets older than [`RETURN_MINUTES`] are dropped.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::events::Incident;
use crate::values::Nano;

/// Age of a bet, minutes, from which on its contribution is no longer returned: 92 days.
pub(crate) const RETURN_MINUTES: i64 = 92 * 24 * 60;

/// Names a sum of voids.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct VoidKey {
    pub pool: Arc<str>,
    /// Of the bets, Unix time.
    pub minute: i64,
    pub operator: SmolStr,
    pub game: SmolStr,
    pub rules_version: SmolStr,
    pub partition: u32,
}

impl VoidKey {
    /// The least key of a pool's minute.
    pub fn first(pool: &Arc<str>, minute: i64) -> Self {
        let (operator, game, rules_version) = Default::default();
        Self { pool: Arc::clone(pool), minute, operator, game, rules_version, partition: 0 }
    }

    /// Whether its voids belong to an incident; the minute apart.
    pub fn belongs_to(&self, incident: &Incident) -> bool {
        let is_version = incident.rules_version.is_empty() || incident.rules_version == self.rules_version;
        is_version && (&incident.operator, &incident.game) == (&self.operator, &self.game)
    }
}

/// The sum of contributions of voided rounds that were not returned.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VoidSum {
    /// Number of voids.
    pub voids: u64,
    /// The pool's cycle that `in_cycle` belongs to.
    cycle: u64,
    in_cycle: Nano,
    earlier: Nano,
}

impl VoidSum {
    /// All contributions in it, EUR.
    #[must_use]
    pub fn amount(&self) -> Nano {
        Nano(self.in_cycle.0 + self.earlier.0)
    }

    /// The part that is in the increments of a cycle, EUR.
    #[must_use]
    pub fn in_cycle(&self, cycle: u64) -> Nano {
        if self.cycle == cycle { self.in_cycle } else { Nano::ZERO }
    }

    /// Adds a void, as of the pool's running cycle.
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

    /// Adds another sum.
    pub(crate) fn join(&mut self, other: Self, cycle: u64) {
        let (in_cycle, amount) = (other.in_cycle(cycle), other.amount());
        let own = self.in_cycle(cycle);
        self.earlier = Nano(self.amount().0 - own.0 + amount.0 - in_cycle.0);
        (self.cycle, self.in_cycle) = (cycle, Nano(own.0 + in_cycle.0));
        self.voids += other.voids;
    }
}

/// Where the bet of a voided round stands, as far as its cycle depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum BetPlace {
    /// At a position of the pool's own partition.
    At(u64),
    /// In the reported stretch.
    InStretch,
    /// Before the reported stretch, in the cycle of this number.
    InCycle(u64),
    /// In an earlier cycle.
    Earlier,
}

/// Voids that the pool has not taken up yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PendingVoid {
    /// Position of the void; of reported ones, the end of the stretch.
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
    /// The sum that it joins.
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
