use crate::PROGRAM;
use motherlode_proofs::make;
use motherlode_proto::{
    ledger::v1::{DepositRequest, FollowLogRequest, GetLogStatusRequest},
    round::v1::Account,
    spin::v1::{PlayStreamRequest, play_stream_request::Call},
};
use motherlode_runtime::connect::{Credentials, connect};
use motherlode_tests::{
    Client, EUR, Process, account, bet,
    hostile::Target,
    operators::{Certificates, operator, token},
};
use motherlode_tiles::KeyKind;
use opentelemetry_proto::tonic::{
    collector::metrics::v1::{
        ExportMetricsServiceRequest, ExportMetricsServiceResponse,
        metrics_service_server::{MetricsService, MetricsServiceServer},
    },
    common::v1::any_value::Value,
    metrics::v1::{Metric, NumberDataPoint, metric::Data, number_data_point::Value as Number},
};
use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    sync::mpsc,
};
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{
    Request, Response, Status,
    transport::{Identity, Server, ServerTlsConfig},
};

struct Collector(mpsc::UnboundedSender<Vec<Metric>>);

#[tonic::async_trait]
impl MetricsService for Collector {
    async fn export(
        &self,
        request: Request<ExportMetricsServiceRequest>,
    ) -> Result<Response<ExportMetricsServiceResponse>, Status> {
        let scopes = request.into_inner().resource_metrics.into_iter().flat_map(|resource| resource.scope_metrics);
        let _ = self.0.send(scopes.flat_map(|scope| scope.metrics).collect());
        Ok(Response::new(ExportMetricsServiceResponse::default()))
    }
}

pub fn counted(metric: &Metric, having: &[(&str, &str)]) -> i64 {
    let points: &[NumberDataPoint] = match metric.data.as_ref().unwrap() {
        Data::Sum(sum) => &sum.data_points,
        Data::Gauge(gauge) => &gauge.data_points,
        _ => &[],
    };
    let has = |point: &NumberDataPoint, (key, value): (&str, &str)| {
        let value = Some(Value::StringValue(value.to_owned()));
        let mut found = point.attributes.iter().filter(|attribute| attribute.key == key);
        found.any(|attribute| attribute.value.as_ref().and_then(|of| of.value.clone()) == value)
    };
    let points = points.iter().filter(|point| having.iter().all(|wanted| has(point, *wanted)));
    points.map(|point| if let Some(Number::AsInt(number)) = point.value { number } else { 0 }).sum()
}

fn seconds(metric: &Metric) -> Option<f64> {
    match metric.data.as_ref()? {
        Data::Gauge(gauge) => match gauge.data_points.as_slice() {
            [NumberDataPoint { value: Some(Number::AsDouble(value)), .. }] => Some(*value),
            _ => None,
        },
        _ => None,
    }
}

/// Returns a metric's name in Prometheus, according to OpenTelemetry's "Prometheus and OpenMetrics compatibility".
pub fn prometheus(metric: &Metric) -> String {
    let name = metric.name.replace('.', "_");
    let unit = match metric.unit.as_str() {
        "s" => "_seconds".to_owned(),
        "By" => "_bytes".to_owned(),
        unit if unit.is_empty() || unit.starts_with('{') => String::new(),
        unit => format!("_{unit}"),
    };
    let total = match &metric.data {
        Some(Data::Sum(sum)) if sum.is_monotonic => "_total",
        _ => "",
    };
    format!("{name}{unit}{total}")
}

pub fn points(metric: &Metric, key: &str) -> BTreeMap<String, i64> {
    let points: &[NumberDataPoint] = match metric.data.as_ref().unwrap() {
        Data::Sum(sum) => &sum.data_points,
        Data::Gauge(gauge) => &gauge.data_points,
        _ => &[],
    };
    let attribute = |point: &NumberDataPoint| {
        let found = point.attributes.iter().find(|attribute| attribute.key == key)?.value.clone()?.value?;
        Some(match found {
            Value::StringValue(text) => text,
            other => format!("{other:?}"),
        })
    };
    let number = |point: &NumberDataPoint| match point.value {
        Some(Number::AsInt(number)) => number,
        _ => 0,
    };
    points.iter().map(|point| (attribute(point).unwrap_or_default(), number(point))).collect()
}

