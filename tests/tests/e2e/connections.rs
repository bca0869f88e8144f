use crate::PROGRAM;
use futures_util::future::join_all;
use motherlode_runtime::Config;
use motherlode_tests::{
    Client, EUR, Process, Server, bet, config,
    hostile::{GREETING, Target, Wire, framed},
    operators::Certificates,
    start_fresh, until,
};
use prost::bytes::Bytes;
use std::{fs, io::ErrorKind, path::Path, pin::pin, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::timeout,
};
use tonic::{
    Code,
    transport::{Certificate, Channel, ClientTlsConfig},
};
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};

const SPIN: &str = "/motherlode.spin.v1.SpinService/Spin";

const NEVER: Duration = Duration::from_secs(30);

async fn rest(mut wire: Wire) -> Vec<u8> {
    let mut read = vec![];
    let _ = timeout(NEVER, wire.read_to_end(&mut read)).await.expect("the service closes the connection");
    read
}

async fn open(target: &Target, bytes: &[u8]) -> Wire {
    let mut wire = target.wire().await.unwrap();
    wire.write_all(bytes).await.unwrap();
    wire
}

async fn start(data: &Path, change: impl FnOnce(&mut Config)) -> Server {
    let mut config = config(data);
    change(&mut config);
    start_fresh(&config).await
}

