//! Counts refused calls by reason in `motherlode.refusals`, and logs them.

use crate::{
    access::Caller,
    reason::Reason,
    refusal::{Refusal, excerpt},
};
use opentelemetry::{KeyValue, global, metrics::Counter};
use parking_lot::Mutex;
use std::{
    collections::{BTreeMap, HashMap},
    net::IpAddr,
    sync::{Arc, LazyLock},
    time::{Duration, Instant},
};
use tonic::Code;

const LINES_MAX: u32 = 10;
const WINDOW: Duration = Duration::from_secs(10);

static REFUSALS: LazyLock<Refusals> = LazyLock::new(Refusals::new);

#[derive(Debug, Clone, Copy)]
pub struct Refused<'a> {
    pub reason: Option<Reason>,
    pub code: Code,
    pub message: &'a str,
    /// `package.Service/Method`, or `_OTHER`.
    pub method: &'static str,
    pub caller: &'a Caller,
    pub request_id: &'a str,
    pub peer: Option<IpAddr>,
}

impl<'a> Refused<'a> {
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

pub fn note(refused: &Refused<'_>) {
    REFUSALS.note(refused);
}

/// Exports counts of 0 at startup, so that an alarm detects the first refusal.
pub fn start() {
    LazyLock::force(&REFUSALS);
}

#[must_use]
pub fn counts() -> BTreeMap<&'static str, u64> {
    REFUSALS.counts.lock().clone()
}

type Kind = (Arc<str>, Option<Reason>);

struct Refusals {
    counter: Counter<u64>,
    counts: Mutex<BTreeMap<&'static str, u64>>,
    lines: Mutex<HashMap<Kind, LineLimit>>,
}

#[derive(Debug, Default)]
struct LineLimit {
    since: Option<Instant>,
    lines: u32,
    suppressed: u64,
}

impl Refusals {
    fn new() -> Self {
        let meter = global::meter("motherlode");
        let counter = meter.u64_counter("motherlode.refusals");
        let counter = counter.with_description("Number of refused calls, by reason.").build();
        Reason::all().for_each(|reason| counter.add(0, &[KeyValue::new("reason", reason.name())]));
        Self { counter, counts: Mutex::default(), lines: Mutex::default() }
    }

    fn note(&self, refused: &Refused<'_>) {
        let Refused { code, method, .. } = *refused;
        let reason = refused.reason.map_or("_OTHER", Reason::name);
        self.counter.add(1, &[KeyValue::new("reason", reason)]);
        *self.counts.lock().entry(reason).or_default() += 1;
        let operator = refused.caller.operator();
        let key = (Arc::clone(&operator), refused.reason);
        let Some(suppressed) = self.lines.lock().entry(key).or_default().line(Instant::now()) else { return };
        let (detail, request_id) = (excerpt(refused.message), excerpt(refused.request_id));
        let (operator, code) = (&*operator, crate::reason::code_name(code));
        let credential = refused.caller.credential().map_or("", |(name, _)| name);
        let peer = refused.peer.map(|peer| peer.to_string()).unwrap_or_default();
        macro_rules! line {
            ($level:ident) => {
                tracing::$level!(
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
                )
            };
        }
        match refused.code {
            Code::Unavailable | Code::Internal | Code::DataLoss | Code::Unknown | Code::Unauthenticated => line!(warn),
            _ => line!(info),
        }
    }
}

impl LineLimit {
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
