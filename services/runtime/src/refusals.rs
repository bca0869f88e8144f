//! Refused calls: counted by reason, and each with a line in the log. All paths of a call use [`note`]: the layers, the direct path,
//! calls within a stream, and the JSON port.
//!
//! The counter is OpenTelemetry's `motherlode.refusals`, by reason. Repeated refusals do not fill the log: an operator has
//! [`LINES_MAX`] lines of each reason in [`WINDOW`]; the next line states how many were suppressed. The credential of a failed
//! log-in is never logged: it may be a secret.

use crate::{
    access::Caller,
    reason::Reason,
    refusal::{Refusal, excerpt},
};
use opentelemetry::{KeyValue, global, metrics::Counter};
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, LazyLock},
    time::{Duration, Instant},
};
use tonic::Code;

/// Lines in the log per operator and reason in a window.
const LINES_MAX: u32 = 10;
/// How long a window is.
const WINDOW: Duration = Duration::from_secs(10);

/// The process's.
static REFUSALS: LazyLock<Refusals> = LazyLock::new(Refusals::new);

/// A refused call.
#[derive(Debug, Clone, Copy)]
pub struct Refused<'a> {
    /// The reason; `None` if the status has no reason of this service.
    pub reason: Option<Reason>,
    /// The status code.
    pub code: Code,
    /// The sentence for people.
    pub message: &'a str,
    /// The method, `package.Service/Method`; `_OTHER` if there is no such method.
    pub method: &'static str,
    /// The caller, as far as it is known.
    pub caller: &'a Caller,
    /// The request id; empty if the request has none or was not read.
    pub request_id: &'a str,
    /// The caller's address.
    pub peer: Option<IpAddr>,
}

impl<'a> Refused<'a> {
    /// A refused call whose caller and request are not known.
    #[must_use]
    pub fn new(refusal: &'a Refusal, method: &'static str) -> Self {
        Self {
            reason: Some(refusal.reason()),
            code: refusal.code(),
            message: refusal.message(),
            method,
            caller: &Caller::ANYONE,
            request_id: refusal.request_id(),
            peer: None,
        }
    }
}

/// Counts a refusal, and logs it if its operator has a line left.
pub fn note(refused: &Refused<'_>) {
    REFUSALS.note(refused);
}

/// Creates the counter with each reason at zero: an alarm compares with the time before the first refusal.
pub fn start() {
    LazyLock::force(&REFUSALS);
}

/// Operator and reason.
type Kind = (Arc<str>, Option<Reason>);

struct Refusals {
    counter: Counter<u64>,
    lines: Mutex<HashMap<Kind, LineLimit>>,
}

/// The log lines of the running window.
#[derive(Debug, Default)]
struct LineLimit {
    since: Option<Instant>,
    lines: u32,
    /// Number of refusals suppressed since the last line.
    suppressed: u64,
}

impl Refusals {
    fn new() -> Self {
        let meter = global::meter("motherlode");
        let counter = meter.u64_counter("motherlode.refusals");
        let counter = counter.with_description("Refused calls, by reason.").build();
        Reason::all().for_each(|reason| counter.add(0, &[KeyValue::new("reason", reason.name())]));
        Self { counter, lines: Mutex::default() }
    }

    fn note(&self, refused: &Refused<'_>) {
        let Refused { code, method, .. } = *refused;
        let reason = refused.reason.map_or("_OTHER", Reason::name);
        self.counter.add(1, &[KeyValue::new("reason", reason)]);
        let operator = refused.caller.operator();
        let key = (Arc::clone(&operator), refused.reason);
        let Some(suppressed) = self.lines.lock().entry(key).or_default().line(Instant::now()) else { return };
        let (detail, request_id) = (excerpt(refused.message), excerpt(refused.request_id));
        let (operator, code) = (&*operator, crate::reason::code_name(code));
        let credential = refused.caller.credential().map_or("", |(name, _)| name);
        let peer = refused.peer.map(|peer| peer.to_string()).unwrap_or_default();
        match refused.code {
            // The service's own state, and attempts without a credential.
            Code::Unavailable | Code::Internal | Code::DataLoss | Code::Unknown | Code::Unauthenticated => {
                tracing::warn!(
                    reason,
                    code,
                    method,
                    operator,
                    credential,
                    request_id,
                    peer,
                    suppressed,
                    detail,
                    "a call was refused"
                );
            }
            _ => tracing::info!(
                reason,
                code,
                method,
                operator,
                credential,
                request_id,
                peer,
                suppressed,
                detail,
                "a call was refused"
            ),
        }
    }
}

impl LineLimit {
    /// Takes a line. Returns the number of refusals suppressed since the last one, or `None` if the window has no line
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