#[tokio::test(flavor = "multi_thread")]
async fn uf_02_a_connection_that_never_ends_its_handshakes_is_dropped_in_the_clear_and_through_tls() {
    let folder = tempfile::tempdir().unwrap();
    let certificates = Certificates::make(folder.path());
    let tls = Config::parse(&Certificates::section(folder.path())).unwrap().tls;
    for tls in [None, tls] {
        let data = tempfile::tempdir().unwrap();
        let (secured, tls_again) = (tls.is_some(), tls.clone());
        let server = start(data.path(), |config| {
            config.tls = tls;
            config.limits.handshake_ms_max = 300;
        })
        .await;
        let plain = Target::plain(server.address());
        let target = if secured { Target::tls(server.address(), &certificates.root) } else { plain.clone() };
        let begun = if secured { &[0x16, 3, 1][..] } else { &GREETING[..3] };
        let wires = [open(&plain, &[]).await, open(&plain, begun).await, open(&target, &GREETING[..12]).await];
        let honest = open(&target, GREETING).await;
        for ended in join_all(wires.map(rest)).await {
            assert!(ended.len() < 200, "the service sent more than its HTTP/2 preface: {} bytes", ended.len());
        }
        assert!(
            timeout(Duration::from_millis(1), rest(honest)).await.is_err(),
            "a connection with a complete preface stays open"
        );
        server.stop().await.unwrap();

        let data = tempfile::tempdir().unwrap();
        let server = start(data.path(), |config| {
            config.tls = tls_again;
            config.limits.handshake_ms_max = 600_000;
            config.limits.request_ms_max = 600_000;
        })
        .await;
        let target = target.at(server.address());
        let silent = [open(&plain.at(server.address()), &[]).await, open(&target, &GREETING[..12]).await];
        timeout(NEVER, server.stop()).await.expect("the stop does not wait for silent connections").unwrap();
        drop(silent);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn uf_02_a_connection_without_calls_or_answers_to_pings_is_closed() {
    let data = tempfile::tempdir().unwrap();
    let idle = start(data.path(), |config| config.limits.connection_idle_ms_max = 200).await;
    let received = rest(open(&Target::plain(idle.address()), GREETING).await).await;
    // A frame begins with its length (3 bytes) and type (1 byte); GOAWAY has type 7 (RFC 9113, 6.8).
    let mut frames = &received[..];
    let mut types = vec![];
    while let [a, b, c, kind, rest @ ..] = frames {
        types.push(*kind);
        let length = usize::from(*a) << 16 | usize::from(*b) << 8 | usize::from(*c);
        frames = &rest[5 + length..];
    }
    assert!(types.contains(&7), "the service sends GOAWAY: {types:?}");
    idle.stop().await.unwrap();

    let data = tempfile::tempdir().unwrap();
    let pinging = start(data.path(), |config| {
        config.limits.keep_alive_ms = 100;
        config.limits.keep_alive_answer_ms_max = 100;
    })
    .await;
    rest(open(&Target::plain(pinging.address()), GREETING).await).await;
    pinging.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn uf_02_silent_connections_keep_nobody_out_however_many_they_are() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path(), |config| config.limits.connections_max = 8).await;
    let target = Target::plain(server.address());
    let mut first = Client::connect(server.address()).await;
    let alice = first.fund("alice", EUR, 10_000).await;
    let mut silent = vec![];
    for number in 0..40_u8 {
        silent.push(target.from(2 + number % 20).tcp().await.unwrap());
        if number % 10 == 9 {
            let path = "/motherlode.spin.v1.SpinService/ListGames";
            target.from(100 + number).call(path, Bytes::from_static(&[0; 5])).await.unwrap();
            first.play_out(bet(&format!("first-{number}"), &alice, "0.01")).await.unwrap();
        }
    }
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn uf_02_who_opens_and_resets_calls_without_end_loses_the_connection_and_nobody_else() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path(), |config| config.limits.cancelled_calls_max = 50).await;
    let mut client = Client::connect(server.address()).await;
    let alice = client.fund("alice", EUR, 10_000).await;
    let target = Target::plain(server.address());
    let (mut send, connection) = target.http().await.unwrap();
    let ended = tokio::spawn(connection);
    for _ in 0..100_000 {
        let Ok(ready) = send.ready().await else { break };
        send = ready;
        let head = target.head("/motherlode.jackpot.v1.JackpotService/WatchCounters");
        let Ok((response, mut body)) = send.send_request(head, false) else { break };
        body.send_reset(h2::Reason::CANCEL);
        drop(response);
        tokio::task::yield_now().await;
        if ended.is_finished() {
            break;
        }
    }
    let _ = timeout(NEVER, ended).await.expect("the service closes the connection");
    client.play_out(bet("on", &alice, "0.01")).await.unwrap();
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn uf_02_without_descriptors_the_log_says_so_and_calls_go_on() {
    let data = tempfile::tempdir().unwrap();
    let script = data.path().join("few");
    fs::write(&script, format!("#!/bin/sh\nulimit -n 64\nexec '{PROGRAM}' \"$@\"\n")).unwrap();
    let mut permissions = fs::metadata(&script).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o755);
    fs::set_permissions(&script, permissions).unwrap();
    let file = data.path().join("few.toml");
    fs::write(&file, "[limits]\ndescriptors_reserved = 16\nhandshake_ms_max = 600000\n").unwrap();
    let process = Process::start(script.to_str().unwrap(), &data.path().join("log"), Some(&file));
    let bound = "too few file descriptors for the configured number";
    until("the bound", async || process.log_line(bound).is_some()).await;
    assert!(process.log_line(bound).unwrap().contains("all=48"));
    let target = Target::plain(process.address);
    let mut client = Client::connect(process.address).await;
    let alice = client.fund("alice", EUR, 10_000).await;
    let mut silent = vec![];
    for _ in 0..100 {
        silent.push(target.tcp().await.unwrap());
    }
    until("the log's line", async || process.log_line("cannot accept connections").is_some()).await;
    let mut later = Client::connect(process.address).await;
    later.play_out(bet("later", &alice, "0.01")).await.unwrap();
    client.play_out(bet("first", &alice, "0.01")).await.unwrap();
    assert_eq!(process.terminate().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn uf_02_headers_have_a_bound() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path(), |config| config.limits.header_bytes_max = 2_048).await;
    let target = Target::plain(server.address());
    let (path, message) = ("/motherlode.spin.v1.SpinService/ListGames", Bytes::from_static(&[0; 5]));
    target.with(&"x".repeat(1_000)).call(path, message.clone()).await.unwrap();
    assert!(target.with(&"x".repeat(10_000)).call(path, message.clone()).await.is_err());
    target.call(path, message).await.unwrap();
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_11_a_bet_that_arrives_in_pieces_is_the_one_that_arrives_whole() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path(), |_| {}).await;
    let mut client = Client::connect(server.address()).await;
    let target = Target::plain(server.address());
    let mut accounts = vec![];
    for player in 0..8 {
        accounts.push(client.fund(&format!("p{player}"), EUR, 10_000).await);
    }
    let whole = |player: usize| framed(&bet("r", &accounts[player], "0.01"));
    let commits = |player: usize| server.player(&accounts[player].player_id).head.version;
    let length = whole(0).len();
    for (player, cut) in [0, 3, 5, length / 2, length - 1, length].into_iter().enumerate() {
        let whole = whole(player);
        let pieces = vec![whole.slice(..cut), whole.slice(cut..)];
        target.call_in_pieces(SPIN, pieces).await.unwrap();
        let before = commits(player);
        target.call(SPIN, whole).await.unwrap();
        assert_eq!(commits(player), before, "cut at {cut}: the retry is answered from the log");
    }
    let bytes = whole(6).chunks(1).map(Bytes::copy_from_slice).collect();
    target.call_in_pieces(SPIN, bytes).await.unwrap();
    let (whole, before) = (whole(7), commits(7));
    let short = vec![whole.slice(..5), whole.slice(5..whole.len() - 1)];
    let refused = target.call_in_pieces(SPIN, short).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument, "{refused}");
    assert_eq!(commits(7), before);
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn uf_09_what_is_no_message_is_the_callers_fault_in_every_kind_of_call() {
    let folder = tempfile::tempdir().unwrap();
    let certificates = Certificates::make(folder.path());
    let data = tempfile::tempdir().unwrap();
    let tls = Config::parse(&Certificates::section(folder.path())).unwrap().tls;
    let server = start(data.path(), |config| config.tls = tls).await;
    let target = Target::tls(server.address(), &certificates.root);
    let services = [
        ("motherlode.spin.v1.SpinService", ["Spin", "PlayStream", "KeepSession"]),
        ("motherlode.ledger.v1.LedgerService", ["Deposit", "FollowLog", "GetRound"]),
        ("grpc.health.v1.Health", ["Check", "Watch", "Check"]),
    ];
    let cut = motherlode_tests::hostile::frame(&[7; 9]).slice(..9);
    for (service, methods) in services {
        for method in methods {
            let path = format!("/{service}/{method}");
            for bytes in [&b"\0\0\0\0\x01\xff"[..], b"\x07\0\0\0\0", b"\0\0\0", &cut] {
                let refused = target.call(&path, Bytes::copy_from_slice(bytes)).await.unwrap_err();
                let why = motherlode_tests::reason(&refused);
                assert_eq!(
                    (refused.code(), why.as_str()),
                    (Code::InvalidArgument, "MESSAGE_MALFORMED"),
                    "{path} {bytes:?}"
                );
            }
        }
    }
    let root = Certificate::from_pem(&certificates.root);
    let endpoint = Channel::from_shared(format!("https://localhost:{}", server.address().port())).unwrap();
    let tls = ClientTlsConfig::new().ca_certificate(root);
    let channel = endpoint.tls_config(tls).unwrap().connect().await.unwrap();
    HealthClient::new(channel).check(HealthCheckRequest::default()).await.unwrap();
    let health = framed(&HealthCheckRequest::default());
    target.call("/grpc.health.v1.Health/Check", health).await.unwrap();
    server.stop().await.unwrap();
}

