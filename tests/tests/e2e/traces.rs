use crate::PROGRAM;
use motherlode_tests::{Client, EUR, Process, bet};
use opentelemetry_proto::tonic::{
    collector::trace::v1::{
        ExportTraceServiceRequest, ExportTraceServiceResponse,
        trace_service_server::{TraceService, TraceServiceServer},
    },
    trace::v1::Span,
};
use std::{fs, path::Path};
use tokio::{net::TcpListener, sync::mpsc};
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status, transport::Server};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER: &str = "00f067aa0ba902b7";

struct Collector(mpsc::UnboundedSender<Span>);

#[tonic::async_trait]
impl TraceService for Collector {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let scopes = request.into_inner().resource_spans.into_iter().flat_map(|resource| resource.scope_spans);
        for span in scopes.flat_map(|scope| scope.spans) {
            self.0.send(span).unwrap();
        }
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

struct Traced {
    process: Process,
    spans: mpsc::UnboundedReceiver<Span>,
}

impl Traced {
    async fn start(folder: &Path, arguments: &[&str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = listener.local_addr().unwrap();
        let (sender, spans) = mpsc::unbounded_channel();
        let collector = Server::builder().add_service(TraceServiceServer::new(Collector(sender)));
        tokio::spawn(collector.serve_with_incoming(TcpListenerStream::new(listener)));
        fs::create_dir(folder).unwrap();
        let config = folder.join("config.toml");
        let telemetry = format!("[telemetry]\notlp_endpoint = \"http://{endpoint}\"\nmetrics_seconds = 3600\n");
        fs::write(&config, telemetry).unwrap();
        let process = Process::start_as(PROGRAM, &folder.join("data"), Some(&config), arguments);
        Self { process, spans }
    }

    async fn stop(mut self) -> Vec<Span> {
        assert_eq!(self.process.terminate().await, Some(0));
        let mut spans = vec![];
        while let Ok(span) = self.spans.try_recv() {
            spans.push(span);
        }
        spans
    }
}

fn hex(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(bytes)
}

fn only<'a>(spans: &'a [Span], name: &str) -> &'a Span {
    let mut found = spans.iter().filter(|span| span.name == name && hex(&span.trace_id) == TRACE);
    let only = found.next().unwrap_or_else(|| panic!("no {name} in {spans:?}"));
    assert!(found.next().is_none(), "several {name} in {spans:?}");
    only
}

#[tokio::test(flavor = "multi_thread")]
async fn a_round_is_one_trace_over_the_processes_that_resolve_and_write_it() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Traced::start(&folder.path().join("ledger"), &["--role", "ledger"]).await;
    let at = format!("http://{}", ledger.process.address);
    let spin = Traced::start(&folder.path().join("spin"), &["--role", "spin", "--ledger", &at]).await;
    let account = Client::connect(ledger.process.address).await.fund("alice", EUR, 10_000).await;
    let mut client = Client::connect(spin.process.address).await;
    client.play_out(bet("untraced", &account, "0.10")).await.unwrap();
    let mut request = Request::new(bet("traced", &account, "0.10"));
    request.metadata_mut().insert("traceparent", format!("00-{TRACE}-{CALLER}-01").parse().unwrap());
    client.spin.spin(request).await.unwrap();

    let (at_spin, at_ledger) = (spin.stop().await, ledger.stop().await);
    let call = only(&at_spin, "call");
    assert_eq!(hex(&call.parent_span_id), CALLER, "the call's span is a child of the caller's span");
    let resolved = only(&at_spin, "spin");
    assert_eq!(resolved.parent_span_id, call.span_id);
    let appended = only(&at_ledger, "append");
    assert_eq!(appended.parent_span_id, resolved.span_id, "the append in the other process is a child of the step");
    let spins: Vec<_> = at_spin.iter().filter(|span| span.name == "spin").collect();
    assert_eq!(spins.len(), 2);
    assert_ne!(spins[0].trace_id, spins[1].trace_id);
    let other = spins.into_iter().find(|span| hex(&span.trace_id) != TRACE).unwrap();
    assert!(at_ledger.iter().any(|span| span.name == "append" && span.parent_span_id == other.span_id));
}
