use crate::client::Answer;
use opentelemetry::{
    KeyValue, global,
    metrics::{AsyncInstrument, Counter, Histogram},
};
use parking_lot::RwLock;
use std::{collections::BTreeMap, sync::Arc, time::Duration};

pub(crate) const CALLS: [&str; 5] = ["debit", "credit", "rollback", "open_free_round", "close_round"];

#[derive(Debug)]
pub(crate) struct Meters {
    operator: String,
    calls: Counter<u64>,
    duration: Histogram<u64>,
    contradictions: Counter<u64>,
}

impl Meters {
    pub(crate) fn new(operator: &str) -> Self {
        let meter = global::meter("motherlode");
        let calls = meter.u64_counter("motherlode.wallet.calls");
        let calls = calls.with_description("Number of calls to operators' wallets, by outcome.").build();
        let duration = meter.u64_histogram("motherlode.wallet.call.duration").with_unit("ms");
        let duration = duration.with_description("Duration of a call to an operator's wallet.");
        let limits = [1_u32, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500].map(Into::into);
        let duration = duration.with_boundaries(limits.to_vec()).build();
        let contradictions = meter.u64_counter("motherlode.wallet.contradictions");
        let what = "Number of reported balances that contradict the wallet's answer, by operator.";
        let contradictions = contradictions.with_description(what).build();
        let meters = Self { operator: operator.to_owned(), calls, duration, contradictions };
        meters.contradictions.add(0, &meters.of_operator());
        for call in CALLS {
            for outcome in ["done", "refused", "unsure", "unknown"] {
                meters.calls.add(0, &meters.attributes(call, Some(outcome)));
            }
        }
        meters
    }

    pub(crate) fn note(&self, call: &'static str, answer: &Answer, took: Duration) {
        let outcome = match answer {
            Answer::Done { .. } => "done",
            Answer::Refused { .. } => "refused",
            Answer::Unsure => "unsure",
            Answer::Unknown { .. } => "unknown",
        };
        self.calls.add(1, &self.attributes(call, Some(outcome)));
        self.duration.record(u64::try_from(took.as_millis()).unwrap_or(u64::MAX), &self.attributes(call, None));
    }

    pub(crate) fn note_contradiction(&self) {
        self.contradictions.add(1, &self.of_operator());
    }

    fn of_operator(&self) -> [KeyValue; 1] {
        [KeyValue::new("operator", self.operator.clone())]
    }

    fn attributes(&self, call: &'static str, outcome: Option<&'static str>) -> Vec<KeyValue> {
        let outcome = outcome.map(|outcome| KeyValue::new("outcome", outcome));
        [KeyValue::new("operator", self.operator.clone()), KeyValue::new("call", call)]
            .into_iter()
            .chain(outcome)
            .collect()
    }
}

pub(crate) type Gauge<T> = (&'static str, &'static str, fn(&T) -> u64);

pub(crate) fn observe<T>(operators: &Arc<RwLock<BTreeMap<String, Arc<T>>>>, gauges: [Gauge<T>; 4])
where
    T: Send + Sync + 'static,
{
    for (name, what, read) in gauges {
        let observed = Arc::downgrade(operators);
        let seen = move |seen: &dyn AsyncInstrument<u64>| {
            let Some(operators) = observed.upgrade() else { return };
            for (operator, of) in operators.read().iter() {
                seen.observe(read(of), &[KeyValue::new("operator", operator.clone())]);
            }
        };
        global::meter("motherlode").u64_observable_gauge(name).with_description(what).with_callback(seen).build();
    }
}
