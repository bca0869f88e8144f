use super::{ALL, Browser};
use motherlode_runtime::Config;
use motherlode_tests::{Server, config, hostile::Target, operators::operator, start_fresh};
use std::{path::Path, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

const NEVER: Duration = Duration::from_secs(30);
const WATCH: &str = r#"{"poolId": "bewitched"}"#;

async fn service(data: &Path, change: impl FnOnce(&mut Config)) -> Server {
    let text =
        operator("acme", &[("acme", ALL), ("acme-support", r#"["support"]"#)]) + &operator("bravo", &[("bravo", ALL)]);
    let mut config = Config { operators: Config::parse(&text).unwrap().operators, ..config(data) };
    config.console.listen = Some(([127, 0, 0, 1], 0).into());
    config.proofs.listen = Some(([127, 0, 0, 1], 0).into());
    change(&mut config);
    start_fresh(&config).await
}

async fn ask(stream: &mut TcpStream, request: &str) -> Option<String> {
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut status = [0; 12];
    timeout(NEVER, stream.read_exact(&mut status)).await.expect("the service answers or closes the connection").ok()?;
    let mut rest = [0; 8_192];
    timeout(NEVER, stream.read(&mut rest)).await.expect("the service sends the rest of the answer").ok()?;
    Some(String::from_utf8_lossy(&status[9..]).into_owned())
}

async fn asks(target: &Target, token: &str) -> Option<String> {
    ask(&mut target.tcp().await.unwrap(), &target.with(token).json("ReportService/GetIdentity", "{}")).await
}

#[tokio::test(flavor = "multi_thread")]
async fn at_b1_silent_connections_of_nine_addresses_keep_nobody_out_of_any_listener() {
    let data = tempfile::tempdir().unwrap();
    let server = service(data.path(), |config| config.limits.connections_max = 512).await;
    let json = Target::plain(server.console());
    let files = Target::plain(server.tiles());
    let checkpoint = "GET /log/0/checkpoint HTTP/1.1\r\nhost: x\r\n\r\n";
    for port in [&json, &files] {
        let mut silent = vec![];
        for number in 0..9 * 64_u16 {
            silent.push(port.from(2 + u8::try_from(number % 9).unwrap()).tcp().await.unwrap());
            if number % 64 == 63 {
                assert_eq!(asks(&json.from(100), "acme").await.as_deref(), Some("200"), "after {number}");
                let mut reader = files.from(101).tcp().await.unwrap();
                assert_eq!(ask(&mut reader, checkpoint).await.as_deref(), Some("200"), "after {number}");
            }
        }
    }
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn at_b1_watches_of_one_token_leave_room_for_the_operators_other_credential_and_for_others() {
    let data = tempfile::tempdir().unwrap();
    let server = service(data.path(), |config| {
        config.limits.connections_max = 64;
        config.limits.connections_per_operator_max = 16;
    })
    .await;
    let json = Target::plain(server.console());
    let watch = json.with("acme").json("JackpotService/WatchCounters", WATCH);
    let mut watches = vec![];
    for number in 0..128 {
        let mut stream = json.from(2 + number % 8).tcp().await.unwrap();
        stream.write_all(watch.as_bytes()).await.unwrap();
        let mut status = [0; 12];
        let answered = timeout(NEVER, stream.read_exact(&mut status))
            .await
            .expect("the service answers or closes the connection")
            .is_ok();
        let wanted = if number < 16 { b"200" } else { b"429" };
        assert!(answered && status[9..] == *wanted, "{number}: {}", String::from_utf8_lossy(&status));
        watches.push(stream);
    }
    for token in ["acme-support", "bravo"] {
        assert_eq!(asks(&json.from(100), token).await.as_deref(), Some("200"), "{token}");
    }
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn at_b1_a_gateway_keeps_100_connections_and_a_setting_raises_the_bound() {
    for raised in [false, true] {
        let data = tempfile::tempdir().unwrap();
        let server = service(data.path(), |config| {
            if raised {
                config.limits.connections_per_peer_max = 8;
                config.limits.connections_of_peers = [([127, 0, 0, 9].into(), 100)].into();
            }
        })
        .await;
        let gateway = Target::plain(server.console()).from(9);
        let request = gateway.with("acme").json("ReportService/GetIdentity", "{}");
        let mut kept = vec![];
        for _ in 0..100 {
            let mut stream = gateway.tcp().await.unwrap();
            assert_eq!(ask(&mut stream, &request).await.as_deref(), Some("200"));
            kept.push(stream);
        }
        for (number, stream) in kept.iter_mut().enumerate() {
            assert_eq!(ask(stream, &request).await.as_deref(), Some("200"), "{number} is kept");
        }
        server.stop().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn at_b1_refused_watches_have_no_known_caller_and_make_way_before_a_gateway() {
    let data = tempfile::tempdir().unwrap();
    let server = service(data.path(), |config| {
        config.limits.connections_max = 48;
        config.limits.connections_per_operator_max = 16;
    })
    .await;
    let json = Target::plain(server.console());
    let gateway = json.from(9).with("bravo");
    let request = gateway.json("ReportService/GetIdentity", "{}");
    let mut kept = vec![];
    for _ in 0..16 {
        let mut stream = gateway.tcp().await.unwrap();
        assert_eq!(ask(&mut stream, &request).await.as_deref(), Some("200"));
        kept.push(stream);
    }
    let watch = json.with("acme").json("JackpotService/WatchCounters", WATCH);
    let mut watches = vec![];
    for number in 0..36 {
        let mut stream = json.from(20 + number % 9).tcp().await.unwrap();
        let status = ask(&mut stream, &watch).await;
        assert_eq!(status.as_deref(), Some(if number < 16 { "200" } else { "429" }), "{number}");
        watches.push(stream);
    }
    let mut strangers = vec![];
    for number in 0..8 {
        strangers.push(json.from(40 + number).tcp().await.unwrap());
        assert!(asks(&json.from(100), "acme-support").await.is_some());
    }
    for (number, stream) in kept.iter_mut().enumerate() {
        assert_eq!(ask(stream, &request).await.as_deref(), Some("200"), "{number} is kept");
    }
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn at_b1_one_connection_too_many_displaces_the_oldest_idle_one_of_its_address() {
    let data = tempfile::tempdir().unwrap();
    let server = service(data.path(), |config| config.limits.connections_per_peer_max = 4).await;
    let gateway = Target::plain(server.console()).from(9);
    let request = gateway.with("acme").json("ReportService/GetIdentity", "{}");
    let mut kept = vec![];
    for _ in 0..5 {
        let mut stream = gateway.tcp().await.unwrap();
        assert_eq!(ask(&mut stream, &request).await.as_deref(), Some("200"));
        kept.push(stream);
    }
    let mut left = vec![];
    for stream in &mut kept {
        left.push(ask(stream, &request).await.is_some());
    }
    assert_eq!(left, [false, true, true, true, true]);
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn at_b1_half_requests_and_idle_connections_are_closed_in_time() {
    let data = tempfile::tempdir().unwrap();
    let server = service(data.path(), |config| {
        config.limits.handshake_ms_max = 200;
        config.limits.connection_idle_ms_max = 1_000;
    })
    .await;
    for address in [server.console(), server.tiles()] {
        for begun in ["", "GET / HT", "GET /icon.svg HTTP/1.1\r\nhost: localhost\r\n\r\n", "GET / HTTP/1.1\r\nx: y\r\n"]
        {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(begun.as_bytes()).await.unwrap();
            let mut read = vec![];
            let _ = timeout(NEVER, stream.read_to_end(&mut read)).await.expect("the connection is closed");
            assert_eq!(read.starts_with(b"HTTP/1.1 "), begun.ends_with("\r\n\r\n"), "{begun}");
        }
    }
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn at_b4_log_ins_of_one_credential_end_no_session_of_another_and_log_out_is_everywhere() {
    let data = tempfile::tempdir().unwrap();
    let server = service(data.path(), |_| {}).await;
    let mut admin = Browser::logged_in(server.console(), "acme").await;
    let mut support = vec![];
    for _ in 0..70 {
        support.push(Browser::logged_in(server.console(), "acme-support").await);
    }
    let page = admin.get("/find").await;
    assert_eq!(page.status, 200, "log-ins with another credential do not end the session");
    assert_eq!(
        support[0].get("/find").await.status,
        303,
        "further log-ins with the same credential end its oldest session"
    );
    let mut newest = support.pop().unwrap();
    let page = newest.get("/find").await;
    assert_eq!(newest.submit(&page, "/logout", &[("everywhere", "yes")]).await.status, 303);
    for browser in &mut support {
        assert_eq!(browser.get("/find").await.status, 303, "all sessions of the credential have ended");
    }
    assert_eq!(admin.get("/find").await.status, 200);
    server.stop().await.unwrap();
}
