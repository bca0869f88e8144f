//! Metrics of the service, exported where a collector is configured. Names and units follow OpenTelemetry's conventions;
//! what comes of them at Prometheus is in deploy/README.md.
//!
//! Nothing is counted twice: all but times are read, when they are exported, from what is there anyway. Figures of pools are
//! floating point here, for pictures and alarms; money is counted elsewhere.

use motherlode_books::Nano;
use motherlode_ledger::{Handle, Ledgers};
use motherlode_report::{Counts, Follower};
use opentelemetry::{
    KeyValue, global,
    metrics::{AsyncInstrument, Meter},
};
use std::sync::Arc;

/// Has everything observed for as long as the meter's provider lives.
pub fn observe(ledgers: &Ledgers, follower: Option<&Follower>) {
    let meter = global::meter("motherlode");
    let log = |name, what, read: fn(&Handle) -> u64| {
        let ledgers = ledgers.clone();
        gauge(&meter, name, what, move |seen| {
            for ledger in ledgers.all() {
                seen.observe(read(ledger), &[KeyValue::new("partition", i64::from(ledger.partition()))]);
            }
        });
    };
    log("motherlode.log.position", "Position of the last durable commit.", Handle::durable);
    log("motherlode.log.writable", "1 while appends are taken; 0 after a failed write.", |ledger| {
        ledger.writable().into()
    });
    log("motherlode.queue.waiting", "Proposals that wait for the writer.", |ledger| ledger.waiting() as u64);
    log("motherlode.switched_off", "Switches that keep new rounds off.", |ledger| {
        ledger.books(|books| books.switched_off().count() as u64)
    });
    pools(&meter, ledgers);
    if let Some(follower) = follower {
        reports(&meter, follower);
    }
}

/// What only a process with reports counts.
fn reports(meter: &Meter, follower: &Follower) {
    let counts = |name, what, read: fn(&Counts) -> Vec<(String, u64)>, key: &'static str| {
        let follower = follower.clone();
        meter
            .u64_observable_counter(name)
            .with_description(what)
            .with_callback(move |seen| {
                for (of, count) in read(&follower.counts()) {
                    seen.observe(count, &[KeyValue::new(key, of)]);
                }
            })
            .build();
    };
    counts("motherlode.rounds", "Rounds settled.", |counts| counts.rounds.clone(), "game");
    counts("motherlode.significant_events", "Significant events (PL-22).", |counts| counts.significant.clone(), "kind");
    let reports = follower.clone();
    gauge(meter, "motherlode.reports.position", "Position that the reports hold for.", move |seen| {
        for (partition, position) in (0_i64..).zip(reports.counts().positions) {
            seen.observe(position, &[KeyValue::new("partition", partition)]);
        }
    });
    let open = follower.clone();
    gauge(meter, "motherlode.rounds.open", "Rounds that wait for their players.", move |seen| {
        seen.observe(open.counts().open, &[]);
    });
}

fn gauge(
    meter: &Meter,
    name: &'static str,
    what: &'static str,
    read: impl Fn(&dyn AsyncInstrument<u64>) + Send + Sync + 'static,
) {
    meter.u64_observable_gauge(name).with_description(what).with_callback(read).build();
}

fn pools(meter: &Meter, ledgers: &Ledgers) {
    type Read = fn(&motherlode_books::PoolState) -> Nano;
    let figures: [(&'static str, &'static str, Read); 4] = [
        ("motherlode.pool.increments", "Increments of the running cycle (K).", |pool| pool.increments),
        ("motherlode.pool.reserve", "Reserve (R).", |pool| pool.reserve),
        ("motherlode.pool.contributions", "All contributions ever, less those taken back.", |pool| pool.contributions),
        ("motherlode.pool.paid", "All awards ever.", |pool| pool.paid),
    ];
    for (name, what, read) in figures {
        let ledger = ledgers.home().clone();
        let observed = meter.f64_observable_gauge(name).with_unit("EUR").with_description(what);
        observed
            .with_callback(move |seen| {
                let figures: Vec<_> =
                    ledger.books(|books| books.pools().map(|pool| (Arc::clone(&pool.name), read(pool))).collect());
                for (pool, figure) in figures {
                    seen.observe(approximately(figure), &[KeyValue::new("pool", pool.to_string())]);
                }
            })
            .build();
    }
    let unpaid = ledgers.clone();
    gauge(meter, "motherlode.pool.awards_unpaid", "Awards that are on their way to their players.", move |seen| {
        let unpaid = unpaid.all().map(|ledger| ledger.books(|books| books.unpaid_awards().count() as u64));
        seen.observe(unpaid.sum(), &[]);
    });
}

#[allow(clippy::cast_precision_loss, reason = "for pictures and alarms")]
fn approximately(figure: Nano) -> f64 {
    figure.0 as f64 / 1e9
}
