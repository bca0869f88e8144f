use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::events::Refused;

pub const VOID_HOLD_MS: i64 = 72 * 3_600_000;

/// Minimum time in ms from the lapse of a void proposal to the next proposal for the same round. A proposal holds the
/// round's awards; in between, they are paid.
const REPEAT_AFTER_MS: i64 = 24 * 3_600_000;

/// Maximum number of void proposals kept per player, including lapsed ones.
const PROPOSALS_MAX: usize = 16;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VoidProposal {
    pub round: u64,
    pub position: u64,
    pub time_ms: i64,
    pub actor: String,
    pub reason: String,
    /// Whether the proposal was rejected or withdrawn.
    pub rejected: bool,
}

impl VoidProposal {
    #[must_use]
    pub fn lapses_ms(&self) -> i64 {
        self.time_ms.saturating_add(VOID_HOLD_MS)
    }

    #[must_use]
    pub fn waits(&self, now_ms: i64) -> bool {
        !self.rejected && now_ms < self.lapses_ms()
    }

    pub(crate) fn add(self, all: &mut Vec<Self>) -> Result<(), Refused> {
        all.retain(|other| self.time_ms < other.lapses_ms().saturating_add(REPEAT_AFTER_MS));
        if all.iter().any(|other| other.round == self.round) {
            return Err(Refused::VoidProposedBefore { round: self.round });
        }
        if all.len() >= PROPOSALS_MAX {
            return Err(Refused::TooManyChanges { most: PROPOSALS_MAX });
        }
        all.push(self);
        Ok(())
    }
}

const CHUNK_MAX: usize = 128;

/// Voided rounds and the positions of their voids, sorted by round, in chunks that copies of the state share.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Voids(Vec<Arc<Vec<(u64, u64)>>>);

impl Voids {
    pub fn position(&self, round: u64) -> Option<u64> {
        let chunk = self.0.get(self.chunk(round))?;
        let index = chunk.binary_search_by_key(&round, |&(round, _)| round).ok()?;
        chunk.get(index).map(|&(_, position)| position)
    }

    pub fn insert(&mut self, round: u64, position: u64) {
        let at = self.chunk(round);
        let Some(chunk) = self.0.get_mut(at).map(Arc::make_mut) else {
            return self.0.push(Arc::new(vec![(round, position)]));
        };
        match chunk.binary_search_by_key(&round, |&(round, _)| round) {
            Ok(index) => chunk[index].1 = position,
            Err(CHUNK_MAX) => self.0.insert(at + 1, Arc::new(vec![(round, position)])),
            Err(index) => {
                chunk.insert(index, (round, position));
                if chunk.len() > CHUNK_MAX {
                    let upper = chunk.split_off(CHUNK_MAX / 2);
                    self.0.insert(at + 1, Arc::new(upper));
                }
            }
        }
    }

    fn chunk(&self, round: u64) -> usize {
        self.0.partition_point(|chunk| chunk[0].0 <= round).saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn voids_are_a_map(rounds in prop::collection::vec(1_u64..2_000, 0..1_500), in_order in any::<bool>()) {
            let mut rounds = rounds;
            if in_order {
                rounds.sort_unstable();
            }
            let (mut voids, mut map) = (Voids::default(), BTreeMap::new());
            for (&round, position) in rounds.iter().zip(1..) {
                voids.insert(round, position);
                map.insert(round, position);
            }
            prop_assert_eq!(voids.0.iter().flat_map(|chunk| chunk.iter().copied()).collect::<Vec<_>>(), Vec::from_iter(map.clone()));
            prop_assert!(voids.0.iter().all(|chunk| (1..=CHUNK_MAX).contains(&chunk.len())));
            for round in 0..2_001 {
                prop_assert_eq!(voids.position(round), map.get(&round).copied());
            }
        }
    }

    #[test]
    fn pl_38_a_void_copies_one_chunk() {
        let mut voids = Voids::default();
        for round in 1..=10_000 {
            voids.insert(round, round);
        }
        assert!(voids.0.len() <= 10_000 / CHUNK_MAX + 1, "chunks are full");
        let mut copy = voids.clone();
        copy.insert(10_001, 1);
        copy.insert(5_000, 1);
        let same = voids.0.iter().zip(&copy.0).filter(|(one, other)| Arc::ptr_eq(one, other)).count();
        assert_eq!(same, voids.0.len() - 2);
    }
}
