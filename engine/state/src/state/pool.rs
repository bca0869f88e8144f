use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::events::{Hit, Incident, MirroredAward, PoolStatus, PoolTerms, VoidReturn};
use crate::values::{Head, Nano};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolState {
    pub name: Arc<str>,
    pub head: Head,
    pub terms: PoolTerms,
    /// Terms of the next cycle (BW-20).
    pub pending_terms: Option<PoolTerms>,
    pub status: PoolStatus,
    /// Number of the cycle, 1-based; each award ends a cycle.
    pub cycle: u64,
    pub increments: Nano,
    pub reserve: Nano,
    pub house_funding: Nano,
    /// Sum of all contributions, minus those returned after voids or incidents.
    pub contributions: Nano,
    pub paid: Nano,
    pub moved_in: Nano,
    pub moved_out: Nano,
    /// Time of the latest awarded jackpot hit, in Unix ms (BW-17).
    pub last_hit_ms: Option<i64>,
    pub(crate) marks: BTreeMap<u32, Marks>,
    pub(crate) received_from: BTreeSet<SmolStr>,
    /// Position of the latest suspension; 0 if none.
    pub(crate) suspended_at: u64,
    /// For each partition, the last position at which a jackpot hit is awarded although the pool is suspended (BW-20).
    pub(crate) awarded_to: BTreeMap<u32, u64>,
    pub(crate) incidents: Arc<BTreeMap<SmolStr, Incident>>,
    /// Time (Unix minutes) of the earliest bets whose contributions a declared incident can still return.
    pub(crate) returns_from: i64,
    pub(crate) reports: BTreeMap<u32, Reported>,
    /// Position in partition 0 that this copy of the pool reflects; 0 in partition 0 itself.
    pub(crate) home_position: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Marks {
    pub pooled_position: u64,
    pub decided_to: u64,
    pub cycle_from: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Reported {
    pub to: u64,
    pub open_rounds: u64,
    pub mirrored: u64,
    pub awards: Vec<(u64, MirroredAward)>,
    pub returns: Vec<(u64, VoidReturn)>,
}

impl Reported {
    /// Returns whether the partition may still accept contributing bets, or has open rounds that can still hit the jackpot
    /// (BW-20).
    pub fn outstanding(&self, suspended_at: u64) -> bool {
        self.mirrored < suspended_at || self.open_rounds > 0
    }
}

impl PoolState {
    pub(crate) fn new(name: Arc<str>, head: Head, terms: PoolTerms) -> Self {
        Self {
            name,
            head,
            terms,
            pending_terms: None,
            status: PoolStatus::Active,
            cycle: 1,
            increments: Nano::ZERO,
            reserve: Nano::ZERO,
            house_funding: Nano::ZERO,
            contributions: Nano::ZERO,
            paid: Nano::ZERO,
            moved_in: Nano::ZERO,
            moved_out: Nano::ZERO,
            last_hit_ms: None,
            marks: BTreeMap::new(),
            received_from: BTreeSet::new(),
            suspended_at: 0,
            awarded_to: BTreeMap::new(),
            incidents: Arc::default(),
            returns_from: 0,
            reports: BTreeMap::new(),
            home_position: 0,
        }
    }

    #[must_use]
    pub fn base(&self) -> Nano {
        Nano(self.terms.seed.0 + self.increments.0)
    }

    #[must_use]
    pub fn pooled_position(&self, partition: u32) -> u64 {
        self.marks(partition).pooled_position
    }

    #[must_use]
    pub fn decided_to(&self, partition: u32) -> u64 {
        self.marks(partition).decided_to
    }

    #[must_use]
    pub fn reported_to(&self, partition: u32) -> u64 {
        self.reports.get(&partition).map_or(0, |reported| reported.to)
    }

    #[must_use]
    pub fn mirrors(&self) -> Option<u64> {
        (self.home_position > 0).then_some(self.home_position)
    }

    /// Returns whether the jackpot hit can be awarded now. In a suspended pool, a hit after the suspension is held until
    /// the next `HitsReleased` event (BW-20).
    #[must_use]
    pub fn awards_now(&self, hit: &Hit) -> bool {
        let awarded_to = || self.awarded_to.get(&hit.partition).copied().unwrap_or_default();
        self.status != PoolStatus::Suspended || hit.position <= awarded_to()
    }

    pub fn incidents(&self) -> impl Iterator<Item = &Incident> {
        self.incidents.values()
    }

    #[must_use]
    pub fn awards_for(&self, partition: u32) -> bool {
        self.reports.get(&partition).is_some_and(|reported| !reported.awards.is_empty())
    }

    pub(crate) fn release_hits(&mut self, home: u32, position: u64) {
        let reported = self.reports.iter().map(|(partition, reported)| (*partition, reported.to));
        self.awarded_to = reported.chain([(home, position)]).collect();
    }

    #[must_use]
    pub fn next_terms_version(&self) -> u32 {
        self.pending_terms.as_ref().unwrap_or(&self.terms).version.saturating_add(1)
    }

    /// Returns whether the pool's sources equal its uses, and no figure is negative (BW-18).
    #[must_use]
    pub fn is_balanced(&self) -> bool {
        let sources = self.contributions.0 + self.house_funding.0 + self.moved_in.0;
        let uses = self.paid.0 + self.increments.0 + self.reserve.0 + self.moved_out.0;
        sources == uses && self.increments.0 >= 0 && self.reserve.0 >= 0 && self.house_funding.0 >= 0
    }

    pub(crate) fn marks(&self, partition: u32) -> Marks {
        self.marks.get(&partition).copied().unwrap_or_default()
    }

    pub(crate) fn marks_mut(&mut self, partition: u32) -> &mut Marks {
        self.marks.entry(partition).or_default()
    }
}
