//! Logs on standard error; spans and metrics for an OpenTelemetry collector, unaffected by the log filter. Exports
//! never block requests: spans are batched on a thread, and dropped if the collector is slow.

use crate::config::Telemetry;
use http::Uri;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{ExporterBuildError, MetricExporter, SpanExporter, WithExportConfig};
use opentelemetry_sdk::{
    Resource,
    metrics::{PeriodicReader, SdkMeterProvider},
    trace::{Sampler, SdkTracerProvider},
};
use std::{
    io::IsTerminal,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};
use tracing::Level;
use tracing_subscriber::{
    Layer,
    filter::{LevelFilter, Targets},
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

/// Guard that exports the remaining spans and metrics on drop.
#[derive(Debug, Default)]
#[must_use = "the last data is exported when this is dropped"]
pub struct Guard(Option<(SdkTracerProvider, SdkMeterProvider)>);

const LAST_EXPORT_MAX: Duration = Duration::from_millis(500);

impl Drop for Guard {
    fn drop(&mut self) {
        let Some((spans, metrics)) = self.0.take() else { return };
        let until = Instant::now() + LAST_EXPORT_MAX;
        let (sender, exported) = mpsc::channel();
        let other = sender.clone();
        // Separate threads end with the process, even if the collector is slow.
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

#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    #[error("telemetry.filter: {0}")]
    Filter(#[from] tracing_subscriber::filter::ParseError),
    /// A bare word would be a target, and silence all others.
    #[error("telemetry.filter: {0:?} is neither a level (off, error, warn, info, debug, trace) nor TARGET=LEVEL")]
    Level(String),
    #[error("telemetry.otlp_endpoint: {0:?} must be an address such as http://127.0.0.1:4317")]
    Endpoint(String),
    #[error("telemetry.otlp_endpoint: {0}")]
    Exporter(#[from] ExporterBuildError),
    #[error("telemetry is already running: {0}")]
    Running(#[from] tracing_subscriber::util::TryInitError),
}

/// Checks the settings without starting anything.
pub fn check(settings: &Telemetry) -> Result<(), TelemetryError> {
    targets(&settings.filter)?;
    let Some(endpoint) = &settings.otlp_endpoint else { return Ok(()) };
    let is_usable = |uri: &Uri| uri.scheme_str() == Some("http") && uri.host().is_some_and(|host| !host.is_empty());
    match endpoint.parse::<Uri>().is_ok_and(|uri| is_usable(&uri)) {
        true => Ok(()),
        false => Err(TelemetryError::Endpoint(endpoint.clone())),
    }
}

fn targets(filter: &str) -> Result<Targets, TelemetryError> {
    let words = filter.split(',').map(str::trim).filter(|word| !word.is_empty() && !word.contains('='));
    if let Some(word) = words.into_iter().find(|word| word.parse::<LevelFilter>().is_err()) {
        return Err(TelemetryError::Level(word.to_owned()));
    }
    Ok(filter.parse()?)
}

/// Starts telemetry. An OTLP endpoint needs a tokio runtime.
pub fn start(service: &'static str, settings: &Telemetry) -> Result<Guard, TelemetryError> {
    let asked = std::env::var("RUST_LOG").ok().filter(|filter| !filter.is_empty());
    let filter = targets(asked.as_ref().unwrap_or(&settings.filter))?;
    let exported = |endpoint| {
        Ok::<_, ExporterBuildError>((spans(service, endpoint, settings)?, metrics(service, endpoint, settings)?))
    };
    let exported = settings.otlp_endpoint.as_deref().map(exported).transpose()?;
    let layer = exported.as_ref().map(|(spans, _)| {
        // The spans that libraries make per packet are not part of a call's trace.
        let ours = Targets::new().with_target("motherlode", Level::DEBUG);
        tracing_opentelemetry::layer().with_tracer(spans.tracer(service)).with_filter(ours)
    });
    tracing_subscriber::registry()
        .with(layer)
        .with(tracing_subscriber::fmt::layer().with_ansi(colours()).with_writer(std::io::stderr).with_filter(filter))
        .try_init()?;
    if let Some((_, metrics)) = &exported {
        opentelemetry::global::set_meter_provider(metrics.clone());
    }
    Ok(Guard(exported))
}

fn colours() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|asked| asked.is_empty())
}

fn metrics(
    service: &'static str,
    endpoint: &str,
    settings: &Telemetry,
) -> Result<SdkMeterProvider, ExporterBuildError> {
    let exporter = MetricExporter::builder().with_tonic().with_endpoint(endpoint).build()?;
    let interval = Duration::from_secs(settings.metrics_seconds.into());
    Ok(SdkMeterProvider::builder()
        .with_reader(PeriodicReader::builder(exporter).with_interval(interval).build())
        .with_resource(Resource::builder().with_service_name(service).build())
        .build())
}

fn spans(service: &'static str, endpoint: &str, settings: &Telemetry) -> Result<SdkTracerProvider, ExporterBuildError> {
    let exporter = SpanExporter::builder().with_tonic().with_endpoint(endpoint).build()?;
    let share = f64::from(settings.sample_percent) / 100.0;
    Ok(SdkTracerProvider::builder()
        .with_batch_exporter(exporter)
        .with_sampler(Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(share))))
        .with_resource(Resource::builder().with_service_name(service).build())
        .build())
}
