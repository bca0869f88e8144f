//! Events between partitions about a pool.
//!
//! Each partition's log is folded and audited separately. A pool is decided on its stream at [`HOME`](crate::HOME),
//! where other partitions *report* contributions, hits and voids ([`PartitionReported`]). They have a *mirror* of the
//! pool ([`PoolMirrored`]), by which their bets are judged. A pool is retired after all have confirmed its suspension
//! (BW-20). Money between partitions is on [`Account::Interpartition`](crate::Account::Interpartition), so each one's
//! sums are zero (PL-09).

use serde::{Deserialize, Serialize};

use super::pool::{Award, Decision, PoolStatus, PoolTerms};
use super::void::{ReportedVoids, VoidReturn};
use crate::values::{Currency, Minor, Nano, StreamId};

/// Stretch of another partition: its contributions and decision. An empty first report (`from` 1, `to` 0) joins the
/// pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartitionReported {
    /// Reporting partition.
    pub partition: u32,
    /// First position, contiguous.
    pub from: u64,
    /// Last position.
    pub to: u64,
    /// Contributions, also of voided rounds (BW-11); EUR.
    pub contributions: Nano,
    /// End of the stretch.
    pub end: StretchEnd,
    /// Voids with kept contributions (PL-38).
    pub voids: Vec<ReportedVoids>,
    /// Pool's cycle for the voids' sums, or 0.
    pub cycle: u64,
}

/// End of a reported stretch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum StretchEnd {
    /// Hit or void at the last position.
    Decision(Decision),
    /// State at the last position, without a hit or void.
    Standing {
        /// Contributing rounds that can still hit.
        open_rounds: u64,
        /// Home position in the mirror; 0 for none.
        mirrored: u64,
    },
}

/// Home's state of a pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolMirrored {
    /// Home position of this state.
    pub home_position: u64,
    /// Terms of the running cycle.
    pub terms: PoolTerms,
    /// Whether bets may contribute.
    pub status: PoolStatus,
    /// Last pooled position of this partition.
    pub pooled_to: u64,
    /// Last decided position of this partition.
    pub decided_to: u64,
    /// New awards of this partition's hits.
    pub awards: Vec<MirroredAward>,
    /// New returns to houses of this partition (PL-38).
    pub returns: Vec<VoidReturn>,
}

/// Part of an [`Award`] for the winner's partition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MirroredAward {
    /// Position of the hit there.
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
    /// House's seed share, EUR; 0 in older logs.
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
