use super::error::TelemetryError;
use crate::{
    config::{OtlpProtocol, Telemetry},
    connect, https, roots,
};
use http::{Request, Response, Uri};
use opentelemetry_http::{Bytes, HttpClient, HttpError, hyper::HyperClient};
use opentelemetry_otlp::{
    ExporterBuildError, MetricExporter, OTEL_EXPORTER_OTLP_TIMEOUT_DEFAULT, Protocol, SpanExporter, WithExportConfig,
    WithHttpConfig, WithTonicConfig,
};
use std::{fs, time::Duration};
use tokio::runtime::Handle;
use tokio_rustls::rustls::RootCertStore;
use tonic::transport::ClientTlsConfig;

const CONNECT_MAX: Duration = Duration::from_secs(3);

#[derive(Clone)]
pub(super) struct Collector {
    endpoint: String,
    transport: Transport,
}

#[derive(Clone)]
enum Transport {
    Grpc(Option<ClientTlsConfig>),
    Http(https::Connector),
}

/// Sends requests on the process's runtime, because the SDK exports from threads without a runtime.
#[derive(Debug)]
struct OnRuntime(HyperClient<https::Connector>, Handle);

#[tonic::async_trait]
impl HttpClient for OnRuntime {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let client = self.0.clone();
        self.1.spawn(async move { client.send_bytes(request).await }).await?
    }
}

impl Collector {
    pub(super) fn from_config(settings: &Telemetry) -> Result<Option<Self>, TelemetryError> {
        let Some(endpoint) = &settings.otlp_endpoint else { return Ok(None) };
        let uri = endpoint.parse::<Uri>().ok().filter(|uri| uri.host().is_some_and(|host| !host.is_empty()));
        let is_tls = match (uri.as_ref().and_then(Uri::scheme_str), &settings.otlp_ca) {
            (Some("http"), None) => false,
            (Some("http"), Some(_)) => {
                return Err(TelemetryError::Roots("a root certificate needs an https endpoint".to_owned()));
            }
            (Some("https"), _) => true,
            _ => return Err(TelemetryError::Endpoint(endpoint.clone())),
        };
        let ca = settings.otlp_ca.as_ref().map(fs::read).transpose();
        let ca = ca.map_err(|error| TelemetryError::Roots(error.to_string()))?;
        let transport = match settings.otlp_protocol {
            OtlpProtocol::Grpc => is_tls.then(|| connect::tls(ca.as_deref())).transpose().map(Transport::Grpc),
            OtlpProtocol::Http => {
                let roots = is_tls.then(|| ca.as_deref().map_or_else(roots::of_system, roots::named)).transpose();
                roots.and_then(|roots| {
                    let roots = roots.unwrap_or_else(RootCertStore::empty);
                    https::connector(roots, CONNECT_MAX).map(Transport::Http).map_err(|error| error.to_string())
                })
            }
        };
        let endpoint = endpoint.trim_end_matches('/').to_owned();
        Ok(Some(Self { endpoint, transport: transport.map_err(TelemetryError::Roots)? }))
    }

    pub(super) fn spans(&self) -> Result<SpanExporter, ExporterBuildError> {
        match &self.transport {
            Transport::Grpc(tls) => self.grpc(SpanExporter::builder().with_tonic(), tls).build(),
            Transport::Http(connector) => self.http(SpanExporter::builder().with_http(), connector, "traces").build(),
        }
    }

    pub(super) fn metrics(&self) -> Result<MetricExporter, ExporterBuildError> {
        match &self.transport {
            Transport::Grpc(tls) => self.grpc(MetricExporter::builder().with_tonic(), tls).build(),
            Transport::Http(connector) => {
                self.http(MetricExporter::builder().with_http(), connector, "metrics").build()
            }
        }
    }

    fn grpc<B: WithExportConfig + WithTonicConfig>(&self, builder: B, tls: &Option<ClientTlsConfig>) -> B {
        let builder = builder.with_endpoint(&self.endpoint);
        match tls {
            Some(tls) => builder.with_tls_config(tls.clone()),
            None => builder,
        }
    }

    fn http<B: WithExportConfig + WithHttpConfig>(&self, builder: B, connector: &https::Connector, signal: &str) -> B {
        let client = HyperClient::new(connector.clone(), OTEL_EXPORTER_OTLP_TIMEOUT_DEFAULT, None);
        builder
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(format!("{}/v1/{signal}", self.endpoint))
            .with_http_client(OnRuntime(client, Handle::current()))
    }
}
