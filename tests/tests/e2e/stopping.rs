use crate::PROGRAM;
use motherlode_proto::ledger::v1::FollowLogRequest;
use motherlode_tests::{
    Client, EUR, Process, bet, config,
    hostile::{GREETING, Target, framed, unread},
    reason, start_fresh,
};
use std::{fs, time::Duration};
use tokio::{
    io::AsyncWriteExt,
    net::{TcpListener, TcpStream},
    sync::oneshot,
    time::timeout,
};

const NEVER: Duration = Duration::from_secs(30);

#[tokio::test(flavor = "multi_thread")]
async fn at_a6_a_stop_waits_for_no_connection_without_a_call_and_for_no_unread_stream() {
    let data = tempfile::tempdir().unwrap();
    let mut config = config(data.path());
    config.limits.request_ms_max = 600_000;
    let server = start_fresh(&config).await;
    let target = Target::plain(server.address());
    let mut client = Client::connect(server.address()).await;
    for player in 0..300 {
        client.fund(&format!("p{player}"), EUR, 10_000).await;
    }
    let mut idle = vec![];
    for number in 0..40 {
        let mut wire = target.from(2 + number).wire().await.unwrap();
        wire.write_all(GREETING).await.unwrap();
        idle.push(wire);
    }
    let path = "/motherlode.ledger.v1.LedgerService/FollowLog";
    let follow = framed(&FollowLogRequest::default());
    let mut followers = vec![];
    for number in 0..6 {
        followers.push(unread(&target.from(100 + number), path, &follow, 10).await.unwrap());
    }
    timeout(NEVER, server.stop()).await.expect("the stop does not wait for followers").unwrap();
    drop((idle, followers));
}

#[tokio::test(flavor = "multi_thread")]
async fn at_a6_bets_are_taken_until_the_listener_closes() {
    let data = tempfile::tempdir().unwrap();
    let server = start_fresh(&config(data.path())).await;
    let address = server.address();
    let mut client = Client::connect(address).await;
    let alice = client.fund("alice", EUR, 1_000_000).await;
    let (playing, plays) = oneshot::channel();
    let player = tokio::spawn(async move {
        let mut playing = Some(playing);
        for number in 0.. {
            if number == 5 {
                playing.take().unwrap().send(()).unwrap();
            }
            let request = bet(&format!("b{number}"), &alice, "0.01");
            if let Err(status) = client.play_out(request).await {
                return (status, TcpStream::connect(address).await.is_ok());
            }
        }
        unreachable!("the service stops")
    });
    plays.await.unwrap();
    timeout(NEVER, server.stop()).await.expect("the service stops").unwrap();
    let (status, listens) = timeout(NEVER, player).await.unwrap().unwrap();
    assert_eq!(reason(&status), "", "the connection must end without a refusal by the service: {status}");
    assert!(!listens, "the listener is closed when the first bet fails");
}

#[tokio::test(flavor = "multi_thread")]
async fn at_a6_a_collector_that_never_answers_does_not_hold_the_process() {
    for protocol in ["grpc", "http"] {
        let data = tempfile::tempdir().unwrap();
        let collector = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let file = data.path().join("serve.toml");
        let endpoint = format!("otlp_endpoint = \"http://{}\"", collector.local_addr().unwrap());
        let more = format!("otlp_protocol = \"{protocol}\"\nmetrics_seconds = 3600\n");
        fs::write(&file, format!("[telemetry]\n{endpoint}\n{more}")).unwrap();
        let process = Process::start(PROGRAM, &data.path().join("log"), Some(&file));
        let mut client = Client::connect(process.address).await;
        client.fund("alice", EUR, 10_000).await;
        process.ask_to_stop();
        let (code, said) = process.ended().await;
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains("metrics were not exported: the collector did not answer within 500 ms"), "{said}");
        drop(collector);
    }
}
