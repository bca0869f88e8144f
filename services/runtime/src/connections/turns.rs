//! Limits each operator's work units per scheduling round ([`rounds`](super::rounds)) while several operators make
//! calls. A unit is one poll of a task, or the start or answer of a call in its connection's task.

use std::sync::{
    Arc,
    atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering},
};

pub(super) const TOGETHER_MAX: usize = 64;
/// Work units that an operator with the highest weight has per scheduling round. Fewer units shorten the wait of other
/// operators.
const COMPETING_MAX: usize = 16;
const COMPETE_MS: u64 = 1_000;

pub(super) struct Turns {
    weight_max: AtomicU32,
    unknown: Arc<Share>,
    latest: AtomicUsize,
    /// Operators compete until this time, in milliseconds since the connection table's creation: [`COMPETE_MS`] after
    /// the latest change of the calling operator.
    compete_until: AtomicU64,
}

pub(super) struct Share {
    pub(super) number: usize,
    weight: AtomicU32,
}

impl Turns {
    pub(super) fn new(weight_max: u32) -> Self {
        let (latest, compete_until) = (AtomicUsize::new(0), AtomicU64::new(0));
        let weight_max = AtomicU32::new(weight_max.max(1));
        Self { weight_max, unknown: Arc::new(Share::new(0, 1)), latest, compete_until }
    }

    pub(super) fn set_weight_max(&self, weight_max: u32) {
        self.weight_max.store(weight_max.max(1), Ordering::Relaxed);
    }

    pub(super) fn unknown(&self) -> &Arc<Share> {
        &self.unknown
    }

    pub(super) fn called(&self, share: &Share, now_ms: impl Fn() -> u64) {
        if self.latest.load(Ordering::Relaxed) != share.number {
            self.latest.store(share.number, Ordering::Relaxed);
            self.compete_until.store(now_ms() + COMPETE_MS, Ordering::Relaxed);
        }
    }

    pub(super) fn work(&self, share: &Share, now_ms: impl Fn() -> u64) -> Option<usize> {
        let until = self.compete_until.load(Ordering::Relaxed);
        let competes = until > 0 && until > now_ms();
        let [weight, most] = [&share.weight, &self.weight_max].map(|weight| weight.load(Ordering::Relaxed) as usize);
        competes.then(|| (COMPETING_MAX * weight / most).clamp(1, COMPETING_MAX))
    }
}

impl Share {
    pub(super) fn new(number: usize, weight: u32) -> Self {
        Self { number, weight: AtomicU32::new(weight.max(1)) }
    }

    pub(super) fn set_weight(&self, weight: u32) {
        self.weight.store(weight.max(1), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_b3_operators_compete_for_a_second_after_the_call_of_another_one() {
        let turns = Turns::new(2);
        let (acme, other) = (Share::new(1, 2), Share::new(2, 1));
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
        let turns = Turns::new(1_000);
        let (acme, other) = (Share::new(1, 1_000), Share::new(2, 1));
        turns.called(&other, || 0);
        assert_eq!([&acme, &other].map(|share| turns.work(share, || 1)), [Some(16), Some(1)]);
    }

    #[test]
    fn pl_27_changed_weights_change_the_work_of_open_connections() {
        let turns = Turns::new(1);
        let (acme, other) = (Share::new(1, 1), Share::new(2, 1));
        turns.called(&acme, || 0);
        turns.called(&other, || 0);
        let work = || [&acme, &other].map(|share| turns.work(share, || 1));
        assert_eq!(work(), [Some(16), Some(16)]);
        turns.set_weight_max(4);
        acme.set_weight(4);
        assert_eq!(work(), [Some(16), Some(4)]);
        turns.set_weight_max(2);
        assert_eq!(work(), [Some(16), Some(8)], "the work is capped at the highest weight");
    }
}
