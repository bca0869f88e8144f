//! Turns of competing operators: number of calls that a connection starts per turn.
//!
//! The connections of a thread, and the streams of calls on them, take turns. While several operators call, the
//! connections of each share its number of calls per round, by weight, so that an operator with many connections starts
//! no more calls than one with a single connection, apart from one call per connection. A single active operator is not
//! limited. Connections without a known caller count as one operator.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

/// Calls per turn without competition.
pub(super) const TOGETHER_MAX: usize = 64;
/// Calls per turn of the operator with the greatest weight. A smaller number shortens the wait of others.
const COMPETING_MAX: usize = 16;
/// Milliseconds of competition after a call of another operator.
const COMPETE_MS: u64 = 1_000;

/// Shares of all operators.
pub(super) struct Turns {
    weights: BTreeMap<String, u32>,
    heaviest: u32,
    /// Share of connections without a known caller.
    unknown: Arc<Share>,
    /// Share of the latest call.
    latest: AtomicUsize,
    /// End of the competition, in milliseconds since the table's creation.
    compete_until: AtomicU64,
}

/// The share of one operator.
pub(super) struct Share {
    number: usize,
    weight: u32,
    /// Number of connections with calls in progress.
    busy: AtomicUsize,
}

impl Turns {
    /// Operators without a weight have 1.
    pub(super) fn new(weights: BTreeMap<String, u32>) -> Self {
        let heaviest = weights.values().copied().max().unwrap_or(1).max(1);
        let (latest, compete_until) = (AtomicUsize::new(0), AtomicU64::new(0));
        Self { weights, heaviest, unknown: Arc::new(Share::new(0, 1)), latest, compete_until }
    }

    pub(super) fn unknown(&self) -> &Arc<Share> {
        &self.unknown
    }

    /// Creates a share of an operator. `number` is unique.
    pub(super) fn share(&self, operator: &str, number: usize) -> Share {
        Share::new(number, self.weights.get(operator).copied().unwrap_or(1))
    }

    /// Counts the begin of a call.
    pub(super) fn called(&self, share: &Share, now_ms: impl Fn() -> u64) {
        if self.latest.load(Ordering::Relaxed) != share.number {
            self.latest.store(share.number, Ordering::Relaxed);
            self.compete_until.store(now_ms() + COMPETE_MS, Ordering::Relaxed);
        }
    }

    /// Calls of a turn of a connection; `alone` if no operators compete.
    pub(super) fn calls(&self, share: &Share, alone: usize, now_ms: impl Fn() -> u64) -> usize {
        let until = self.compete_until.load(Ordering::Relaxed);
        if until == 0 || until <= now_ms() {
            return alone;
        }
        let busy = share.busy.load(Ordering::Relaxed).max(1);
        (COMPETING_MAX * share.weight as usize / self.heaviest as usize / busy).max(1)
    }
}

impl Share {
    fn new(number: usize, weight: u32) -> Self {
        Self { number, weight: weight.max(1), busy: AtomicUsize::new(0) }
    }

    /// Counts one more connection with calls in progress.
    pub(super) fn begin(&self) {
        self.busy.fetch_add(1, Ordering::Relaxed);
    }

    /// One fewer has.
    pub(super) fn end(&self) {
        self.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_b3_connections_of_competing_operators_share_their_turns_by_weight() {
        let turns = Turns::new([("acme".to_owned(), 2)].into());
        let (acme, other) = (turns.share("acme", 1), turns.share("other", 2));
        (0..4).for_each(|_| acme.begin());
        other.begin();
        turns.called(&acme, || 0);
        turns.called(&acme, || 10);
        assert_eq!(turns.calls(&acme, 64, || 1_000), 64, "nobody else calls");
        turns.called(&other, || 1_000);
        assert_eq!([turns.calls(&acme, 64, || 1_001), turns.calls(&other, 64, || 1_001)], [4, 8]);
        assert_eq!(turns.calls(&acme, 1_024, || 1_001), 4, "a stream has no more than other calls");
        (0..1_000).for_each(|_| acme.begin());
        assert_eq!(turns.calls(&acme, 64, || 1_001), 1, "one at least");
        (0..1_003).for_each(|_| acme.end());
        assert_eq!(turns.calls(&acme, 64, || 1_001), 16);
        assert_eq!(turns.calls(&other, 64, || 2_000), 64, "the other rests");
        assert_eq!(turns.calls(&acme, 1_024, || 2_000), 1_024);
    }
}
