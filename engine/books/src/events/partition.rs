//! Several partitions: the events by which they tell each other about a pool.
//!
//! Each partition's log is folded and audited by itself, so what its fold depends on stands in its own log. A pool is decided
//! on its stream at [`HOME`](crate::HOME). Another partition *reports* there, stretch by stretch, what its bets leave for the
//! pool ([`PartitionReported`]); and it keeps a *mirror* of the pool, a stream of the same name on which stands nothing but what
//! was decided at home ([`PoolMirrored`]). So nothing depends on how partitions interleave: the order of the pool's stream at home
//! decides, between partitions too.
//!
//! A bet is judged by its partition's mirror, so a change of status or terms holds there from the next mirroring on; a pool
//! is retired only when every partition has said that it knows of the suspension and has nothing outstanding (BW-20).
//!
//! Money between the two is on [`Account::Interpartition`](crate::Account::Interpartition): the sums of each partition are zero
//! at every position (PL-09), and over all partitions it holds what is said on one side and not yet on the other.

use serde::{Deserialize, Serialize};

use super::pool::{Award, Decision, PoolStatus, PoolTerms};
use super::void::{ReportedVoids, VoidReturn};
use crate::values::{Currency, Minor, Nano, StreamId};

/// At home: the contributions and the decision that a stretch of another partition leaves for the pool. Stretches are dense.
///
/// A partition's first report is empty (`from` 1, `to` 0, nothing in it): with it the partition joins the pool, and only then
/// is it sent mirrors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartitionReported {
    /// The partition that reports.
    pub partition: u32,
    /// First position of the stretch: one after the last that was reported to this pool.
    pub from: u64,
    /// Last position.
    pub to: u64,
    /// Sum of the stretch's contributions to the pool (BW-11), those of voided rounds included; EUR.
    pub contributions: Nano,
    /// The end of the stretch.
    pub end: StretchEnd,
    /// Voids of the stretch whose contributions stay in the pool (PL-38).
    pub voids: Vec<ReportedVoids>,
    /// The pool's cycle that the voids' sums rest on; 0 without voids.
    pub cycle: u64,
}

/// The end of a reported stretch: a decision to be taken, or the end of the partition at that time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum StretchEnd {
    /// The stretch's only hit or void, at its last position.
    Decision(Decision),
    /// No hit or void is in the stretch; how the pool stands in the partition at its last position.
    Standing {
        /// Open rounds that contributed and can still hit.
        open_rounds: u64,
        /// Position at home that the partition's mirror has copied; 0 for none.
        mirrored: u64,
    },
}

/// In another partition: the pool's state at home, and how far the pool has taken this partition up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolMirrored {
    /// Position at home of the commit of the pool's stream as of which all else stands.
    pub home_position: u64,
    /// The terms of the running cycle.
    pub terms: PoolTerms,
    /// Whether bets may contribute.
    pub status: PoolStatus,
    /// This partition's contributions are pooled up to here.
    pub pooled_to: u64,
    /// This partition's hits and voids are decided up to here.
    pub decided_to: u64,
    /// The awards of this partition's hits since the last mirroring, in order of the hits.
    pub awards: Vec<MirroredAward>,
    /// Contributions that were returned to houses of this partition since the last mirroring (PL-38).
    pub returns: Vec<VoidReturn>,
}

/// The part of an [`Award`] that the winner's partition needs to pay it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MirroredAward {
    /// Position of the hit in the winner's partition.
    pub hit: u64,
    /// The winner.
    pub stream: StreamId,
    /// The winner's round.
    pub round: u64,
    /// The player's win, in the player's currency.
    pub amount: Minor,
    /// The player's currency.
    pub currency: Currency,
    /// The amount booked as paid, EUR.
    pub paid: Nano,
    /// The house's share of the seed, EUR; 0 in older logs.
    pub seed_from_house: Nano,
}

impl MirroredAward {
    /// The part of an award that its winner's partition must know.
    pub(crate) fn of(award: &Award) -> Self {
        let Award { hit, round, amount, currency, paid, seed_from_house, .. } = *award;
        Self { hit, stream: award.stream.clone(), round, amount, currency, paid, seed_from_house }
    }

    /// Whether it can be the price of a hit.
    pub(crate) fn is_of(&self, decision: &Decision) -> bool {
        let Decision::Hit(hit) = decision else { return false };
        let is_amount = self.amount >= Minor::ZERO && self.paid >= Nano::ZERO;
        is_amount
            && (self.hit, &self.stream, self.round, self.currency)
                == (hit.position, &hit.stream, hit.round, hit.currency)
    }
}
