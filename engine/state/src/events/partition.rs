//! Events between partitions about a pool.
//!
//! A pool is decided on its stream at [`HOME`](crate::HOME). Other partitions *report* contributions, hits and voids
//! ([`PartitionReported`]); their *mirrors* ([`PoolMirrored`]) decide which bets they accept. A pool retires after all
//! have confirmed its suspension (BW-20). [`Account::Interpartition`](crate::Account::Interpartition) has the money in
//! between, so each partition's sums are zero (PL-09).

use serde::{Deserialize, Serialize};

use super::pool::{Award, Decision, PoolStatus, PoolTerms};
use super::void::{ReportedVoids, VoidReturn};
use crate::values::{Currency, Minor, Nano, StreamId};

/// Contributions of a stretch of another partition, and its decision. An empty first report (`from` 1, `to` 0) joins
/// the pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartitionReported {
    pub partition: u32,
    pub from: u64,
    pub to: u64,
    /// EUR, also of voided rounds (BW-11).
    pub contributions: Nano,
    pub end: StretchEnd,
    /// Voids with kept contributions (PL-38).
    pub voids: Vec<ReportedVoids>,
    /// Cycle of the pool to which the sums of voids refer, or 0.
    pub cycle: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum StretchEnd {
    /// At the last position.
    Decision(Decision),
    /// Without a hit or void.
    Standing {
        /// Contributing rounds that can still hit.
        open_rounds: u64,
        /// Home position of the mirror, or 0.
        mirrored: u64,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolMirrored {
    pub home_position: u64,
    pub terms: PoolTerms,
    pub status: PoolStatus,
    /// Position in this partition.
    pub pooled_position: u64,
    /// Position in this partition.
    pub decided_to: u64,
    pub awards: Vec<MirroredAward>,
    /// To houses of this partition (PL-38).
    pub returns: Vec<VoidReturn>,
}

/// Part of an [`Award`] for the winner's partition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MirroredAward {
    pub hit: u64,
    pub stream: StreamId,
    pub round: u64,
    pub amount: Minor,
    pub currency: Currency,
    /// EUR.
    pub paid: Nano,
    /// EUR; 0 in older logs.
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
