//! Work that competing operators may do per round of a thread.
//!
//! While several operators call, all connections of an operator share a number of work units per round of a thread
//! ([`rounds`](super::rounds)). The number depends on the operator's weight only, so a hundred connections or streams get no
//! more work than one. A unit is a poll of a task, or a call that the task begins or answers. No call is refused, and an
//! operator that calls alone is not slowed down. Connections without a known caller count as one operator.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

pub(super) const TOGETHER_MAX: usize = 64;
/// Work units per round at the highest weight. A smaller number shortens the wait of other operators.
const COMPETING_MAX: usize = 16;
const COMPETE_MS: u64 = 1_000;

pub(super) struct Turns {
    weights: BTreeMap<String, u32>,
    heaviest: u32,
    unknown: Arc<Share>,
    latest: AtomicUsize,
    /// Time until which operators compete, in milliseconds since the table's creation.
    compete_until: AtomicU64,
}

pub(super) struct Share {
    pub(super) number: usize,
    weight: u32,
}

impl Turns {
    pub(super) fn new(weights: BTreeMap<String, u32>) -> Self {
        let heaviest = weights.values().copied().max().unwrap_or(1).max(1);
        let (latest, compete_until) = (AtomicUsize::new(0), AtomicU64::new(0));
        Self { weights, heaviest, unknown: Arc::new(Share::new(0, 1)), latest, compete_until }
    }

    pub(super) fn unknown(&self) -> &Arc<Share> {
        &self.unknown
    }

    /// Returns an operator's share, with a unique number.
    pub(super) fn share(&self, operator: &str, number: usize) -> Share {
        Share::new(number, self.weights.get(operator).copied().unwrap_or(1))
    }

    pub(super) fn called(&self, share: &Share, now_ms: impl Fn() -> u64) {
        if self.latest.load(Ordering::Relaxed) != share.number {
            self.latest.store(share.number, Ordering::Relaxed);
            self.compete_until.store(now_ms() + COMPETE_MS, Ordering::Relaxed);
        }
    }

    /// Returns the work units per round of a thread; `None` if no operators compete.
    pub(super) fn work(&self, share: &Share, now_ms: impl Fn() -> u64) -> Option<usize> {
        let until = self.compete_until.load(Ordering::Relaxed);
        let competes = until > 0 && until > now_ms();
        competes.then(|| (COMPETING_MAX * share.weight as usize / self.heaviest as usize).max(1))
    }
}

impl Share {
    fn new(number: usize, weight: u32) -> Self {
        Self { number, weight: weight.max(1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_b3_operators_compete_for_a_second_after_the_call_of_another_one() {
        let turns = Turns::new([("acme".to_owned(), 2)].into());
        let (acme, other) = (turns.share("acme", 1), turns.share("other", 2));
        let work = |now| [&acme, &other].map(|share| turns.work(share, || now));
        assert_eq!(work(0), [None; 2], "no call yet");
        turns.called(&acme, || 0);
        turns.called(&acme, || 10);
        assert_eq!(work(1_000), [None; 2], "no other operator calls");
        turns.called(&other, || 1_000);
        assert_eq!(work(1_001), [Some(16), Some(8)]);
        turns.called(&other, || 1_500);
        assert_eq!([work(1_999), work(2_000)], [[Some(16), Some(8)], [None; 2]], "one operator has stopped calling");
    }

    #[test]
    fn at_b3_the_least_weight_has_one_unit_of_work() {
        let turns = Turns::new([("acme".to_owned(), 1_000)].into());
        let (acme, other) = (turns.share("acme", 1), turns.share("other", 2));
        turns.called(&other, || 0);
        assert_eq!([&acme, &other].map(|share| turns.work(share, || 1)), [Some(16), Some(1)]);
    }
}
