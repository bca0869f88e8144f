use crate::proofs::{get, in_folder, played, started};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
};

const PER_PEER: usize = 32;

async fn connect_from(from: Ipv4Addr, to: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((IpAddr::V4(from), 0).into()).unwrap();
    socket.connect(to).await.unwrap()
}

async fn is_served(stream: &mut TcpStream) -> bool {
    let asked = stream.write_all(b"GET /log/0/checkpoint HTTP/1.1\r\nHost: x\r\n\r\n").await;
    let mut status = [0; 12];
    match (asked, stream.read_exact(&mut status).await) {
        (Ok(()), Ok(_)) => &status[9..] == b"200",
        _ => false,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_26_one_address_keeps_nobody_else_from_the_files_of_the_log() {
    let data = tempfile::tempdir().unwrap();
    let mut config = in_folder(data.path());
    played(&config, 300).await;
    config.proofs.listen = Some(([127, 0, 0, 1], 0).into());
    config.limits.connections_per_peer_max = PER_PEER;
    let server = started(&config).await.unwrap();
    let at = server.tiles_address().unwrap();
    let greedy = Ipv4Addr::new(127, 0, 0, 2);
    let mut held = vec![];
    for number in 0..PER_PEER {
        let mut stream = connect_from(greedy, at).await;
        assert!(is_served(&mut stream).await, "{number}");
        held.push(stream);
    }
    let tile = b"GET /log/0/tile/0/000 HTTP/1.1\r\nHost: x\r\n\r\n".repeat(400);
    for stream in &mut held {
        let _ = stream.try_write(&tile);
    }
    let mut more = connect_from(greedy, at).await;
    assert!(is_served(&mut more).await);
    for _ in 0..3 {
        let (status, tile) = get(at, "GET", "/log/0/tile/0/000").await;
        assert_eq!((status, tile.len()), (200, 256 * 32));
    }
    drop(held);
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_26_what_is_no_request_for_a_file_is_refused_and_ends() {
    let data = tempfile::tempdir().unwrap();
    let mut config = in_folder(data.path());
    played(&config, 3).await;
    config.proofs.listen = Some(([127, 0, 0, 1], 0).into());
    let server = started(&config).await.unwrap();
    let at = server.tiles_address().unwrap();
    let long_header = format!("GET / HTTP/1.1\r\nHost: x\r\nX: {}\r\n\r\n", "x".repeat(64 << 10));
    let long_body = format!("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{}", 1 << 20, "x".repeat(1 << 20));
    let cases: [(&str, &[u8], &str); 4] = [
        ("no HTTP", b"\x16\x03\x01 hello\r\n\r\n", "HTTP/1.1 400"),
        ("a path that never ends", &[b"GET /".as_slice(), &[b'a'; 64 << 10]].concat(), "HTTP/1.1 4"),
        ("a header that never ends", long_header.as_bytes(), "HTTP/1.1 4"),
        ("a body that is too long", long_body.as_bytes(), "HTTP/1.1 413"),
    ];
    for (what, sent, expected) in cases {
        let (mut reading, mut writing) = TcpStream::connect(at).await.unwrap().into_split();
        let sent = sent.to_vec();
        let sending = tokio::spawn(async move { writing.write_all(&sent).await.map(|()| writing) });
        let mut answer = vec![0; 12];
        if reading.read_exact(&mut answer).await.is_ok() {
            let answer = String::from_utf8_lossy(&answer).into_owned();
            assert!(answer.starts_with(expected), "{what}: {answer}");
        }
        drop(sending.await);
    }
    assert_eq!(get(at, "GET", "/log/0/checkpoint").await.0, 200);
    server.stop().await.unwrap();
}
