use super::{World, bet_within, looked_up, rounds, scripted::Wallet};
use bytes::Bytes;
use data_encoding::HEXLOWER;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use motherlode_proto::{FILE_DESCRIPTOR_SET, ledger::v1::request_outcome::State, wallet::v1::wallet_service_server};
use motherlode_runtime::connections::{Acceptor, acceptor};
use motherlode_tests::{bet, reason};
use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor, ServiceDescriptor};
use ring::{digest, hmac};
use std::{
    collections::BTreeSet,
    convert::Infallible,
    net::SocketAddr,
    sync::{Arc, LazyLock, Mutex},
    time::{SystemTime, UNIX_EPOCH},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpListener,
    task::JoinHandle,
};
use tonic::{Code, Status};
use wallet_service_server::WalletService;

pub const KEY: &str = "a-key-that-only-these-two-know-0123456789";

const WINDOW_MS: u128 = 30_000;

static SERVICE: LazyLock<ServiceDescriptor> = LazyLock::new(|| {
    let contract = DescriptorPool::decode(FILE_DESCRIPTOR_SET).unwrap();
    contract.get_service_by_name("motherlode.wallet.v1.WalletService").unwrap()
});

pub fn settings(url: &str) -> String {
    format!("url = \"{url}/operator\", protocol = \"json\", signing_key_file = \"KEY_FILE\"")
}

pub async fn serve(wallet: &Wallet, tls: Option<(&str, &str)>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let tls =
        tls.map(|(certificate, key)| acceptor(certificate.as_bytes(), key.as_bytes(), None, b"http/1.1").unwrap());
    serve_on(listener, wallet, tls);
    address
}

pub fn serve_on(listener: TcpListener, wallet: &Wallet, tls: Option<Acceptor>) -> JoinHandle<()> {
    let (wallet, nonces) = (wallet.clone(), Nonces::default());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (wallet, nonces, tls) = (wallet.clone(), nonces.clone(), tls.clone());
            tokio::spawn(async move {
                match tls {
                    None => connection(stream, wallet, nonces).await,
                    Some(tls) => {
                        if let Ok(stream) = tls.accept(stream).await {
                            connection(stream, wallet, nonces).await;
                        }
                    }
                }
            });
        }
    })
}

type Nonces = Arc<Mutex<BTreeSet<String>>>;

async fn connection(stream: impl AsyncRead + AsyncWrite + Unpin, wallet: Wallet, nonces: Nonces) {
    let service = service_fn(|request: Request<Incoming>| {
        let (wallet, nonces) = (wallet.clone(), nonces.clone());
        async move { Ok::<_, Infallible>(answer(request, &wallet, &nonces).await) }
    });
    drop(http1::Builder::new().serve_connection(TokioIo::new(stream), service).await);
}

async fn answer(request: Request<Incoming>, wallet: &Wallet, nonces: &Nonces) -> Response<Full<Bytes>> {
    let (head, body) = request.into_parts();
    let Ok(body) = body.collect().await else { return told(StatusCode::BAD_REQUEST, "cut short") };
    let body = body.to_bytes();
    if let Err(why) = genuine(&head.method, head.uri.path(), &head.headers, &body, nonces) {
        return told(StatusCode::UNAUTHORIZED, why);
    }
    let called = called(wallet, head.uri.path(), &body).await;
    called.map_or_else(
        |status| match status.code() {
            Code::Unimplemented => told(StatusCode::NOT_FOUND, status.message()),
            _ => told(StatusCode::SERVICE_UNAVAILABLE, status.message()),
        },
        |body| told(StatusCode::OK, &body),
    )
}

fn told(status: StatusCode, body: &str) -> Response<Full<Bytes>> {
    Response::builder().status(status).body(Full::new(Bytes::from(body.to_owned()))).unwrap()
}

fn genuine(method: &Method, path: &str, headers: &HeaderMap, body: &[u8], nonces: &Nonces) -> Result<(), &'static str> {
    let header = |name| headers.get(name).and_then(|value| value.to_str().ok()).ok_or("a header is missing");
    let (time, nonce) = (header("motherlode-timestamp")?, header("motherlode-nonce")?);
    let hash = HEXLOWER.encode(digest::digest(&digest::SHA256, body).as_ref());
    let text = format!("motherlode/wallet/v1\n{method}\n{path}\n{time}\n{nonce}\n{hash}\n");
    let signature = HEXLOWER.decode(header("motherlode-signature")?.as_bytes()).map_err(|_| "no signature")?;
    let key = hmac::Key::new(hmac::HMAC_SHA256, KEY.as_bytes());
    hmac::verify(&key, text.as_bytes(), &signature).map_err(|_| "another's signature")?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    let time = time.parse::<u128>().map_err(|_| "no time")?;
    if now.abs_diff(time) > WINDOW_MS {
        return Err("too old, or ahead of its time");
    }
    if nonces.lock().unwrap().insert(nonce.to_owned()) { Ok(()) } else { Err("the nonce was used before") }
}

