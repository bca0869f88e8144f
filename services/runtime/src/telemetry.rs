//! Logs on standard error, spans and metrics for an OpenTelemetry collector, and metrics for Prometheus. The log
//! filter does not affect spans and metrics.

mod error;
mod exports;
mod lines;
mod otlp;

use crate::{
    config::{Role, Telemetry},
    process,
};
pub use error::TelemetryError;
use exports::CountingExporter;
use lines::is_journal;
use opentelemetry::{KeyValue, trace::TracerProvider as _};
use opentelemetry_otlp::ExporterBuildError;
use opentelemetry_sdk::{
    Resource,
    metrics::{PeriodicReader, SdkMeterProvider},
    trace::{Sampler, SdkTracerProvider},
};
use otlp::Collector;
use prometheus::{Encoder, Registry, TextEncoder};
use std::{
    io::IsTerminal,
    sync::{OnceLock, mpsc},
    thread,
    time::{Duration, Instant},
};
use tracing::Level;
use tracing_subscriber::{
    Layer,
    filter::{LevelFilter, Targets},
    layer::SubscriberExt,
    reload,
    util::SubscriberInitExt,
};

const SERVICE: &str = "motherlode";
const LAST_EXPORT_MAX: Duration = Duration::from_millis(500);

static REGISTRY: OnceLock<Registry> = OnceLock::new();

static REPLACE_FILTER: OnceLock<Box<dyn Fn(Targets) + Send + Sync>> = OnceLock::new();

#[derive(Debug, Default)]
#[must_use = "dropping the guard exports the last data"]
pub struct Guard(Option<SdkTracerProvider>, Option<SdkMeterProvider>);

impl Drop for Guard {
    fn drop(&mut self) {
        let Some((spans, metrics)) = self.0.take().zip(self.1.take()) else { return };
        let until = Instant::now() + LAST_EXPORT_MAX;
        let (sender, exported) = mpsc::channel();
        let other = sender.clone();
        // The threads are not joined, so that a slow collector does not delay the end of the process.
        thread::spawn(move || sender.send(("spans", spans.shutdown())));
        thread::spawn(move || other.send(("metrics", metrics.shutdown())));
        let mut waiting = vec!["spans", "metrics"];
        while let Ok((what, result)) = exported.recv_timeout(until.saturating_duration_since(Instant::now())) {
            waiting.retain(|other| *other != what);
            if let Err(error) = result {
                eprintln!("telemetry: the last {what} were not exported: {error}");
            }
        }
        for what in waiting {
            let limit = LAST_EXPORT_MAX.as_millis();
            eprintln!("telemetry: the last {what} were not exported: the collector did not answer within {limit} ms");
        }
    }
}

pub fn check(settings: &Telemetry) -> Result<(), TelemetryError> {
    targets(&settings.filter)?;
    Collector::from_config(settings).map(drop)
}

fn targets(filter: &str) -> Result<Targets, TelemetryError> {
    let words = filter.split(',').map(str::trim).filter(|word| !word.is_empty() && !word.contains('='));
    if let Some(word) = words.into_iter().find(|word| word.parse::<LevelFilter>().is_err()) {
        return Err(TelemetryError::Level(word.to_owned()));
    }
    let targets: Targets = filter.parse()?;
    let is_asked = filter.contains("opentelemetry");
    Ok(if is_asked { targets } else { targets.with_target("opentelemetry", LevelFilter::OFF) })
}

/// Starts logging and exports. Requires a tokio runtime if an OTLP endpoint is configured.
pub fn start(settings: &Telemetry, role: Role, instance: String) -> Result<Guard, TelemetryError> {
    let (filter, replaceable) = reload::Layer::new(filter(settings)?);
    let resource = resource(role, instance);
    let collector = Collector::from_config(settings)?;
    let spans = collector.as_ref().map(|collector| spans(&resource, collector, settings)).transpose()?;
    let layer = spans.as_ref().map(|spans| {
        // Libraries create a span per packet; these spans are excluded.
        let ours = Targets::new().with_target("motherlode", Level::DEBUG);
        tracing_opentelemetry::layer().with_tracer(spans.tracer(SERVICE)).with_filter(ours)
    });
    let lines = lines::layer(settings.log_format, is_journal(), colours(), std::io::stderr);
    tracing_subscriber::registry().with(layer).with(lines.with_filter(filter)).try_init()?;
    let _ = REPLACE_FILTER.set(Box::new(move |filter| {
        let _ = replaceable.reload(filter);
    }));
    let metrics = settings.measures().then(|| metrics(resource, collector.as_ref(), settings)).transpose()?;
    if let Some(metrics) = &metrics {
        opentelemetry::global::set_meter_provider(metrics.clone());
        ["spans", "metrics"].into_iter().for_each(|signal| exports::count(signal, 0));
    }
    Ok(Guard(spans, metrics))
}

/// Applies `telemetry.filter` to a running process, unless RUST_LOG overrides this key.
pub fn set_filter(settings: &Telemetry) -> Result<(), TelemetryError> {
    let filter = filter(settings)?;
    if let Some(replace) = REPLACE_FILTER.get() {
        replace(filter);
    }
    Ok(())
}

fn filter(settings: &Telemetry) -> Result<Targets, TelemetryError> {
    let asked = std::env::var("RUST_LOG").ok().filter(|filter| !filter.is_empty());
    targets(asked.as_ref().unwrap_or(&settings.filter))
}

#[must_use]
pub fn prometheus() -> Option<Vec<u8>> {
    let mut text = vec![];
    TextEncoder::new().encode(&REGISTRY.get()?.gather(), &mut text).ok()?;
    Some(text)
}

fn colours() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|asked| asked.is_empty())
}

fn resource(role: Role, instance: String) -> Resource {
    let attributes = [
        KeyValue::new("service.instance.id", instance),
        KeyValue::new("service.version", env!("CARGO_PKG_VERSION")),
        KeyValue::new("motherlode.commit", process::commit()),
        KeyValue::new("motherlode.role", role.name()),
    ];
    Resource::builder().with_service_name(SERVICE).with_attributes(attributes).build()
}

fn metrics(
    resource: Resource,
    collector: Option<&Collector>,
    settings: &Telemetry,
) -> Result<SdkMeterProvider, TelemetryError> {
    let mut provider = SdkMeterProvider::builder().with_resource(resource);
    if let Some(collector) = collector {
        let exporter = CountingExporter::new("metrics", collector.metrics()?);
        let interval = Duration::from_secs(settings.metrics_seconds.into());
        provider = provider.with_reader(PeriodicReader::builder(exporter).with_interval(interval).build());
    }
    if settings.listen.is_some() {
        let registry = REGISTRY.get_or_init(Registry::new).clone();
        provider = provider.with_reader(
            opentelemetry_prometheus::exporter().with_registry(registry).scope_info_enabled(false).build()?,
        );
    }
    Ok(provider.build())
}

fn spans(
    resource: &Resource,
    collector: &Collector,
    settings: &Telemetry,
) -> Result<SdkTracerProvider, ExporterBuildError> {
    let exporter = CountingExporter::new("spans", collector.spans()?);
    let share = f64::from(settings.sample_percent) / 100.0;
    Ok(SdkTracerProvider::builder()
        .with_batch_exporter(exporter)
        .with_sampler(Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(share))))
        .with_resource(resource.clone())
        .build())
}
