use crate::retry;
use hdrhistogram::Histogram;
use parking_lot::Mutex;
use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};
use tonic::Status;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Spin,
    Choose,
}

pub(crate) struct Tally {
    timed: Mutex<Timed>,
    pub(crate) retries: AtomicU64,
    pub(crate) rounds: AtomicU64,
}

pub(crate) struct Timed {
    pub(crate) spin: Histogram<u64>,
    pub(crate) choose: Histogram<u64>,
    pub(crate) errors: BTreeMap<String, u64>,
}

impl Tally {
    pub(crate) fn new() -> Self {
        let timed = Timed { spin: histogram(), choose: histogram(), errors: BTreeMap::new() };
        Self { timed: Mutex::new(timed), retries: AtomicU64::new(0), rounds: AtomicU64::new(0) }
    }

    pub(crate) fn answered(&self, kind: Kind, latency: Duration) {
        let nanos = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX);
        let mut timed = self.timed.lock();
        match kind {
            Kind::Spin => timed.spin.saturating_record(nanos),
            Kind::Choose => timed.choose.saturating_record(nanos),
        }
    }

    pub(crate) fn failed(&self, status: &Status) {
        *self.timed.lock().errors.entry(retry::reason(status)).or_default() += 1;
    }

    pub(crate) fn settled(&self) {
        self.rounds.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn timed<T>(&self, look: impl FnOnce(&Timed) -> T) -> T {
        look(&self.timed.lock())
    }
}

pub(crate) fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1_000, 600_000_000_000, 3).expect("the histogram's bounds are valid")
}
