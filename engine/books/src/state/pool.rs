//! A jackpot pool: its figures, and how far it has taken up each partition.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::events::{Hit, Incident, MirroredAward, PoolStatus, PoolTerms, VoidReturn};
use crate::values::{Head, Nano};

/// The figures of a pool as of the last commit of its stream; EUR.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolState {
    /// The pool's name.
    pub name: Arc<str>,
    /// Version and last commit of the pool's stream.
    pub head: Head,
    /// The terms of the running cycle.
    pub terms: PoolTerms,
    /// Terms that take effect with the next cycle (BW-20).
    pub pending_terms: Option<PoolTerms>,
    /// Whether bets may contribute.
    pub status: PoolStatus,
    /// 1, 2, 3; each award ends one.
    pub cycle: u64,
    /// K: increments of the running cycle.
    pub increments: Nano,
    /// R: reserve.
    pub reserve: Nano,
    /// H: seed money paid in by the house.
    pub house_funding: Nano,
    /// All contributions ever pooled, less those taken back.
    pub contributions: Nano,
    /// All awards ever booked as paid.
    pub paid: Nano,
    /// Received from retired pools.
    pub moved_in: Nano,
    /// Given away at retirement.
    pub moved_out: Nano,
    /// Logged time of the hit that was awarded last, Unix ms (BW-17).
    pub last_hit_ms: Option<i64>,
    pub(crate) marks: BTreeMap<u32, Marks>,
    pub(crate) received_from: BTreeSet<SmolStr>,
    /// Position of its last suspension; 0 for none.
    pub(crate) suspended_at: u64,
    /// Hits up to these positions of the partitions are awarded although the pool is suspended (BW-20).
    pub(crate) awarded_to: BTreeMap<u32, u64>,
    /// Approved incidents, by name (PL-38).
    pub(crate) incidents: Arc<BTreeMap<SmolStr, Incident>>,
    /// The first minute whose voided contributions can be returned, Unix time.
    pub(crate) returns_from: i64,
    /// At home: the reports of other partitions.
    pub(crate) reports: BTreeMap<u32, Reported>,
    /// The position at home that a mirror copies; 0 at home.
    pub(crate) home_position: u64,
}

/// How far a pool has taken up one partition; positions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Marks {
    /// Contributions are pooled up to here.
    pub pooled_to: u64,
    /// Hits and voids are decided up to here.
    pub decided_to: u64,
    /// Contributions after here belong to the running cycle.
    pub cycle_from: u64,
}

/// The latest reports of another partition to a pool.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Reported {
    /// Last position of the last report.
    pub to: u64,
    /// Open rounds by the last report that named them.
    pub open_rounds: u64,
    /// The position at home that the partition's mirror had copied then.
    pub mirrored: u64,
    /// Awards of the partition's hits that its mirror may not have copied yet, with their positions at home.
    pub awards: Vec<(u64, MirroredAward)>,
    /// Returns to houses of the partition, in the same way.
    pub returns: Vec<(u64, VoidReturn)>,
}

impl Reported {
    /// Whether bets of the partition may still come, or rounds that can hit (BW-20).
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

    /// P, the base pool: seed plus increments (BW-12).
    #[must_use]
    pub fn base(&self) -> Nano {
        Nano(self.terms.seed.0 + self.increments.0)
    }

    /// Position up to which a partition's contributions are in the figures.
    #[must_use]
    pub fn pooled_to(&self, partition: u32) -> u64 {
        self.marks(partition).pooled_to
    }

    /// Position up to which a partition's hits and voids are decided.
    #[must_use]
    pub fn decided_to(&self, partition: u32) -> u64 {
        self.marks(partition).decided_to
    }

    /// Position up to which another partition has reported to the pool; 0 before it has.
    #[must_use]
    pub fn reported_to(&self, partition: u32) -> u64 {
        self.reports.get(&partition).map_or(0, |reported| reported.to)
    }

    /// The position at home that a mirror copies; `None` for the pool itself. A mirror has terms and status and no
    /// figures.
    #[must_use]
    pub fn mirrors(&self) -> Option<u64> {
        (self.home_position > 0).then_some(self.home_position)
    }

    /// Whether a hit can be awarded now: one that came after the suspension waits until the pool resumes or the platform
    /// releases it (BW-20).
    #[must_use]
    pub fn awards_now(&self, hit: &Hit) -> bool {
        let awarded_to = || self.awarded_to.get(&hit.partition).copied().unwrap_or_default();
        self.status != PoolStatus::Suspended || hit.position <= awarded_to()
    }

    /// The incidents for which contributions of voided rounds are returned, by name (PL-38).
    pub fn incidents(&self) -> impl Iterator<Item = &Incident> {
        self.incidents.values()
    }

    /// Whether another partition may not have copied all awards of its hits.
    #[must_use]
    pub fn awards_for(&self, partition: u32) -> bool {
        self.reports.get(&partition).is_some_and(|reported| !reported.awards.is_empty())
    }

    /// From here on, hits so far are awarded although the pool is suspended.
    pub(crate) fn release_hits(&mut self, home: u32, position: u64) {
        let reported = self.reports.iter().map(|(partition, reported)| (*partition, reported.to));
        self.awarded_to = reported.chain([(home, position)]).collect();
    }

    /// The version that a change of terms must carry.
    #[must_use]
    pub fn next_terms_version(&self) -> u32 {
        self.pending_terms.as_ref().unwrap_or(&self.terms).version.saturating_add(1)
    }

    /// BW-18: contributions + H = paid + K + R, money moved between pools counted in; and nothing below zero.
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
