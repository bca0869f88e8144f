mod text;

use crate::{
    books::Books,
    options::Options,
    readers::Reads,
    tally::{Tally, Timed, histogram},
    usage::Cost,
};
use hdrhistogram::Histogram;
use serde::Serialize;
use std::{collections::BTreeMap, sync::atomic::Ordering, time::Duration};

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    pub rounds: u64,
    pub calls: u64,
    pub seconds: f64,
    pub rounds_per_second: f64,
    pub rate: Option<f64>,
    pub concurrency: usize,
    pub connections: usize,
    pub stream: bool,
    pub latency_ms: LatencyMs,
    pub latency_ms_by_call: BTreeMap<&'static str, LatencyMs>,
    pub errors: BTreeMap<String, u64>,
    pub retries: u64,
    pub reads: Reads,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// Like `cost` (resource usage of the service), but of the load test itself; both are `None` without `--pid`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_cost: Option<Cost>,
    pub books: Books,
    pub thresholds: Verdicts,
    pub ok: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LatencyMs {
    pub p50: f64,
    pub p90: f64,
    pub p99: f64,
    pub p999: f64,
    pub max: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdicts {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_ms: Option<Verdict>,
    pub error_rate: Verdict,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Verdict {
    pub max: f64,
    pub found: f64,
    pub ok: bool,
}

impl Verdict {
    fn new(max: f64, found: f64) -> Self {
        Self { max, found, ok: found <= max }
    }
}

impl Report {
    pub(crate) fn new(options: &Options, tally: &Tally, took: Duration, books: Books, reads: Reads) -> Self {
        tally.timed(|timed| {
            let all = timed.all();
            let latency_ms = LatencyMs::from_histogram(&all);
            let failed: u64 = timed.errors.values().sum();
            let error_rate = share(failed, all.len() + failed);
            let thresholds = Verdicts {
                p99_ms: options.thresholds.p99_ms_max.map(|max| Verdict::new(max, latency_ms.p99)),
                error_rate: Verdict::new(options.thresholds.error_rate_max, error_rate),
            };
            let rounds = tally.rounds.load(Ordering::Relaxed);
            let seconds = took.as_secs_f64();
            let by_call = [("spin", &timed.spin), ("choose", &timed.choose)];
            let called = by_call.into_iter().filter(|(_, latencies)| !latencies.is_empty());
            Self {
                rounds,
                calls: all.len(),
                seconds,
                rounds_per_second: rate(rounds, seconds),
                rate: options.rate,
                concurrency: options.concurrency,
                connections: options.connections,
                stream: options.stream,
                latency_ms,
                latency_ms_by_call: called
                    .map(|(call, latencies)| (call, LatencyMs::from_histogram(latencies)))
                    .collect(),
                errors: timed.errors.clone(),
                retries: tally.retries.load(Ordering::Relaxed),
                ok: books.ok && thresholds.error_rate.ok && thresholds.p99_ms.is_none_or(|verdict| verdict.ok),
                reads,
                cost: None,
                client_cost: None,
                books,
                thresholds,
            }
        })
    }
}

impl Timed {
    fn all(&self) -> Histogram<u64> {
        let mut all = histogram();
        for of in [&self.spin, &self.choose] {
            all.add(of).expect("all histograms have the same bounds");
        }
        all
    }
}

impl LatencyMs {
    #[must_use]
    pub fn from_histogram(latencies: &Histogram<u64>) -> Self {
        let ms = |nanos: u64| Duration::from_nanos(nanos).as_secs_f64() * 1e3;
        let at = |quantile| (ms(latencies.value_at_quantile(quantile)) * 1e6).round() / 1e6;
        Self { p50: at(0.5), p90: at(0.9), p99: at(0.99), p999: at(0.999), max: at(1.0) }
    }
}

#[allow(clippy::cast_precision_loss, reason = "for display")]
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[allow(clippy::cast_precision_loss, reason = "for display")]
fn rate(count: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::{
        books::{self, PoolCheck, Pooled},
        options::Thresholds,
        tally::Kind,
    };
    use motherlode_state::Nano;
    use tonic::Status;

    fn sound() -> Books {
        let pooled =
            Pooled { check: PoolCheck::Exact, contribution_ppm: 5_000, contributions: Nano::ZERO, caught_up: true };
        books::check(&[], 0, pooled)
    }

    pub(crate) fn report(thresholds: Thresholds, failed: u64, books: Books) -> Report {
        let tally = Tally::new();
        for _ in 0..99 {
            tally.answered(Kind::Choose, Duration::from_millis(1));
        }
        tally.answered(Kind::Spin, Duration::from_millis(10));
        for _ in 0..failed {
            tally.failed(&Status::unavailable("gone"));
        }
        tally.settled();
        let options = Options { thresholds, ..Options::default() };
        Report::new(&options, &tally, Duration::from_secs(2), books, Reads::default())
    }

    const NONE: Thresholds = Thresholds { p99_ms_max: None, error_rate_max: 0.0 };

    #[test]
    fn figures_are_of_what_was_counted() {
        let report = report(NONE, 0, sound());
        assert!(report.ok);
        assert_eq!((report.rounds, report.calls), (1, 100));
        assert!((report.rounds_per_second - 0.5).abs() < 1e-9);
        let LatencyMs { p50, p99, max, .. } = report.latency_ms;
        for (found, wanted) in [(p50, 1.0), (p99, 1.0), (max, 10.0), (report.latency_ms_by_call["spin"].p50, 10.0)] {
            assert!((found / wanted - 1.0).abs() < 1e-3, "{found} is not {wanted}");
        }
    }

    #[test]
    fn a_missed_threshold_fails_the_run() {
        let limit = |p99_ms_max, error_rate_max| Thresholds { p99_ms_max, error_rate_max };
        assert!(report(limit(Some(1.1), 0.0), 0, sound()).ok);
        assert!(!report(limit(Some(0.9), 0.0), 0, sound()).ok);
        assert!(report(limit(None, 0.2), 25, sound()).ok);
        assert!(!report(limit(None, 0.19), 25, sound()).ok);
        assert_eq!(report(NONE, 25, sound()).errors, BTreeMap::from([("UNAVAILABLE".to_owned(), 25)]));
    }

    #[test]
    fn books_that_disagree_fail_the_run() {
        assert!(!report(NONE, 0, Books { ok: false, ..sound() }).ok);
    }
}
