//! Events by which partitions exchange data about a pool.
//!
//! Jackpot hits and voids are decided only on the pool's stream in partition 0, `HOME`. Each other partition
//! *reports* its contributions, hits and voids ([`PartitionReported`]). The partition accepts bets according to the *mirror*
//! ([`PoolMirrored`]), its copy of the pool's terms and status. A pool can retire once all partitions have confirmed its
//! suspension (BW-20). Money that one partition owes another is in `Account::Interpartition`, so the postings of each
//! partition sum to zero (PL-09).

use serde::{Deserialize, Serialize};

use super::pool::{Award, Decision, PoolStatus, PoolTerms};
use super::void::{ReportedVoids, VoidReturn};
use crate::values::{Currency, Minor, Nano, StreamId};

/// Report of another partition: contributions between two positions, and the jackpot hit or void at the last position, if
/// any. A partition joins the pool with an empty first report (`from` 1, `to` 0).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartitionReported {
    pub partition: u32,
    pub from: u64,
    pub to: u64,
    /// Contributions in EUR, including those of voided rounds (BW-11).
    pub contributions: Nano,
    pub end: StretchEnd,
    /// Sums of the contributions that stay in the pool although their rounds were voided (PL-38).
    pub voids: Vec<ReportedVoids>,
    /// Pool cycle (between two awards) to which `voids` refers; 0 if `voids` is empty.
    pub cycle: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum StretchEnd {
    /// The reported range ends with a jackpot hit or void, at position `to`.
    Decision(Decision),
    Standing {
        /// Number of open rounds in the partition that can still hit the jackpot.
        open_rounds: u64,
        /// Position in partition 0 at which the reporting partition last copied the pool; 0 if never.
        mirrored: u64,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolMirrored {
    pub home_position: u64,
    pub terms: PoolTerms,
    pub status: PoolStatus,
    pub pooled_position: u64,
    /// Position of the partition's last decided jackpot hit or void.
    pub decided_to: u64,
    pub awards: Vec<MirroredAward>,
    /// Contributions of voided rounds that this event returns to operators' house accounts (PL-38).
    pub returns: Vec<VoidReturn>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MirroredAward {
    pub hit: u64,
    pub stream: StreamId,
    pub round: u64,
    pub amount: Minor,
    pub currency: Currency,
    /// Paid amount in EUR.
    pub paid: Nano,
    /// Part of the award that the operator's house account pays as seed, in EUR; 0 in older logs.
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
