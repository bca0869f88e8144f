//! A jackpot pool: its figures, and what waits to be decided about it.
//!
//! Players' commits never write to a pool. A bet leaves a contribution, a hit or a void leaves a [`Decision`], both under
//! their position in the log; the pool's own stream then takes them up strictly in that order (BW-16: "as of its place in
//! the log"). [`PoolState`] is what the pool's stream has made of them, [`Pending`] what still waits.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use crate::events::event::PoolTerms;
use crate::events::partition::MirroredAward;
use crate::state::books::Head;
use crate::values::currency::Currency;
use crate::values::money::{CoinValue, Minor, Nano};
use crate::values::rate::FxRate;
use crate::values::stream::StreamId;

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
    pub(crate) received_from: BTreeSet<String>,
    /// Position of its last suspension; 0 for none.
    pub(crate) suspended_at: u64,
    /// At home: what other partitions have reported.
    pub(crate) reports: BTreeMap<u32, Reported>,
    /// Of a mirror: the position at home that it copies; 0 at home.
    pub(crate) home_position: u64,
}

/// Whether a pool takes bets (BW-20).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum PoolStatus {
    /// Bets contribute and can win.
    Active,
    /// A bet placed now neither contributes nor can win; what was staked before is still pooled and paid by its place in
    /// the log.
    Suspended,
    /// Closed for ever, with what it handed over.
    Retired {
        /// The receiving pool.
        into: String,
        /// K at retirement.
        increments: Nano,
        /// R at retirement.
        reserve: Nano,
    },
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

/// What a pool knows of another partition.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Reported {
    /// Last position of the last report.
    pub to: u64,
    /// Rounds open as of the last report that said so.
    pub open_rounds: u64,
    /// What the partition's mirror had copied then.
    pub mirrored: u64,
    /// Awards of the partition's hits that its mirror may not have copied yet, with their positions at home.
    pub awards: Vec<(u64, MirroredAward)>,
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

    /// Of a mirror, the position at home that it copies; `None` for the pool itself. A mirror has terms and status and no
    /// figures.
    #[must_use]
    pub fn mirrors(&self) -> Option<u64> {
        (self.home_position > 0).then_some(self.home_position)
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

/// What the pool's stream must decide, in log order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Decision {
    /// A win to price.
    Hit(Hit),
    /// A contribution to take back.
    TakeBack(TakeBack),
}

impl Decision {
    /// The partition that it stands in.
    #[must_use]
    pub fn partition(&self) -> u32 {
        match self {
            Self::Hit(hit) => hit.partition,
            Self::TakeBack(take_back) => take_back.partition,
        }
    }

    /// Where it stands in its partition's log.
    #[must_use]
    pub fn position(&self) -> u64 {
        match self {
            Self::Hit(hit) => hit.position,
            Self::TakeBack(take_back) => take_back.position,
        }
    }
}

/// A jackpot hit with all that its price depends on, apart from the pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hit {
    /// The partition that it stands in.
    pub partition: u32,
    /// Its place there.
    pub position: u64,
    /// The logged time of its commit, Unix ms.
    pub time_ms: i64,
    /// The winner.
    pub stream: StreamId,
    /// The winner's round.
    pub round: u64,
    /// Of the bet.
    pub currency: Currency,
    /// Of the bet.
    pub coin_value: CoinValue,
    /// Of the bet.
    pub rate: FxRate,
}

/// A voided round's contribution (BW-19).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakeBack {
    /// The partition of the round.
    pub partition: u32,
    /// Position of the void.
    pub position: u64,
    /// Position of the bet.
    pub contributed_at: u64,
    /// The contribution, EUR.
    pub amount: Nano,
}

/// An award that has not reached the player yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnpaidAward {
    /// The pool.
    pub pool: Arc<str>,
    /// The winner.
    pub stream: StreamId,
    /// The winner's round.
    pub round: u64,
    /// What is owed, in the player's currency.
    pub amount: Minor,
    /// The player's currency.
    pub currency: Currency,
    /// What was booked for it, EUR.
    pub paid: Nano,
    /// Whether it waits for room on the account.
    pub set_aside: bool,
}

/// What players' streams hold ready for a pool.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pending {
    pub totals: PendingTotals,
    /// By partition, ascending positions. Entries at or below the pool's marks are gone.
    pub contributions: BTreeMap<u32, VecDeque<(u64, Nano)>>,
    pub decisions: BTreeMap<u32, VecDeque<Decision>>,
}

/// The figures of [`Pending`] that are sums, so that changes to them can be added.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PendingTotals {
    /// Holding of the account `ContributionsDue`.
    pub due: Nano,
    /// Holding of the account `JackpotPayable`.
    pub payable: Nano,
    /// Open rounds that contributed and can still hit.
    pub open_rounds: i64,
}

impl PendingTotals {
    pub fn add(&mut self, more: Self) {
        self.due.0 += more.due.0;
        self.payable.0 += more.payable.0;
        self.open_rounds += more.open_rounds;
    }
}

impl Pending {
    /// Contributions at positions `from..=to`, ascending. Costs O(log n) to find the first.
    pub fn contributions(&self, partition: u32, from: u64, to: u64) -> impl Iterator<Item = Nano> + '_ {
        self.contributions.get(&partition).into_iter().flat_map(move |queue| {
            let start = queue.partition_point(|(position, _)| *position < from);
            queue.range(start..).take_while(move |(position, _)| *position <= to).map(|(_, amount)| *amount)
        })
    }

    /// Whether a contribution, or a reported stretch of them, stands at a position.
    pub fn ends_at(&self, partition: u32, to: u64) -> bool {
        let queue = self.contributions.get(&partition);
        queue.is_some_and(|queue| queue.binary_search_by_key(&to, |(position, _)| *position).is_ok())
    }

    /// Decisions after a position, in order.
    pub fn decisions_after(&self, partition: u32, decided_to: u64) -> impl Iterator<Item = &Decision> {
        self.decisions
            .get(&partition)
            .into_iter()
            .flatten()
            .skip_while(move |decision| decision.position() <= decided_to)
    }

    /// Whether anything of any partition waits beyond the pool's marks.
    pub fn waits(&self, pool: &PoolState) -> bool {
        let contributions = self.contributions.iter().any(|(partition, queue)| {
            queue.back().is_some_and(|(position, _)| *position > pool.marks(*partition).pooled_to)
        });
        let decisions = self.decisions.iter().any(|(partition, queue)| {
            queue.back().is_some_and(|last| last.position() > pool.marks(*partition).decided_to)
        });
        contributions || decisions
    }

    /// Adds what a batch left.
    pub fn join(&mut self, more: Self) {
        self.totals.add(more.totals);
        for (partition, mut queue) in more.contributions {
            self.contributions.entry(partition).or_default().append(&mut queue);
        }
        for (partition, mut queue) in more.decisions {
            self.decisions.entry(partition).or_default().append(&mut queue);
        }
    }

    /// Drops what the pool has taken up.
    pub fn forget(&mut self, pool: &PoolState) {
        for (partition, marks) in &pool.marks {
            if let Some(queue) = self.contributions.get_mut(partition) {
                while queue.front().is_some_and(|(position, _)| *position <= marks.pooled_to) {
                    queue.pop_front();
                }
            }
            if let Some(queue) = self.decisions.get_mut(partition) {
                while queue.front().is_some_and(|first| first.position() <= marks.decided_to) {
                    queue.pop_front();
                }
            }
        }
    }
}
