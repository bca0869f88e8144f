//! Metrics that every process has, including a standby.

use motherlode_runtime::{
    Config, certificate,
    process::{self, commit, memory_bytes, memory_limit, processor_time},
};
use opentelemetry::{KeyValue, global, metrics::Meter};
use std::{
    path::PathBuf,
    time::{SystemTime, UNIX_EPOCH},
};

pub(crate) fn start(config: &Config, is_ready: impl Fn() -> bool + Send + Sync + 'static) {
    let meter = global::meter("motherlode");
    let labels = [
        KeyValue::new("version", env!("CARGO_PKG_VERSION")),
        KeyValue::new("commit", commit()),
        KeyValue::new("role", config.role.name()),
    ];
    gauge(&meter, "motherlode.process.info", "", "Always 1; the labels give version, commit and role.", move |seen| {
        seen(1, &labels)
    });
    gauge(&meter, "motherlode.process.serving", "", "1 while the process is SERVING; 0 otherwise.", move |seen| {
        seen(is_ready().into(), &[]);
    });
    gauge(&meter, "motherlode.process.memory", "By", "Resident memory.", |seen| {
        memory_bytes().into_iter().for_each(|bytes| seen(bytes, &[]));
    });
    gauge(&meter, "motherlode.process.memory_limit", "By", "Memory limit of the process's control group.", |seen| {
        memory_limit().into_iter().for_each(|bytes| seen(bytes, &[]));
    });
    let estimate = process::memory_estimate(config);
    gauge(
        &meter,
        "motherlode.process.memory_estimate",
        "By",
        "Estimated maximum memory of the process under its configuration.",
        move |seen| {
            seen(estimate, &[]);
        },
    );
    let time = meter.f64_observable_counter("motherlode.process.cpu_time").with_unit("s");
    time.with_description("Processor time used by all threads of the process.")
        .with_callback(|seen| seen.observe(processor_time().as_secs_f64(), &[]))
        .build();
    if let Some(tls) = &config.tls {
        certificate_expiry(&meter, tls.certificate.clone());
    }
}

fn certificate_expiry(meter: &Meter, file: PathBuf) {
    let what = "Time until the earliest expiry of a certificate in the chain of tls.certificate.";
    let left = meter.f64_observable_gauge("motherlode.tls.certificate_expires").with_unit("s").with_description(what);
    left.with_callback(move |seen| {
        let expiry = std::fs::read(&file).ok().and_then(|pem| certificate::expiry(&pem));
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        if let Some(expiry) = expiry {
            #[allow(clippy::cast_precision_loss, reason = "seconds since 1970 are exact")]
            seen.observe(expiry as f64 - now, &[]);
        }
    })
    .build();
}

type Seen<'a> = &'a dyn Fn(u64, &[KeyValue]);

fn gauge(
    meter: &Meter,
    name: &'static str,
    unit: &'static str,
    what: &'static str,
    read: impl Fn(Seen<'_>) + Send + Sync + 'static,
) {
    let gauge = meter.u64_observable_gauge(name).with_unit(unit).with_description(what);
    gauge.with_callback(move |seen| read(&|value, labels| seen.observe(value, labels))).build();
}
