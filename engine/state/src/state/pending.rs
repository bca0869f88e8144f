//! Entries that wait for a pool: contributions and [`Decision`]s from players' commits. The pool coordinator
//! handles these entries in log order, by commits on the pool's stream (BW-16).

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::pool::PoolState;
use super::void_sums::PendingVoid;
use crate::events::{Decision, MirroredAward};
use crate::values::{Currency, Minor, Nano, StreamId};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnpaidAward {
    pub pool: Arc<str>,
    pub stream: StreamId,
    pub round: u64,
    pub amount: Minor,
    pub currency: Currency,
    pub paid: Nano,
    pub seed_from_house: Nano,
    /// Whether the award stays unpaid because it would raise the account's balance above its maximum.
    pub set_aside: bool,
}

impl UnpaidAward {
    pub(crate) fn new(award: &MirroredAward, pool: Arc<str>) -> Self {
        let MirroredAward { stream, round, amount, currency, paid, seed_from_house, .. } = award.clone();
        Self { pool, stream, round, amount, currency, paid, seed_from_house, set_aside: false }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pending {
    pub totals: PendingTotals,
    /// Contributions not yet in the pool, per partition: position and amount, in ascending order.
    pub contributions: BTreeMap<u32, VecDeque<(u64, Nano)>>,
    pub decisions: BTreeMap<u32, VecDeque<Decision>>,
    pub voids: BTreeMap<u32, VecDeque<PendingVoid>>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PendingTotals {
    /// Balance of `ContributionsDue`.
    pub due: Nano,
    /// Balance of `JackpotPayable`.
    pub payable: Nano,
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
    pub fn contributions(&self, partition: u32, from: u64, to: u64) -> impl Iterator<Item = Nano> + '_ {
        self.contributions.get(&partition).into_iter().flat_map(move |queue| {
            let start = queue.partition_point(|(position, _)| *position < from);
            queue.range(start..).take_while(move |(position, _)| *position <= to).map(|(_, amount)| *amount)
        })
    }

    pub fn ends_at(&self, partition: u32, to: u64) -> bool {
        let queue = self.contributions.get(&partition);
        queue.is_some_and(|queue| queue.binary_search_by_key(&to, |(position, _)| *position).is_ok())
    }

    pub fn decisions_after(&self, partition: u32, decided_to: u64) -> impl Iterator<Item = &Decision> {
        self.decisions
            .get(&partition)
            .into_iter()
            .flatten()
            .skip_while(move |decision| decision.position() <= decided_to)
    }

    pub fn last_before(&self, partition: u32, before: u64) -> Option<u64> {
        let queue = self.contributions.get(&partition)?;
        let end = queue.partition_point(|(position, _)| *position < before);
        queue.get(end.checked_sub(1)?).map(|(position, _)| *position)
    }

    pub fn voids(&self, partition: u32, from: u64, to: u64) -> impl Iterator<Item = &PendingVoid> {
        self.voids.get(&partition).into_iter().flat_map(move |queue| {
            let start = queue.partition_point(|void| void.position < from);
            queue.range(start..).take_while(move |void| void.position <= to)
        })
    }

    pub fn waits(&self, pool: &PoolState) -> bool {
        let contributions = self.contributions.iter().any(|(partition, queue)| {
            queue.back().is_some_and(|(position, _)| *position > pool.marks(*partition).pooled_position)
        });
        let decisions = self.decisions.iter().any(|(partition, queue)| {
            queue.back().is_some_and(|last| last.position() > pool.marks(*partition).decided_to)
        });
        let voids = self.voids.iter().any(|(partition, queue)| {
            queue.back().is_some_and(|last| last.position > pool.marks(*partition).pooled_position)
        });
        contributions || decisions || voids
    }

    pub fn join(&mut self, more: Self) {
        self.totals.add(more.totals);
        for (partition, mut queue) in more.contributions {
            self.contributions.entry(partition).or_default().append(&mut queue);
        }
        for (partition, mut queue) in more.decisions {
            self.decisions.entry(partition).or_default().append(&mut queue);
        }
        for (partition, mut queue) in more.voids {
            self.voids.entry(partition).or_default().append(&mut queue);
        }
    }

    pub fn forget(&mut self, pool: &PoolState) {
        for (partition, marks) in &pool.marks {
            if let Some(queue) = self.contributions.get_mut(partition) {
                while queue.front().is_some_and(|(position, _)| *position <= marks.pooled_position) {
                    queue.pop_front();
                }
            }
            if let Some(queue) = self.decisions.get_mut(partition) {
                while queue.front().is_some_and(|first| first.position() <= marks.decided_to) {
                    queue.pop_front();
                }
            }
            if let Some(queue) = self.voids.get_mut(partition) {
                while queue.front().is_some_and(|first| first.position <= marks.pooled_position) {
                    queue.pop_front();
                }
            }
        }
    }
}
