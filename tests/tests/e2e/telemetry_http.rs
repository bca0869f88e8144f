use crate::{PROGRAM, telemetry::prometheus};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use motherlode_tests::{Client, EUR, Process, bet, operators::Certificates};
use opentelemetry_proto::tonic::collector::{
    metrics::v1::ExportMetricsServiceRequest, trace::v1::ExportTraceServiceRequest,
};
use prost::Message;
use std::{collections::BTreeSet, convert::Infallible, fs, path::Path, sync::Arc, time::Duration};
use tokio::{net::TcpListener, sync::mpsc};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        crypto::ring::default_provider,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    },
};

const EXPORTS_MAX: usize = 30;

type Export = (String, String, Bytes);

fn acceptor(folder: &Path) -> TlsAcceptor {
    let certificate = CertificateDer::from_pem_file(folder.join("service.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(folder.join("service.key")).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()));
    let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    TlsAcceptor::from(Arc::new(config.with_single_cert(vec![certificate], key).unwrap()))
}

async fn collector(tls: TlsAcceptor) -> (u16, mpsc::UnboundedReceiver<Export>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, exports) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (tls, sender) = (tls.clone(), sender.clone());
            tokio::spawn(async move {
                let receive = service_fn(|request: Request<Incoming>| {
                    let sender = sender.clone();
                    async move {
                        let path = request.uri().path().to_owned();
                        let kind = request.headers()["content-type"].to_str().unwrap().to_owned();
                        let body = request.into_body().collect().await.unwrap().to_bytes();
                        let _ = sender.send((path, kind, body));
                        Ok::<_, Infallible>(Response::new(Full::<Bytes>::default()))
                    }
                });
                let stream = TokioIo::new(tls.accept(stream).await.unwrap());
                let _ = http1::Builder::new().serve_connection(stream, receive).await;
            });
        }
    });
    (port, exports)
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_37_metrics_and_spans_are_exported_over_https() {
    let data = tempfile::tempdir().unwrap();
    let _ = Certificates::make(data.path());
    let (port, mut exports) = collector(acceptor(data.path())).await;
    let root = data.path().join("root.pem").display().to_string();
    let endpoint = format!("otlp_endpoint = \"https://localhost:{port}/otlp/\"\notlp_ca = \"{root}\"\n");
    let config = data.path().join("config.toml");
    fs::write(&config, format!("[telemetry]\n{endpoint}otlp_protocol = \"http\"\nmetrics_seconds = 1\n")).unwrap();
    let service = Process::start(PROGRAM, &data.path().join("data"), Some(&config));
    let mut client = Client::connect(service.address).await;
    let account = client.fund("alice", EUR, 10_000).await;
    client.play_out(bet("r1", &account, "0.10")).await.unwrap();
    let (mut metrics, mut spans) = (BTreeSet::new(), BTreeSet::new());
    for _ in 0..EXPORTS_MAX {
        let next = tokio::time::timeout(Duration::from_secs(60), exports.recv());
        let (path, kind, body) = next.await.unwrap().unwrap();
        assert_eq!(kind, "application/x-protobuf");
        if path == "/otlp/v1/metrics" {
            let resources = ExportMetricsServiceRequest::decode(body).unwrap().resource_metrics;
            let scopes = resources.iter().flat_map(|of| &of.scope_metrics);
            metrics.extend(scopes.flat_map(|scope| &scope.metrics).map(prometheus));
        } else {
            assert_eq!(path, "/otlp/v1/traces");
            let resources = ExportTraceServiceRequest::decode(body).unwrap().resource_spans;
            let scopes = resources.into_iter().flat_map(|of| of.scope_spans);
            spans.extend(scopes.flat_map(|scope| scope.spans).map(|span| span.name));
        }
        if metrics.contains("motherlode_log_position") && spans.contains("call") {
            break;
        }
    }
    assert!(metrics.contains("motherlode_log_position"), "{metrics:?}");
    assert!(spans.contains("call"), "{spans:?}");
    assert_eq!(service.terminate().await, Some(0));
}
