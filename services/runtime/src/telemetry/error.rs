use opentelemetry_otlp::ExporterBuildError;

#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    #[error("telemetry.filter: {0}")]
    Filter(#[from] tracing_subscriber::filter::ParseError),
    /// The filter contains a word that is not a level. The parser of filters would read the word as a target and silence
    /// all other targets.
    #[error("telemetry.filter: {0:?} is neither a level (off, error, warn, info, debug, trace) nor TARGET=LEVEL")]
    Level(String),
    #[error(
        "telemetry.otlp_endpoint: {0:?} must be an address such as http://127.0.0.1:4317 or https://collector:4317"
    )]
    Endpoint(String),
    #[error("telemetry.otlp_ca: {0}")]
    Roots(String),
    #[error("telemetry.otlp_endpoint: {0}")]
    Exporter(#[from] ExporterBuildError),
    #[error("telemetry.listen: {0}")]
    Prometheus(#[from] opentelemetry_sdk::error::OTelSdkError),
    #[error("telemetry is already running: {0}")]
    Running(#[from] tracing_subscriber::util::TryInitError),
}
