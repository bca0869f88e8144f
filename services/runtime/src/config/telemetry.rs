use serde::{Deserialize, Serialize};
use std::{net::SocketAddr, path::PathBuf};

/// Logs, which go to standard error, and telemetry for an OpenTelemetry collector and Prometheus.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Telemetry {
    /// Log filter: a level, or TARGET=LEVEL, such as `info,motherlode_ledger=debug`. RUST_LOG overrides this key.
    pub filter: String,
    /// Format of the log lines. If the output goes to systemd's journal, each line is prefixed with its priority.
    pub log_format: LogFormat,
    /// OTLP endpoint, such as "http://127.0.0.1:4317" or "https://collector:4318".
    pub otlp_endpoint: Option<String>,
    /// Protocol of the endpoint; `http` posts protobuf to `/v1/traces` and `/v1/metrics`.
    pub otlp_protocol: OtlpProtocol,
    /// Root certificate for https, in PEM; default: the system's root certificates.
    pub otlp_ca: Option<PathBuf>,
    /// Percentage of requests that are traced.
    pub sample_percent: u8,
    /// Seconds between exports of metrics.
    pub metrics_seconds: u16,
    /// Plain HTTP address of `/metrics` (for Prometheus), `/healthz` and `/readyz`; default: none.
    pub listen: Option<SocketAddr>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    #[default]
    Text,
    Json,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OtlpProtocol {
    #[default]
    Grpc,
    Http,
}

impl Default for Telemetry {
    fn default() -> Self {
        Self {
            filter: "info".to_owned(),
            log_format: LogFormat::default(),
            otlp_endpoint: None,
            otlp_protocol: OtlpProtocol::default(),
            otlp_ca: None,
            sample_percent: 100,
            metrics_seconds: 10,
            listen: None,
        }
    }
}

impl Telemetry {
    #[must_use]
    pub fn measures(&self) -> bool {
        self.otlp_endpoint.is_some() || self.listen.is_some()
    }
}