async fn client_hello(root: &str) -> Vec<u8> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let connecting = Target::tls(listener.local_addr().unwrap(), root);
    let connecting = tokio::spawn(async move { connecting.wire().await.is_ok() });
    let (mut accepted, _) = listener.accept().await.unwrap();
    let mut head = [0; 5];
    accepted.read_exact(&mut head).await.unwrap();
    let mut hello = vec![0; usize::from(u16::from_be_bytes([head[3], head[4]]))];
    accepted.read_exact(&mut hello).await.unwrap();
    drop(accepted);
    connecting.await.unwrap();
    [&head[..], &hello].concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn uf_02_a_stranger_who_begins_many_tls_handshakes_takes_no_place_from_others() {
    let folder = tempfile::tempdir().unwrap();
    let certificates = Certificates::make(folder.path());
    let tls = Config::parse(&Certificates::section(folder.path())).unwrap().tls;
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path(), |config| {
        config.tls = tls;
        config.limits.tls_handshakes_max = 4;
        config.limits.handshake_ms_max = 600_000;
    })
    .await;
    let hello = client_hello(&certificates.root).await;
    let target = Target::tls(server.address(), &certificates.root);
    let mut begun = vec![];
    for _ in 0..100 {
        let mut stranger = target.from(2).tcp().await.unwrap();
        stranger.write_all(&hello).await.unwrap();
        begun.push(stranger);
    }
    let waits = |stranger: &TcpStream| match stranger.try_read(&mut [0; 4096]) {
        Err(error) => error.kind() == ErrorKind::WouldBlock,
        Ok(_) => false,
    };
    timeout(NEVER, begun[0].readable()).await.expect("the first waiting connection gets its handshake").unwrap();
    for from in 3..6 {
        let honest = open(&target.from(from), GREETING).await;
        drop(honest);
    }
    begun.retain(waits);
    let took = 100 - begun.len();
    assert!((1..=7).contains(&took), "{took} of 100 handshakes were completed");
    let stranger = target.from(2);
    let mut waiting = pin!(stranger.wire());
    assert!(timeout(Duration::from_millis(1), &mut waiting).await.is_err());
    drop(begun);
    timeout(NEVER, waiting).await.expect("a place").unwrap();
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn at_b2_a_connection_with_too_many_frames_without_a_call_is_told_to_calm_down_and_closed() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path(), |_| {}).await;
    let mut client = Client::connect(server.address()).await;
    let alice = client.fund("alice", EUR, 10_000).await;
    let target = Target::plain(server.address());
    let frame = |kind: u8, flags: u8, stream: u8, payload: &[u8]| {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        [&length[1..], &[kind, flags, 0, 0, 0, stream], payload].concat()
    };
    let kinds = [
        ("WINDOW_UPDATE", frame(8, 0, 0, &[0, 0, 0, 1])),
        ("PRIORITY", frame(2, 0, 1, &[0, 0, 0, 0, 16])),
        ("PING", frame(6, 0, 0, &[7; 8])),
        ("SETTINGS", frame(4, 0, 0, &[0xff, 0xff, 0, 0, 0, 0])),
        ("unknown", frame(0xbe, 0, 0, &[0; 1_000])),
    ];
    for (number, (kind, frame)) in kinds.iter().enumerate() {
        let mut wire = open(&target, GREETING).await;
        let _ = wire.write_all(&frame.repeat(20_000)).await;
        let told = rest(wire).await;
        let goaway = [0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 11];
        assert!(
            told.windows(17).any(|bytes| bytes == goaway),
            "{kind}: the connection did not end with GOAWAY, but after {} bytes",
            told.len()
        );
        client.play_out(bet(&format!("b{number}"), &alice, "0.01")).await.unwrap();
    }
    let (mut send, mut connection) = target.http().await.unwrap();
    let mut pings = connection.ping_pong().unwrap();
    let driver = tokio::spawn(connection);
    for _ in 0..600 {
        send = send.ready().await.unwrap();
        let head = target.head("/motherlode.spin.v1.SpinService/ListGames");
        let (response, mut body) = send.send_request(head, false).unwrap();
        body.send_data(Bytes::from_static(&[0; 5]), true).unwrap();
        for _ in 0..4 {
            pings.ping(h2::Ping::opaque()).await.unwrap();
        }
        response.await.unwrap();
    }
    assert!(!driver.is_finished());
    driver.abort();
    server.stop().await.unwrap();
}
