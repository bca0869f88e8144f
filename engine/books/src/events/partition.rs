//! Events between partitions about a pool.
//!
//! Each partition's log is folded and audited separately, so it contains all that its fold depends on. A pool's
//! decisions are on its stream at [`HOME`](crate::HOME). Another partition *reports* its contributions, hits and voids
//! there ([`PartitionReported`]) and has a *mirror* of the pool, a stream with copies of home's decisions
//! ([`PoolMirrored`]). The order of the pool's stream at home decides.
//!
//! Bets are judged by their partition's mirror. A pool is retired only after every partition has confirmed the
//! suspension and has nothing outstanding (BW-20).
//!
//! Money between partitions is on [`Account::Interpartition`](crate::Account::Interpartition), so that each partition's
//! sums are zero at every position (PL-09).

use serde::{Deserialize, Serialize};

use super::pool::{Award, Decision, PoolStatus, PoolTerms};
use super::void::{ReportedVoids, VoidReturn};
use crate::values::{Currency, Minor, Nano, StreamId};

/// Contributions and decision of a stretch of another partition, at home. Stretches are contiguous.
///
/// A partition joins the pool with an empty first report (`from` 1, `to` 0), and is mirrored from then on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartitionReported {
    /// Reporting partition.
    pub partition: u32,
    /// First position, one after the last reported one.
    pub from: u64,
    /// Last position.
    pub to: u64,
    /// Sum of contributions including those of voided rounds (BW-11); EUR.
    pub contributions: Nano,
    /// End of the stretch.
    pub end: StretchEnd,
    /// Voids whose contributions stay in the pool (PL-38).
    pub voids: Vec<ReportedVoids>,
    /// Cycle of the pool that the voids' sums refer to; 0 without voids.
    pub cycle: u64,
}

/// End of a reported stretch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum StretchEnd {
    /// The only hit or void, at the last position.
    Decision(Decision),
    /// No hit or void; the partition's state at the last position.
    Standing {
        /// Open rounds that contributed and can still hit.
        open_rounds: u64,
        /// Position of home that the mirror has copied; 0 for none.
        mirrored: u64,
    },
}

/// State of the pool at home, in another partition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolMirrored {
    /// Position of the pool's commit at home that the rest refers to.
    pub home_position: u64,
    /// Terms of the running cycle.
    pub terms: PoolTerms,
    /// Whether bets may contribute.
    pub status: PoolStatus,
    /// Last position of this partition with pooled contributions.
    pub pooled_to: u64,
    /// Last position of this partition with decided hits and voids.
    pub decided_to: u64,
    /// New awards of this partition's hits, in order.
    pub awards: Vec<MirroredAward>,
    /// New returns of contributions to houses of this partition (PL-38).
    pub returns: Vec<VoidReturn>,
}

/// Part of an [`Award`] that the winner's partition needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MirroredAward {
    /// Position of the hit in the winner's partition.
    pub hit: u64,
    /// Winner.
    pub stream: StreamId,
    /// Winner's round.
    pub round: u64,
    /// Win in the player's currency.
    pub amount: Minor,
    /// Player's currency.
    pub currency: Currency,
    /// Amount booked as paid, EUR.
    pub paid: Nano,
    /// House's share of the seed, EUR; 0 in older logs.
    pub seed_from_house: Nano,
}

impl MirroredAward {
    pub(crate) fn of(award: &Award) -> Self {
        let Award { hit, round, amount, currency, paid, seed_from_house, .. } = *award;
        Self { hit, stream: award.stream.clone(), round, amount, currency, paid, seed_from_house }
    }

    pub(crate) fn is_of(&self, decision: &Decision) -> bool {
        let Decision::Hit(hit) = decision else { return false };
        let is_amount = self.amount >= Minor::ZERO && self.paid >= Nano::ZERO;
        is_amount
            && (self.hit, &self.stream, self.round, self.currency)
                == (hit.position, &hit.stream, hit.round, hit.currency)
    }
}
