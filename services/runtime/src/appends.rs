//! Metrics of appends, outside the ledger crate, which must not use floating point.

use opentelemetry::{global, metrics::Histogram};
use std::time::Duration;

pub struct Appends {
    duration: Histogram<f64>,
    commits: Histogram<u64>,
}

impl Default for Appends {
    fn default() -> Self {
        Self::new()
    }
}

impl Appends {
    #[must_use]
    pub fn new() -> Self {
        let meter = global::meter("motherlode");
        let duration = meter
            .f64_histogram("motherlode.log.append.duration")
            .with_unit("s")
            .with_description("Duration of an append, which is a write and its sync; failed appends are included.")
            .with_boundaries(vec![1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0]);
        let commits = meter
            .u64_histogram("motherlode.log.append.commits")
            .with_unit("{commit}")
            .with_description("Number of commits that one append makes durable.")
            .with_boundaries(vec![1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0]);
        Self { duration: duration.build(), commits: commits.build() }
    }

    pub fn record(&self, commits: usize, took: Duration) {
        self.duration.record(took.as_secs_f64(), &[]);
        self.commits.record(commits as u64, &[]);
    }
}
