pub mod http1;

use h2::{
    Ping, Reason, RecvStream, SendStream,
    client::{self, Connection, ResponseFuture, SendRequest},
};
use http::{HeaderMap, Request};
use motherlode_runtime::connect::Credentials;
use prost::{
    Message,
    bytes::{BufMut, Bytes, BytesMut},
};
use std::{
    future::poll_fn,
    io,
    net::{IpAddr, SocketAddr},
    pin::Pin,
    sync::Arc,
    task::Poll,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpSocket, TcpStream},
};
use tokio_rustls::{
    TlsConnector,
    rustls::{
        ClientConfig, RootCertStore,
        crypto::ring,
        pki_types::{CertificateDer, ServerName, pem::PemObject},
    },
};
use tonic::{Code, Status};

/// Connection preface with empty settings (RFC 9113, 3.4).
pub const GREETING: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

const WINDOW_MAX: u32 = (1 << 31) - 1;

pub trait Bidirectional: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Bidirectional for T {}

pub type Wire = Box<dyn Bidirectional>;

#[derive(Clone)]
pub struct Target {
    pub address: SocketAddr,
    tls: Option<TlsConnector>,
    root: Option<String>,
    token: Option<String>,
    from: Option<IpAddr>,
}

impl Target {
    #[must_use]
    pub fn plain(address: SocketAddr) -> Self {
        Self { address, tls: None, root: None, token: None, from: None }
    }

    #[must_use]
    pub fn tls(address: SocketAddr, root: &str) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(root.as_bytes()).expect("a certificate")).expect("a root");
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let config = config.with_safe_default_protocol_versions().expect("versions that ring has");
        let mut config = config.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols.extend([b"h2".to_vec(), b"http/1.1".to_vec()]);
        Self { tls: Some(Arc::new(config).into()), root: Some(root.to_owned()), ..Self::plain(address) }
    }

    #[must_use]
    pub fn at(&self, address: SocketAddr) -> Self {
        Self { address, ..self.clone() }
    }

    #[must_use]
    pub fn with(&self, token: &str) -> Self {
        Self { token: Some(token.to_owned()), ..self.clone() }
    }

    #[must_use]
    pub fn from(&self, last: u8) -> Self {
        Self { from: Some([127, 0, 0, last].into()), ..self.clone() }
    }

    #[must_use]
    pub fn honest(&self) -> (String, Credentials) {
        let (scheme, host) = if self.tls.is_some() { ("https", "localhost") } else { ("http", "127.0.0.1") };
        let ca = self.root.clone().map(String::into_bytes);
        let credentials = Credentials { token: self.token.clone(), ca, ..Credentials::default() };
        (format!("{scheme}://{host}:{}", self.address.port()), credentials)
    }

    pub async fn tcp(&self) -> io::Result<TcpStream> {
        let socket = TcpSocket::new_v4()?;
        if let Some(from) = self.from {
            socket.bind((from, 0).into())?;
        }
        socket.connect(self.address).await
    }

    pub async fn wire(&self) -> io::Result<Wire> {
        let stream = self.tcp().await?;
        match &self.tls {
            None => Ok(Box::new(stream)),
            Some(tls) => {
                let name = ServerName::try_from("localhost").expect("a name");
                Ok(Box::new(tls.connect(name, stream).await?))
            }
        }
    }

    pub async fn http(&self) -> Result<(SendRequest<Bytes>, Connection<Wire, Bytes>), h2::Error> {
        let wire = self.wire().await.map_err(|_| h2::Error::from(Reason::CONNECT_ERROR))?;
        let mut builder = client::Builder::new();
        builder.initial_window_size(WINDOW_MAX).initial_connection_window_size(WINDOW_MAX);
        builder.handshake(wire).await
    }

    #[must_use]
    pub fn head(&self, path: &str) -> Request<()> {
        let uri = format!("http://localhost{path}");
        let head = Request::post(uri).header("content-type", "application/grpc").header("te", "trailers");
        let head = match &self.token {
            Some(token) => head.header("authorization", format!("Bearer {token}")),
            None => head,
        };
        head.body(()).expect("a request")
    }

    pub async fn call(&self, path: &str, bytes: Bytes) -> Result<(), Status> {
        self.call_in_pieces(path, vec![bytes]).await
    }

    pub async fn call_in_pieces(&self, path: &str, pieces: Vec<Bytes>) -> Result<(), Status> {
        let gone = |error: h2::Error| Status::unavailable(error.to_string());
        let (send, mut connection) = self.http().await.map_err(gone)?;
        let mut pings = connection.ping_pong().expect("ping_pong is taken only once");
        let driver = tokio::spawn(connection);
        let answered = async {
            let (response, mut body) = send.ready().await?.send_request(self.head(path), false)?;
            let last = pieces.len().saturating_sub(1);
            for (number, piece) in pieces.into_iter().enumerate() {
                if number > 0 {
                    pings.ping(Ping::opaque()).await?;
                    pings.ping(Ping::opaque()).await?;
                }
                body.send_data(piece, number == last)?;
            }
            status(response).await
        };
        let status = answered.await.map_err(gone);
        driver.abort();
        match status? {
            status if status.code() == Code::Ok => Ok(()),
            status => Err(status),
        }
    }
}

