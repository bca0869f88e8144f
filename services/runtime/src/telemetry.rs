//! Tracing to standard error, and spans to an OpenTelemetry collector when one is configured.
//!
//! Without an endpoint nothing of OpenTelemetry runs. Exporting never blocks a request: spans are batched on their own
//! thread and dropped when the collector cannot keep up.

use crate::config::Telemetry;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{SpanExporter, WithExportConfig};
use opentelemetry_sdk::{
    Resource,
    trace::{Sampler, SdkTracerProvider},
};
use tracing_subscriber::{EnvFilter, layer::SubscriberExt, util::SubscriberInitExt};

/// Keeps the exporter alive; flushes it when dropped.
#[derive(Debug, Default)]
#[must_use = "spans are flushed when this is dropped"]
pub struct Guard(Option<SdkTracerProvider>);

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(provider) = self.0.take()
            && let Err(error) = provider.shutdown()
        {
            eprintln!("telemetry: the last spans were not exported: {error}");
        }
    }
}

/// Why telemetry could not be started.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The filter is malformed.
    #[error("telemetry.filter: {0}")]
    Filter(#[from] tracing_subscriber::filter::ParseError),
    /// The exporter could not be built.
    #[error("telemetry.otlp_endpoint: {0}")]
    Exporter(#[from] opentelemetry_otlp::ExporterBuildError),
    /// Another subscriber is installed.
    #[error("telemetry is already running: {0}")]
    Running(#[from] tracing_subscriber::util::TryInitError),
}

/// Starts telemetry for the whole process; within a tokio runtime when an endpoint is configured.
///
/// # Errors
/// [`TelemetryError`] names the setting at fault.
pub fn start(service: &'static str, settings: &Telemetry) -> Result<Guard, TelemetryError> {
    let filter = match std::env::var(EnvFilter::DEFAULT_ENV) {
        Ok(filter) if !filter.is_empty() => EnvFilter::try_new(filter)?,
        _ => EnvFilter::try_new(&settings.filter)?,
    };
    let provider =
        settings.otlp_endpoint.as_deref().map(|endpoint| exporter(service, endpoint, settings)).transpose()?;
    let spans = provider.as_ref().map(|provider| tracing_opentelemetry::layer().with_tracer(provider.tracer(service)));
    tracing_subscriber::registry()
        .with(filter)
        .with(spans)
        .with(tracing_subscriber::fmt::layer().with_writer(std::io::stderr))
        .try_init()?;
    Ok(Guard(provider))
}

fn exporter(
    service: &'static str,
    endpoint: &str,
    settings: &Telemetry,
) -> Result<SdkTracerProvider, opentelemetry_otlp::ExporterBuildError> {
    let exporter = SpanExporter::builder().with_tonic().with_endpoint(endpoint).build()?;
    let share = f64::from(settings.sample_percent) / 100.0;
    Ok(SdkTracerProvider::builder()
        .with_batch_exporter(exporter)
        .with_sampler(Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(share))))
        .with_resource(Resource::builder().with_service_name(service).build())
        .build())
}
