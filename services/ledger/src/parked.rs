//! Proposals that wait for the next group commit. Operators take turns, and each may append a number of bytes in
//! proportion to its weight; unused bytes carry over to the operator's next turn.

use crate::queue::Proposed;
use motherlode_runtime::Operators;
use motherlode_state::{SmolStr, StreamId};
use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};
use tokio::time::Instant;

/// Number of bytes that an operator with weight 1 may append per turn; enough for a few bets.
const TURN_BYTES: usize = 2 << 10;
/// Minimum and maximum number of proposals per group commit while operators compete. A proposal waits for at most two
/// groups, so larger groups would increase its delay.
const COMPETING_MIN: usize = 32;
const COMPETING_MAX: usize = 256;
const DECIDED_US: u128 = 16;
/// Time for which an operator counts as competing after its last proposal.
const COMPETE: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(crate) struct ParkedProposals {
    configured: Operators,
    queues: BTreeMap<SmolStr, Queue>,
    turns: VecDeque<SmolStr>,
    pub(crate) count: usize,
    latest: SmolStr,
    compete_until: Option<Instant>,
    pub(crate) append_took: Duration,
}

#[derive(Default)]
struct Queue {
    proposals: VecDeque<Proposed>,
    left: usize,
    in_turn: bool,
}

impl ParkedProposals {
    pub(crate) fn new(configured: Operators) -> Self {
        Self { configured, ..Self::default() }
    }

    pub(crate) fn note(&mut self, stream: &StreamId, now: Instant) {
        let StreamId::Player { operator, .. } = stream else { return };
        if self.latest != *operator {
            let is_first = self.latest.is_empty();
            self.latest = operator.clone();
            self.compete_until = (!is_first).then(|| now + COMPETE);
        }
    }

    pub(crate) fn commits_max(&self, alone: usize, now: Instant) -> usize {
        if self.compete_until.is_none_or(|until| until <= now) {
            return alone;
        }
        let decided = usize::try_from(self.append_took.as_micros() / DECIDED_US).unwrap_or(usize::MAX);
        decided.clamp(COMPETING_MIN, COMPETING_MAX).min(alone)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(crate) fn park(&mut self, proposed: Proposed) -> Option<Proposed> {
        let StreamId::Player { operator, .. } = &proposed.proposal.stream else { return Some(proposed) };
        let operator = operator.clone();
        let queue = self.queues.entry(operator.clone()).or_default();
        if queue.proposals.is_empty() {
            self.turns.push_back(operator);
        }
        queue.proposals.push_back(proposed);
        self.count += 1;
        None
    }

    pub(crate) fn take(&mut self, most: usize) -> Vec<Proposed> {
        let mut taken = Vec::with_capacity(most.min(self.count));
        while taken.len() < most
            && let Some(operator) = self.turns.pop_front()
        {
            let Some(queue) = self.queues.get_mut(&operator) else { continue };
            if !std::mem::replace(&mut queue.in_turn, true) {
                queue.left += TURN_BYTES * self.configured.weight(&operator) as usize;
            }
            while taken.len() < most
                && let Some(next) = queue.proposals.front()
                && let Some(left) = queue.left.checked_sub(next.proposal.bytes())
            {
                queue.left = left;
                taken.extend(queue.proposals.pop_front());
            }
            if queue.proposals.is_empty() {
                self.queues.remove(&operator);
            } else if taken.len() == most {
                self.turns.push_front(operator);
            } else {
                queue.in_turn = false;
                self.turns.push_back(operator);
            }
        }
        self.count -= taken.len();
        taken
    }

    pub(crate) fn has(&self, stream: &StreamId, request_id: &str) -> bool {
        let StreamId::Player { operator, .. } = stream else { return false };
        let mut waiting = self.queues.get(operator).into_iter().flat_map(|queue| &queue.proposals);
        waiting.any(|waiting| waiting.proposal.stream == *stream && waiting.proposal.request_id == request_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_b3_a_group_is_small_for_a_second_after_the_proposal_of_another_operator() {
        let (mut parked, start) = (ParkedProposals::default(), Instant::now());
        let [acme, other] = ["acme", "other"].map(|operator| StreamId::player(operator, "alice"));
        let after = |ms| start + Duration::from_millis(ms);
        parked.note(&acme, start);
        parked.note(&acme, after(10));
        parked.note(&StreamId::System, after(20));
        assert_eq!(parked.commits_max(512, after(20)), 512, "one operator proposes");
        parked.note(&other, after(100));
        assert_eq!([512, 8].map(|alone| parked.commits_max(alone, after(1_099))), [32, 8]);
        parked.append_took = Duration::from_micros(1_600);
        assert_eq!(parked.commits_max(512, after(1_099)), 100, "a commit is decided in 16 us");
        parked.append_took = Duration::from_millis(500);
        assert_eq!([parked.commits_max(512, after(1_099)), parked.commits_max(512, after(1_100))], [256, 512]);
    }
}
