//! Proposals that wait for room in the next group: operators take turns, each in the order of its proposals.
//!
//! Cost: a look-up by name a proposal, and only while a full group waits for the disk. How many there can be is bounded by the slots
//! of the queue, of which each operator has a share.

use crate::queue::Proposed;
use motherlode_books::{SmolStr, StreamId};
use std::collections::{BTreeMap, VecDeque};

/// The proposals that wait, by operator.
#[derive(Default)]
pub(crate) struct Parked {
    queues: BTreeMap<SmolStr, VecDeque<Proposed>>,
    /// The operators that have proposals here, in the order of their next turns.
    turns: VecDeque<SmolStr>,
    /// Number of proposals.
    pub(crate) count: usize,
}

impl Parked {
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds a proposal on a player's stream; returns any other.
    pub(crate) fn park(&mut self, proposed: Proposed) -> Option<Proposed> {
        let StreamId::Player { operator, .. } = &proposed.proposal.stream else { return Some(proposed) };
        let operator = operator.clone();
        let queue = self.queues.entry(operator.clone()).or_default();
        if queue.is_empty() {
            self.turns.push_back(operator);
        }
        queue.push_back(proposed);
        self.count += 1;
        None
    }

    /// Takes the next proposals, one of each operator in turn.
    pub(crate) fn take(&mut self, most: usize) -> Vec<Proposed> {
        let mut taken = Vec::with_capacity(most.min(self.count));
        while taken.len() < most
            && let Some(operator) = self.turns.pop_front()
        {
            let Some(queue) = self.queues.get_mut(&operator) else { continue };
            taken.extend(queue.pop_front());
            if queue.is_empty() {
                self.queues.remove(&operator);
            } else {
                self.turns.push_back(operator);
            }
        }
        self.count -= taken.len();
        taken
    }

    /// Whether a request's proposal waits here.
    pub(crate) fn has(&self, stream: &StreamId, request_id: &str) -> bool {
        let StreamId::Player { operator, .. } = stream else { return false };
        let mut waiting = self.queues.get(operator).into_iter().flatten();
        waiting.any(|waiting| waiting.proposal.stream == *stream && waiting.proposal.request_id == request_id)
    }
}