async fn called(wallet: &Wallet, path: &str, body: &[u8]) -> Result<String, Status> {
    let name = path.strip_prefix("/operator/v1/WalletService/").ok_or_else(|| Status::not_found("no call"))?;
    let call = SERVICE.methods().find(|call| call.name() == name).ok_or_else(|| Status::not_found("no call"))?;
    let bytes = read(call.input(), body);
    let answered = match name {
        "Debit" => wallet.debit(decoded(&bytes)).await?.into_inner().encode_to_vec(),
        "Credit" => wallet.credit(decoded(&bytes)).await?.into_inner().encode_to_vec(),
        "Rollback" => wallet.rollback(decoded(&bytes)).await?.into_inner().encode_to_vec(),
        "OpenFreeRound" => wallet.open_free_round(decoded(&bytes)).await?.into_inner().encode_to_vec(),
        "CloseRound" => wallet.close_round(decoded(&bytes)).await?.into_inner().encode_to_vec(),
        _ => return Err(Status::unimplemented(name)),
    };
    Ok(serde_json::to_string(&DynamicMessage::decode(call.output(), &*answered).unwrap()).unwrap())
}

fn read(of: MessageDescriptor, text: &[u8]) -> Vec<u8> {
    let mut text = serde_json::Deserializer::from_slice(text);
    DynamicMessage::deserialize(of, &mut text).expect("a message of the contract").encode_to_vec()
}

fn decoded<M: Message + Default>(bytes: &[u8]) -> tonic::Request<M> {
    tonic::Request::new(M::decode(bytes).unwrap())
}

async fn parrot(answer: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answer = Arc::new(answer);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let answer = Arc::clone(&answer);
            tokio::spawn(async move {
                let mut asked = vec![];
                while !asked.ends_with(b"}") && stream.read_buf(&mut asked).await.is_ok_and(|read| read > 0) {}
                drop(stream.write_all(answer.as_bytes()).await);
            });
        }
    });
    url
}

const DONE: &str = r#"{"result": {"outcome": "OUTCOME_DONE", "balanceMinor": "5"}}"#;

fn page(status: &str, more: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n{more}\r\n{body}", body.len())
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_31_only_a_whole_answer_of_the_contract_with_status_200_is_one() {
    let refusal = r#"{"result": {"outcome": "OUTCOME_REFUSED", "reason": "INSUFFICIENT_FUNDS"}}"#;
    let long = format!(r#"{{"result": {{"outcome": "OUTCOME_DONE", "reason": "{}"}}}}"#, "x".repeat(1 << 17));
    for (answer, what) in [
        (page("500 Internal Server Error", "", DONE), "an error"),
        (page("201 Created", "", DONE), "another status"),
        // Without status 200, a gateway may have answered, so the outcome is unknown.
        (page("402 Payment Required", "", refusal), "a refusal by status"),
        (page("404 Not Found", "", refusal), "an unknown path"),
        (page("302 Found", "Location: /operator/v1/WalletService/Debit\r\n", DONE), "a redirect"),
        (page("200 OK", "", "<html>OUTCOME_DONE</html>"), "a page"),
        (page("200 OK", "", &format!("{DONE}{DONE}")), "two answers"),
        (page("200 OK", "", r#"{"result": {"outcome": "OUTCOME_FINE"}}"#), "an unknown outcome"),
        (page("200 OK", "", "{}"), "nothing"),
        (page("200 OK", "", &long), "too much"),
        (page("200 OK", &format!("X: {}\r\n", "y".repeat(1 << 17)), DONE), "a head without end"),
        (page("200 OK", "", DONE).replace("Content-Length: ", "Content-Length: 1"), "an incomplete body"),
        (String::new(), "a closed connection"),
    ] {
        let world = World::with(Wallet::default(), &settings(&parrot(answer).await)).await;
        let mut client = world.client("acme").await;
        let alice = world.player(&mut client, "alice", 1_000).await;
        let status = bet_within(&mut client, bet("r", &alice, "0.10"), 500).await.unwrap_err();
        assert_eq!(reason(&status), "OUTCOME_UNKNOWN", "{what}");
        assert!(status.message().len() < 1_000, "{what}: the refusal quotes at most one line");
        assert_eq!(looked_up(&mut client, &alice, "r").await.state(), State::Pending, "{what}");
        assert_eq!(rounds(&mut client, &alice).await, 0, "{what}: no outcome exists before the debit is confirmed");
        world.server.stop().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_31_a_wallet_with_another_key_is_told_nothing_that_it_believes() {
    let wallet = Wallet::default();
    let address = serve(&wallet, None).await;
    let other = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(other.path(), "another-key-of-somebody-else-0123456789").unwrap();
    let settings = settings(&format!("http://{address}")).replace("KEY_FILE", &other.path().display().to_string());
    let world = World::with(wallet, &settings).await;
    let mut client = world.client("acme").await;
    let alice = world.player(&mut client, "alice", 1_000).await;
    let status = bet_within(&mut client, bet("r", &alice, "0.10"), 500).await.unwrap_err();
    assert_eq!(reason(&status), "OUTCOME_UNKNOWN");
    assert_eq!((rounds(&mut client, &alice).await, world.wallet.books().calls), (0, 0));
    world.server.stop().await.unwrap();
}
