//! Failed log-ins: counted, and reported in the log (PL-22, PL-27). The credential shown is never logged: it may be a
//! secret.
//!
//! Repeated attempts don't fill the log: after [`LINES_MAX`] lines in [`WINDOW`] the rest are only counted, and the
//! next line gives their number. The counter is OpenTelemetry's `motherlode.access.failed`, by reason.

use crate::{reason::Reason, refusal::Refusal};
use opentelemetry::{KeyValue, global, metrics::Counter};
use parking_lot::Mutex;
use std::{
    net::IpAddr,
    time::{Duration, Instant},
};

/// Why a log-in fails.
const REASONS: [Reason; 5] = [
    Reason::TokenMissing,
    Reason::TokenUnknown,
    Reason::TokenExpired,
    Reason::CertificateUnknown,
    Reason::CertificateExpired,
];

/// Lines in the log in a window.
const LINES_MAX: u32 = 10;
/// How long a window is.
const WINDOW: Duration = Duration::from_secs(10);

/// Log-ins that failed at one service.
pub(super) struct Failed {
    counter: Counter<u64>,
    lines: Mutex<LineLimit>,
}

/// The log lines of the running window.
#[derive(Debug, Default)]
struct LineLimit {
    since: Option<Instant>,
    lines: u32,
    /// Failures without a line of their own since the last line.
    suppressed: u64,
}

impl Failed {
    pub(super) fn new() -> Self {
        let meter = global::meter("motherlode");
        let counter = meter.u64_counter("motherlode.access.failed");
        let counter = counter.with_description("Calls whose credential is missing, unknown or expired (PL-27).");
        let counter = counter.build();
        // There from the start: a rate begins at nothing.
        REASONS.iter().for_each(|reason| counter.add(0, &[KeyValue::new("reason", reason.name())]));
        Self { counter, lines: Mutex::default() }
    }

    /// Counts a failure, and logs it if the window has a line left.
    pub(super) fn note(&self, refusal: &Refusal, method: &str, peer: Option<IpAddr>) {
        let reason = refusal.reason().name();
        self.counter.add(1, &[KeyValue::new("reason", reason)]);
        let Some(suppressed) = self.lines.lock().line(Instant::now()) else { return };
        let peer = peer.map(|peer| peer.to_string()).unwrap_or_default();
        let operator = refusal.metadata("operator").unwrap_or_default();
        let credential = refusal.metadata("credential").unwrap_or_default();
        tracing::warn!(reason, method, peer, operator, credential, suppressed, "a log-in failed");
    }
}

impl LineLimit {
    /// Takes a line. Returns the number of failures suppressed since the last one, or `None` if the window has no line
    /// left.
    fn line(&mut self, now: Instant) -> Option<u64> {
        if self.since.is_none_or(|since| now.saturating_duration_since(since) >= WINDOW) {
            (self.since, self.lines) = (Some(now), 0);
        }
        if self.lines == LINES_MAX {
            self.suppressed += 1;
            return None;
        }
        self.lines += 1;
        Some(std::mem::take(&mut self.suppressed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uf_08_failures_have_a_bounded_number_of_lines_and_none_is_left_uncounted() {
        let (mut limit, start) = (LineLimit::default(), Instant::now());
        let lines: Vec<_> = (0..1_000).filter_map(|_| limit.line(start)).collect();
        assert_eq!(lines, [0; 10]);
        assert_eq!(limit.line(start + WINDOW - Duration::from_millis(1)), None);
        assert_eq!(limit.line(start + WINDOW), Some(991));
        assert_eq!(limit.line(start + WINDOW), Some(0));
    }
}
