//! Counts refused calls by reason in `motherlode.refusals`, logs them, and keeps each operator's latest.

use crate::{
    access::Caller,
    reason::Reason,
    refusal::{Refusal, excerpt},
};
use opentelemetry::{KeyValue, global, metrics::Counter};
use parking_lot::Mutex;
use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap, VecDeque},
    net::IpAddr,
    sync::{Arc, LazyLock},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};
use tonic::Code;

const LINES_MAX: u32 = 10;
const WINDOW: Duration = Duration::from_secs(10);
const LATEST_MAX: usize = 200;
const TEXT_MAX: usize = 256;

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
    pub player: &'a str,
    pub peer: Option<IpAddr>,
}

#[derive(Debug, Clone)]
pub struct RefusedCall {
    pub time_ms: i64,
    pub operator: Arc<str>,
    pub reason: &'static str,
    pub message: String,
    pub method: &'static str,
    pub player: String,
    pub request_id: String,
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
            player: refusal.player(),
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

pub fn latest(is_wanted: impl Fn(&RefusedCall) -> bool, max: usize) -> Vec<RefusedCall> {
    REFUSALS.latest.lock().list(is_wanted, max)
}

type Kind = (Arc<str>, Option<Reason>);

struct Refusals {
    counter: Counter<u64>,
    counts: Mutex<BTreeMap<&'static str, u64>>,
    lines: Mutex<HashMap<Kind, LineLimit>>,
    latest: Mutex<Latest>,
}

#[derive(Default)]
struct Latest(BTreeMap<Arc<str>, VecDeque<RefusedCall>>);

impl Latest {
    fn push(&mut self, call: RefusedCall) {
        let calls = self.0.entry(Arc::clone(&call.operator)).or_default();
        if calls.len() == LATEST_MAX {
            calls.pop_front();
        }
        calls.push_back(call);
    }

    fn list(&self, is_wanted: impl Fn(&RefusedCall) -> bool, max: usize) -> Vec<RefusedCall> {
        let mut found: Vec<_> =
            self.0.values().flat_map(|calls| calls.iter().rev()).filter(|of| is_wanted(of)).collect();
        found.sort_by_key(|of| Reverse(of.time_ms));
        found.into_iter().take(max).cloned().collect()
    }
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
        Self { counter, counts: Mutex::default(), lines: Mutex::default(), latest: Mutex::default() }
    }

    fn note(&self, refused: &Refused<'_>) {
        let Refused { code, method, .. } = *refused;
        let reason = refused.reason.map_or("_OTHER", Reason::name);
        self.counter.add(1, &[KeyValue::new("reason", reason)]);
        *self.counts.lock().entry(reason).or_default() += 1;
        let operator = refused.caller.operator();
        // The list of latest refusals is short, so failed lookups, for example from the console, are left out.
        if code != Code::NotFound || !method.contains("/Get") {
            self.latest.lock().push(RefusedCall::new(refused, reason, Arc::clone(&operator)));
        }
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

impl RefusedCall {
    fn new(refused: &Refused<'_>, reason: &'static str, operator: Arc<str>) -> Self {
        let short = |text: &str| -> String { excerpt(text).chars().take(TEXT_MAX).collect() };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            time_ms: i64::try_from(now.as_millis()).unwrap_or(i64::MAX),
            operator,
            reason,
            message: short(refused.message),
            method: refused.method,
            player: short(refused.player),
            request_id: short(refused.request_id),
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
    fn pl_12_the_latest_refused_calls_of_each_operator_are_in_memory() {
        let mut latest = Latest::default();
        let call = |operator: &str, time_ms: i64| {
            let refusal = Refusal::request_id_reused("r-1").of_player("alice");
            let refused = RefusedCall::new(&Refused::new(&refusal, "_OTHER"), "REQUEST_ID_REUSED", operator.into());
            RefusedCall { time_ms, ..refused }
        };
        latest.push(call("bravo", 0));
        (1..=1_000).for_each(|time_ms| latest.push(call("acme", time_ms)));
        let all = latest.list(|_| true, usize::MAX);
        assert_eq!((all.len(), all[0].time_ms, &*all[200].operator), (201, 1_000, "bravo"));
        let own = latest.list(|of| &*of.operator == "acme", 2);
        assert_eq!(own.iter().map(|of| of.time_ms).collect::<Vec<_>>(), [1_000, 999]);
        assert_eq!((&*own[0].player, own[0].reason), ("alice", "REQUEST_ID_REUSED"));
    }

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