pub const OF_WALLETS: &str = "motherlode_wallet_";

pub fn asked(text: &str) -> Vec<String> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let named = words.filter(|word| word.starts_with("motherlode_") || word.starts_with("rpc_server_"));
    let base = |word: &str| {
        let suffixes = ["_bucket", "_sum", "_count"];
        suffixes.iter().find_map(|suffix| word.strip_suffix(suffix)).unwrap_or(word).to_owned()
    };
    named.map(base).collect()
}

pub async fn collector() -> (String, mpsc::UnboundedReceiver<Vec<Metric>>) {
    let (port, exports) = collector_on(Server::builder()).await;
    (format!("http://127.0.0.1:{port}"), exports)
}

async fn collector_on(mut server: Server) -> (u16, mpsc::UnboundedReceiver<Vec<Metric>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, exports) = mpsc::unbounded_channel();
    let collector = server.add_service(MetricsServiceServer::new(Collector(sender)));
    tokio::spawn(collector.serve_with_incoming(TcpListenerStream::new(listener)));
    (port, exports)
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_are_exported_over_tls_to_a_collector_whose_root_certificate_is_named() {
    let data = tempfile::tempdir().unwrap();
    let _ = Certificates::make(data.path());
    let file = |name: &str| data.path().join(name);
    let read = |name: &str| fs::read(file(name)).unwrap();
    let tls = ServerTlsConfig::new().identity(Identity::from_pem(read("service.pem"), read("service.key")));
    let (port, mut exports) = collector_on(Server::builder().tls_config(tls).unwrap()).await;
    let config = file("config.toml");
    let root = file("root.pem").display().to_string();
    let telemetry =
        format!("otlp_endpoint = \"https://localhost:{port}\"\notlp_ca = \"{root}\"\nmetrics_seconds = 1\n");
    fs::write(&config, format!("[telemetry]\n{telemetry}")).unwrap();
    let service = Process::start(PROGRAM, &data.path().join("data"), Some(&config));
    let exported = tokio::time::timeout(Duration::from_secs(60), exports.recv()).await.unwrap().unwrap();
    assert!(exported.iter().any(|metric| prometheus(metric) == "motherlode_log_position"));
    assert_eq!(service.terminate().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn uf_08_failed_log_ins_are_counted_and_said_without_what_was_shown() {
    let (endpoint, mut exports) = collector().await;
    let data = tempfile::tempdir().unwrap();
    let config = data.path().join("config.toml");
    let telemetry = format!("[telemetry]\notlp_endpoint = \"{endpoint}\"\nmetrics_seconds = 1\n");
    fs::write(&config, telemetry + &operator("acme", &[("right", r#"["audit"]"#)])).unwrap();
    let service = Process::start(PROGRAM, &data.path().join("data"), Some(&config));
    let target = format!("http://{}", service.address);
    let secret = "a-wrong-token-of-somebodys";
    let shown = async |credentials: &Credentials| {
        let mut client = Client::on(connect(&target, credentials, None).await.unwrap());
        client.ledger.get_log_status(GetLogStatusRequest {}).await.is_ok()
    };
    for _ in 0..25 {
        assert!(!shown(&token(secret)).await);
    }
    assert!(!shown(&Credentials::default()).await);
    assert!(shown(&token("right")).await);

    let mut failed = BTreeMap::new();
    while failed.get("TOKEN_MISSING") != Some(&1) {
        let metrics = tokio::time::timeout(Duration::from_secs(60), exports.recv()).await.unwrap().unwrap();
        let counted = metrics.iter().find(|metric| prometheus(metric) == "motherlode_refusals_total");
        failed = counted.map(|metric| points(metric, "reason")).unwrap_or_default();
    }
    assert_eq!((failed["TOKEN_UNKNOWN"], failed["TOKEN_EXPIRED"], failed["CERTIFICATE_UNKNOWN"]), (25, 0, 0));
    let line = service.log_line("TOKEN_UNKNOWN").unwrap();
    assert!(
        line.contains("a call was refused") && line.contains("GetLogStatus") && line.contains("127.0.0.1"),
        "{line}"
    );
    assert_eq!(service.log_line(secret), None, "the token is not logged");
    assert_eq!(service.terminate().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn at_c1_each_refused_call_has_one_line_with_reason_operator_and_request() {
    let data = tempfile::tempdir().unwrap();
    let config = data.path().join("config.toml");
    fs::write(&config, operator("acme", &[("right", r#"["play", "wallet"]"#)])).unwrap();
    let service = Process::start(PROGRAM, &data.path().join("data"), Some(&config));
    let target = format!("http://{}", service.address);
    let mut client = Client::on(connect(&target, &token("right"), None).await.unwrap());
    let unknown = Account { operator_id: "acme".to_owned(), ..account("nobody", EUR) };
    let asked = |id: &str| bet(id, &unknown, "0.01");
    client.spin(asked("direct-1"), None).await.unwrap_err();
    let deposit = DepositRequest { request_id: "layers-1".to_owned(), account: Some(unknown.clone()), amount_minor: 1 };
    client.ledger.deposit(deposit).await.unwrap_err();
    let calls = ["stream-1", "stream-2"].map(|id| PlayStreamRequest { tag: 7, call: Some(Call::Spin(asked(id))) });
    let mut answers = client.spin.play_stream(tokio_stream::iter(calls)).await.unwrap().into_inner();
    while answers.message().await.unwrap().is_some() {}
    for (id, method) in [
        ("direct-1", "motherlode.spin.v1.SpinService/Spin"),
        ("layers-1", "motherlode.ledger.v1.LedgerService/Deposit"),
        ("stream-1", "motherlode.spin.v1.SpinService/PlayStream"),
        ("stream-2", "motherlode.spin.v1.SpinService/PlayStream"),
    ] {
        let lines = service.log_lines(id);
        let [line] = &lines[..] else { panic!("{id}: {lines:?}") };
        for part in ["INFO", "a call was refused", "ACCOUNT_UNKNOWN", "NOT_FOUND", method, "\"acme\"", "\"c0\""] {
            assert!(line.contains(part), "{part}: {line}");
        }
    }
    for number in 0..50 {
        client.spin(asked(&format!("many-{number}")), None).await.unwrap_err();
    }
    let lines = service.log_lines("a call was refused").len();
    assert!((10..=20).contains(&lines), "{lines} lines were logged; ten per window are allowed");
    assert_eq!(service.terminate().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn uf_02_tls_handshakes_are_counted_by_how_they_end() {
    let (endpoint, mut exports) = collector().await;
    let data = tempfile::tempdir().unwrap();
    let certificates = Certificates::make(data.path());
    let config = data.path().join("config.toml");
    let telemetry = format!("[telemetry]\notlp_endpoint = \"{endpoint}\"\nmetrics_seconds = 1\n");
    fs::write(&config, telemetry + &Certificates::section(data.path())).unwrap();
    let program = env!("CARGO_BIN_EXE_motherlode-under-test");
    let service = Process::start(program, &data.path().join("data"), Some(&config));
    let target = Target::tls(service.address, &certificates.root);
    let mut stranger = target.tcp().await.unwrap();
    stranger.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    let _ = stranger.read_to_end(&mut vec![]).await;
    drop(target.wire().await.unwrap());
    let mut ended = BTreeMap::new();
    while ended.get("failed") != Some(&1) || ended.get("done") != Some(&1) {
        let metrics = tokio::time::timeout(Duration::from_secs(60), exports.recv()).await.unwrap().unwrap();
        let counted = metrics.iter().find(|metric| prometheus(metric) == "motherlode_tls_handshakes_total");
        ended = counted.map(|metric| points(metric, "outcome")).unwrap_or_default();
    }
    assert_eq!((ended["late"], ended["displaced"]), (0, 0));
    assert_eq!(service.terminate().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_gets_every_metric_that_alarms_and_pictures_ask_for() {
    let (endpoint, mut exports) = collector().await;
    let data = tempfile::tempdir().unwrap();
    let config = data.path().join("config.toml");
    let telemetry = format!("[telemetry]\notlp_endpoint = \"{endpoint}\"\nsample_percent = 0\nmetrics_seconds = 1\n");
    let key = make(&data.path().join("witness"), Some("w1"), KeyKind::Witness).unwrap().verifier().to_string();
    let witness = format!("[[proofs.witnesses]]\nurl = \"http://127.0.0.1:9\"\nkey = \"{key}\"\n");
    fs::write(&config, telemetry + &witness).unwrap();
    let service = Process::start(PROGRAM, &data.path().join("data"), Some(&config));
    let mut client = Client::connect(service.address).await;
    let account = client.fund("alice", EUR, 1_000_000).await;
    let follow = FollowLogRequest { after_position: 0, partition: 0 };
    let mut copy = client.ledger.follow_log(follow).await.unwrap().into_inner();
    while copy.message().await.unwrap().unwrap().sent_position == 0 {}
    for number in 0..20 {
        client.play_out(bet(&format!("r{number}"), &account, "0.10")).await.unwrap();
    }

    let rounds = |metrics: &BTreeMap<String, Metric>| {
        points(metrics.get("motherlode_rounds_total")?, "game").get("bewitched").copied()
    };
    let mut latest = BTreeMap::new();
    while rounds(&latest) != Some(20) {
        let metrics = tokio::time::timeout(Duration::from_secs(60), exports.recv()).await.unwrap().unwrap();
        latest = metrics.into_iter().map(|metric| (prometheus(&metric), metric)).collect();
    }
    assert!(latest["motherlode_log_position"].data.is_some());
    assert!(latest.contains_key("motherlode_refusals_total"), "the counter is present before the first refusal");
    assert_eq!(points(&latest["motherlode_log_writable"], "partition").into_values().collect::<Vec<_>>(), [1]);
    let significant = points(&latest["motherlode_significant_events_total"], "kind");
    assert_eq!(significant["parameter_changed"], 1);
    assert_eq!((significant["clock_skewed"], significant["integrity_failed"]), (0, 0));
    let Some(Data::Histogram(calls)) = &latest["rpc_server_call_duration_seconds"].data else { panic!("no histogram") };
    let text = |point: &opentelemetry_proto::tonic::metrics::v1::HistogramDataPoint| format!("{:?}", point.attributes);
    let spins = calls.data_points.iter().find(|point| text(point).contains("SpinService/Spin")).unwrap();
    assert_eq!(spins.count, 20);
    assert!(text(spins).contains("\"OK\""), "{}", text(spins));

    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/observability");
    for file in ["rules.yaml", "dashboard.json"] {
        let names = asked(&fs::read_to_string(folder.join(file)).unwrap());
        assert!(names.len() > 8, "{file} uses metrics");
        for name in names.into_iter().filter(|name| !name.starts_with(OF_WALLETS) && !name.contains("_tls_certificate"))
        {
            assert!(latest.contains_key(&name), "{file} uses {name}, which is not among {:?}", latest.keys());
        }
    }
    assert_eq!(service.terminate().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn at_e_readers_checkpoints_and_the_disk_are_measured() {
    let (endpoint, mut exports) = collector().await;
    let data = tempfile::tempdir().unwrap();
    let config = data.path().join("config.toml");
    fs::write(&config, format!("[telemetry]\notlp_endpoint = \"{endpoint}\"\nmetrics_seconds = 1\n")).unwrap();
    let service = Process::start(PROGRAM, &data.path().join("data"), Some(&config));
    let mut client = Client::connect(service.address).await;
    let account = client.fund("alice", EUR, 1_000_000).await;
    client.play_out(bet("r1", &account, "0.10")).await.unwrap();
    let mut wait = async |wanted: &dyn Fn(&BTreeMap<String, Metric>) -> bool| loop {
        let metrics = tokio::time::timeout(Duration::from_secs(60), exports.recv()).await.unwrap().unwrap();
        let found: BTreeMap<_, _> = metrics.into_iter().map(|metric| (prometheus(&metric), metric)).collect();
        if found.contains_key("motherlode_log_copied") && wanted(&found) {
            return found;
        }
    };
    let copies = |found: &BTreeMap<String, Metric>| counted(&found["motherlode_log_readers"], &[("kind", "copy")]);
    let only = |metric: &Metric| counted(metric, &[]);
    let found = wait(&|_| true).await;
    assert_eq!((copies(&found), only(&found["motherlode_log_copied"])), (0, 0));
    let free = only(&found["motherlode_disk_free_bytes"]);
    assert!(free > 0 && free <= only(&found["motherlode_disk_size_bytes"]), "{free}");

    let follow = FollowLogRequest { after_position: 0, partition: 0 };
    let mut copy = client.ledger.follow_log(follow).await.unwrap().into_inner();
    let mut sent = 0;
    while sent < 5 {
        sent = copy.message().await.unwrap().unwrap().sent_position;
    }
    let found = wait(&|found| copies(found) == 1 && only(&found["motherlode_log_copied"]) >= 5).await;
    assert!(only(&found["motherlode_log_position"]) >= only(&found["motherlode_log_copied"]));
    drop(copy);
    let found = wait(&|found| copies(found) == 0).await;
    assert!(only(&found["motherlode_log_copied"]) >= 5);
    wait(&|found| only(&found["motherlode_proofs_position"]) == only(&found["motherlode_log_position"])).await;
    assert_eq!(service.terminate().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn at_e_appends_copies_trees_and_checkpoints_have_ages_in_seconds() {
    let (endpoint, mut exports) = collector().await;
    let data = tempfile::tempdir().unwrap();
    let config = data.path().join("config.toml");
    fs::write(&config, format!("[telemetry]\notlp_endpoint = \"{endpoint}\"\nmetrics_seconds = 1\n")).unwrap();
    let service = Process::start(PROGRAM, &data.path().join("data"), Some(&config));
    let mut client = Client::connect(service.address).await;
    let account = client.fund("alice", EUR, 1_000_000).await;
    let mut exported = async || loop {
        let metrics = tokio::time::timeout(Duration::from_secs(60), exports.recv()).await.unwrap().unwrap();
        let found: BTreeMap<_, _> = metrics.into_iter().map(|metric| (prometheus(&metric), metric)).collect();
        let age = |name: &str| found.get(&format!("motherlode_{name}_age_seconds")).and_then(seconds);
        if let Some(readers) = found.get("motherlode_log_readers") {
            let ages = ["log_append", "log_copy", "proofs_tree", "proofs_checkpoint"].map(age);
            return (ages, counted(readers, &[("kind", "copy")]));
        }
    };
    while exported().await.0 != [Some(0.0), None, Some(0.0), Some(0.0)] {}
    let follow = FollowLogRequest { after_position: 0, partition: 0 };
    let mut copy = client.ledger.follow_log(follow).await.unwrap().into_inner();
    let end = client.ledger.get_log_status(GetLogStatusRequest {}).await.unwrap().into_inner().partitions[0].position;
    while copy.message().await.unwrap().unwrap().sent_position < end {}
    while exported().await.0[1] != Some(0.0) {}
    let begun = Instant::now();
    drop(copy);
    while exported().await.1 > 0 {}
    let deposit = DepositRequest { request_id: "after".into(), account: Some(account), amount_minor: 1 };
    client.ledger.deposit(deposit).await.unwrap();
    let mut age = 0.0;
    while age < 1.0 {
        age = exported().await.0[1].unwrap();
        assert!(age <= begun.elapsed().as_secs_f64() + 0.001, "{age}");
    }
    assert_eq!(service.terminate().await, Some(0));
}