#[must_use]
pub fn framed(message: &impl Message) -> Bytes {
    frame(&message.encode_to_vec())
}

#[must_use]
pub fn frame(bytes: &[u8]) -> Bytes {
    let mut framed = BytesMut::with_capacity(5 + bytes.len());
    framed.put_u8(0);
    framed.put_u32(bytes.len().try_into().expect("a message is shorter than 4 GiB"));
    framed.put_slice(bytes);
    framed.freeze()
}

async fn status(response: ResponseFuture) -> Result<Status, h2::Error> {
    let (head, body) = response.await?.into_parts();
    let of = |headers: &HeaderMap| Status::from_header_map(headers);
    if let Some(status) = of(&head.headers) {
        return Ok(status);
    }
    let trailers = read(body).await?;
    Ok(trailers.as_ref().and_then(of).unwrap_or_else(|| Status::unknown("no status")))
}

async fn read(mut body: RecvStream) -> Result<Option<HeaderMap>, h2::Error> {
    while let Some(bytes) = body.data().await {
        let length = bytes?.len();
        body.flow_control().release_capacity(length)?;
    }
    body.trailers().await
}

pub struct Unread {
    connection: Connection<Wire, Bytes>,
    _send: SendRequest<Bytes>,
    _calls: Vec<(ResponseFuture, SendStream<Bytes>)>,
}

pub async fn unread(target: &Target, path: &str, message: &Bytes, calls: usize) -> Result<Unread, h2::Error> {
    let (send, mut connection) = target.http().await?;
    let mut pings = connection.ping_pong().expect("ping_pong is taken only once");
    let beginning = async {
        let (mut send, mut begun) = (send, vec![]);
        for _ in 0..calls {
            send = send.ready().await?;
            let (response, mut body) = send.send_request(target.head(path), false)?;
            body.send_data(message.clone(), true)?;
            begun.push((response, body));
        }
        // The service answers a ping only after it has read all bytes before the ping.
        pings.ping(h2::Ping::opaque()).await?;
        Ok::<_, h2::Error>((send, begun))
    };
    let mut beginning = std::pin::pin!(beginning);
    let begun = poll_fn(|context| {
        if let Poll::Ready(ended) = Pin::new(&mut connection).poll(context) {
            return Poll::Ready(Err(ended.err().unwrap_or_else(|| Reason::CANCEL.into())));
        }
        beginning.as_mut().poll(context)
    });
    let (send, begun) = begun.await?;
    Ok(Unread { connection, _send: send, _calls: begun })
}

impl Unread {
    pub async fn ended(self) {
        let _ = self.connection.await;
    }
}
