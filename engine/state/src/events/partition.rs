//! Events by which partitions exchange data about a pool.
//!
//! All hits and voids of a pool are decided on the pool's stream in partition [`HOME`](crate::HOME). Other partitions
//! *report* contributions, hits and voids ([`PartitionReported`]), and accept bets by the terms and status in a copy of the
//! pool, the *mirror* ([`PoolMirrored`]). A pool retires after all partitions have confirmed its suspension (BW-20). Money
//! in transit between partitions is in [`Account::Interpartition`](crate::Account::Interpartition), so the postings of each
//! partition sum to zero (PL-09).

use serde::{Deserialize, Serialize};

use super::pool::{Award, Decision, PoolStatus, PoolTerms};
use super::void::{ReportedVoids, VoidReturn};
use crate::values::{Currency, Minor, Nano, StreamId};

/// Contributions from a range of another partition's positions, and the hit or void at the last of these positions. By an
/// empty first report (`from` 1, `to` 0), a partition joins the pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartitionReported {
    pub partition: u32,
    pub from: u64,
    pub to: u64,
    /// Contributions in EUR, including those of voided rounds (BW-11).
    pub contributions: Nano,
    pub end: StretchEnd,
    /// Sums over voided rounds whose contributions stay in the pool (PL-38).
    pub voids: Vec<ReportedVoids>,
    /// Pool cycle to which `voids` refers; 0 if `voids` is empty.
    pub cycle: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum StretchEnd {
    /// Hit or void at position `to`.
    Decision(Decision),
    Standing {
        /// Number of open rounds that can still hit the jackpot.
        open_rounds: u64,
        /// Home position that the partition's newest mirror copies; 0 without a mirror.
        mirrored: u64,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolMirrored {
    pub home_position: u64,
    pub terms: PoolTerms,
    pub status: PoolStatus,
    /// Last position in this partition whose contribution the pool includes.
    pub pooled_position: u64,
    /// Last position in this partition whose hit or void is decided.
    pub decided_to: u64,
    pub awards: Vec<MirroredAward>,
    /// Contributions to return to operators' houses in this partition (PL-38).
    pub returns: Vec<VoidReturn>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MirroredAward {
    pub hit: u64,
    pub stream: StreamId,
    pub round: u64,
    pub amount: Minor,
    pub currency: Currency,
    /// In EUR.
    pub paid: Nano,
    /// Part of the award's seed that the house pays, in EUR; 0 in older logs.
    pub seed_from_house: Nano,
}

impl MirroredAward {
    pub(crate) fn from_award(award: &Award) -> Self {
        let Award { hit, round, amount, currency, paid, seed_from_house, .. } = *award;
        Self { hit, stream: award.stream.clone(), round, amount, currency, paid, seed_from_house }
    }

    pub(crate) fn is_for(&self, decision: &Decision) -> bool {
        let Decision::Hit(hit) = decision else { return false };
        let is_amount = self.amount >= Minor::ZERO && self.paid >= Nano::ZERO;
        is_amount
            && (self.hit, &self.stream, self.round, self.currency)
                == (hit.position, &hit.stream, hit.round, hit.currency)
    }
}
