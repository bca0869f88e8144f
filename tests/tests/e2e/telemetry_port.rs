use crate::{
    PROGRAM,
    telemetry::{OF_WALLETS, asked},
};
use motherlode_testkit::nats::{Node, toml};
use motherlode_tests::{Client, EUR, Process, bet, operators::Certificates, until};
use std::{collections::BTreeSet, fs, net::SocketAddr, path::Path};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

pub(crate) const PORT: &[&str] = &["--telemetry", "127.0.0.1:0"];

pub(crate) async fn port(process: &Process) -> SocketAddr {
    const SERVED: &str = "serving metrics and health";
    until("the port", async || process.log_line(SERVED).is_some()).await;
    let line = process.log_line(SERVED).unwrap();
    line.split("address=").nth(1).and_then(|rest| rest.split_whitespace().next()?.parse().ok()).expect(&line)
}

pub(crate) async fn ask(address: SocketAddr, request: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(format!("{request} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").as_bytes()).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

pub(crate) fn value(metrics: &str, series: &str) -> Option<f64> {
    metrics.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' ')?.parse().ok())
}

#[tokio::test(flavor = "multi_thread")]
async fn prometheus_gets_every_metric_that_alarms_and_pictures_ask_for_by_the_same_names() {
    let data = tempfile::tempdir().unwrap();
    let _certificates = Certificates::make(data.path());
    let config = data.path().join("config.toml");
    let key = motherlode_proofs::make(&data.path().join("w"), Some("w1"), motherlode_tiles::KeyKind::Witness).unwrap();
    let witness = format!("[[proofs.witnesses]]\nurl = \"http://127.0.0.1:9\"\nkey = \"{}\"\n", key.verifier());
    fs::write(&config, witness + &Certificates::section(data.path())).unwrap();
    let service = Process::start_as(PROGRAM, &data.path().join("tls"), Some(&config), PORT);
    let (_, of_tls) = ask(port(&service).await, "GET /metrics").await;
    assert!(value(&of_tls, "motherlode_tls_certificate_expires_seconds").unwrap() > 3600.0);
    assert_eq!(service.terminate().await, Some(0));

    let service = Process::start_as(PROGRAM, &data.path().join("data"), None, PORT);
    let address = port(&service).await;
    let mut client = Client::connect(service.address).await;
    let account = client.fund("alice", EUR, 1_000_000).await;
    for number in 0..3 {
        client.play_out(bet(&format!("r{number}"), &account, "0.10")).await.unwrap();
    }
    let mut copy = client
        .ledger
        .follow_log(motherlode_proto::ledger::v1::FollowLogRequest { after_position: 0, partition: 0 })
        .await
        .unwrap()
        .into_inner();
    while copy.message().await.unwrap().unwrap().sent_position == 0 {}
    let metrics = async || ask(address, "GET /metrics").await.1;
    until("the rounds in the reports", async || {
        value(&metrics().await, "motherlode_rounds_total{game=\"bewitched\"}") == Some(3.0)
    })
    .await;
    let all = metrics().await;
    for (series, expected) in [
        ("motherlode_process_serving", 1.0),
        ("motherlode_log_writable{partition=\"0\"}", 1.0),
        ("motherlode_connections", 1.0),
        ("motherlode_log_readers_behind{kind=\"standby\",partition=\"0\"}", 0.0),
        ("motherlode_significant_events_total{kind=\"integrity_failed\"}", 0.0),
    ] {
        assert_eq!(value(&all, series), Some(expected), "{series}: {all}");
    }
    assert!(value(&all, "motherlode_process_memory_bytes").unwrap() > 1e6);
    assert!(value(&all, "motherlode_process_cpu_time_seconds_total").unwrap() > 0.0);
    let info = all.lines().find(|line| line.starts_with("motherlode_process_info{")).unwrap();
    assert!(info.contains("role=\"all\"") && info.contains("version=\"") && info.contains("commit=\""), "{info}");
    let target = all.lines().find(|line| line.starts_with("target_info{")).unwrap();
    assert!(target.contains("service_instance_id=\"") && target.contains("motherlode_role=\"all\""), "{target}");

    let names = all.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
    let names: BTreeSet<_> = names.chain(["motherlode_tls_certificate_expires_seconds"]).collect();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/observability");
    for file in ["rules.yaml", "dashboard.json"] {
        for name in asked(&fs::read_to_string(folder.join(file)).unwrap()) {
            let elsewhere = name.starts_with(OF_WALLETS) || name.starts_with("motherlode_proofs_cosign");
            assert!(elsewhere || names.contains(&*name), "{file} uses {name}, which is not among {names:?}");
        }
    }
    assert_eq!(ask(address, "GET /healthz").await, (200, "live\n".to_owned()));
    assert_eq!(ask(address, "GET /readyz").await, (200, "ready\n".to_owned()));
    assert_eq!(ask(address, "POST /metrics").await.0, 405);
    assert_eq!(ask(address, "GET /").await.0, 404);
    assert_eq!(service.terminate().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_standby_is_live_but_not_ready_and_reports_its_role() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(&folder.path().join("nats"), "");
    let config = folder.path().join("motherlode.toml");
    fs::write(&config, toml(&node.config("S"))).unwrap();
    let start = |name: &str| {
        let role = [PORT, &["--role", "ledger"]].concat();
        Process::start_as(PROGRAM, &folder.path().join(name), Some(&config), &role)
    };
    let processes = [start("one"), start("two")];
    let ports = [port(&processes[0]).await, port(&processes[1]).await];
    let ready = async || [ask(ports[0], "GET /readyz").await.0, ask(ports[1], "GET /readyz").await.0];
    until("one writer", async || matches!(ready().await, [200, 503] | [503, 200])).await;
    for port in ports {
        assert_eq!(ask(port, "GET /healthz").await.0, 200);
        let metrics = ask(port, "GET /metrics").await.1;
        let info = metrics.lines().find(|line| line.starts_with("motherlode_process_info{")).unwrap();
        assert!(info.contains("role=\"ledger\""), "{info}");
    }
    let serving = async |port| value(&ask(port, "GET /metrics").await.1, "motherlode_process_serving").unwrap();
    let both = [serving(ports[0]).await, serving(ports[1]).await];
    assert!((both[0] + both[1] - 1.0).abs() < f64::EPSILON, "{both:?}");
    for process in processes {
        assert_eq!(process.terminate().await, Some(0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_exports_are_counted_and_logged_once_and_do_not_hold_a_stop() {
    for protocol in ["grpc", "http"] {
        let data = tempfile::tempdir().unwrap();
        let config = data.path().join("config.toml");
        let endpoint = format!("otlp_endpoint = \"http://127.0.0.1:9\"\notlp_protocol = \"{protocol}\"\n");
        fs::write(&config, format!("[telemetry]\n{endpoint}metrics_seconds = 1\n")).unwrap();
        let service = Process::start_as(PROGRAM, &data.path().join("data"), Some(&config), PORT);
        let address = port(&service).await;
        let failed = async || {
            let metrics = ask(address, "GET /metrics").await.1;
            value(&metrics, "motherlode_telemetry_exports_failed_total{signal=\"metrics\"}").unwrap()
        };
        until("three failures", async || failed().await >= 3.0).await;
        assert_eq!(
            service.log_lines("failed to export telemetry").iter().filter(|line| line.contains("metrics")).count(),
            1
        );
        let lines = service.log_lines("xport").len();
        assert!(lines <= 2, "the libraries repeat their log lines: {:?}", service.log_lines("xport"));
        assert_eq!(service.terminate().await, Some(0));
    }
}
