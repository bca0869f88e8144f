//! The console's listener: HTTP/1.1 for browsers, with TLS where the service has it, bounded in connections, bytes and time.

use crate::{
    api::Backend,
    app::{App, Inner},
    guard::PAGE_MAX,
    names::Names,
    routes::router,
    sessions::{Bounds, Sessions},
    shared::Shared,
};
use axum::{Router, body::Body};
use http::{Request, Response};
use hyper::{body::Incoming, server::conn::http1};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use motherlode_runtime::{
    Clock, Stop,
    connections::{Acceptor, Peer, network},
};
use parking_lot::Mutex;
use std::{
    collections::BTreeMap,
    convert::Infallible,
    net::{IpAddr, SocketAddr},
    pin::pin,
    sync::Arc,
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::{sleep, timeout},
};
use tower::{Service, ServiceExt};

/// Connections at one time, and those from one address: a browser has six.
const CONNECTIONS_MAX: usize = 512;
const PER_PEER_MAX: usize = 64;
/// The longest time for a TLS handshake, for a request's headers, and for a connection in all.
const HANDSHAKE_MAX: Duration = Duration::from_secs(5);
const HEADERS_WAIT: Duration = Duration::from_secs(10);
const CONNECTION_MAX: Duration = Duration::from_secs(300);
/// Bytes of a request's headers.
const HEADERS_MAX: usize = 16 << 10;
/// The pause after an accept that failed.
const PAUSE: Duration = Duration::from_millis(50);

/// The console, ready to be served.
pub struct Console {
    router: Router,
    tls: Option<Acceptor>,
}

impl Console {
    /// A console before services. `address` is where it listens, `hosts` are further names that it's reached by;
    /// a message in JSON has at most so many bytes as any over gRPC.
    #[must_use]
    pub fn new(
        backend: Backend,
        clock: Clock,
        bounds: Bounds,
        address: SocketAddr,
        hosts: &[String],
        tls: Option<Acceptor>,
        message_bytes_max: usize,
    ) -> Self {
        let (sessions, names) = (Sessions::new(clock, bounds), Names::new(address, hosts));
        let app: App = Arc::new(Inner {
            backend,
            sessions,
            shared: Shared::default(),
            names,
            near: address.ip().is_loopback(),
            secure: tls.is_some(),
            message_bytes_max,
        });
        Self { router: router(app), tls }
    }

    /// Serves it until the stop; whatever is under way then is answered first.
    pub async fn serve(self, listener: TcpListener, stop: Stop) {
        let (places, mut connections) = (Places::default(), JoinSet::new());
        loop {
            let accepted = tokio::select! {
                () = stop.clone().requested() => break,
                Some(_) = connections.join_next() => continue,
                accepted = listener.accept() => accepted,
            };
            let Ok((stream, peer)) = accepted else {
                sleep(PAUSE).await;
                continue;
            };
            let Some(place) = places.take(peer.ip()) else { continue };
            let (router, tls, stop) = (self.router.clone(), self.tls.clone(), stop.clone());
            connections.spawn(async move {
                begin(stream, peer, tls, router, stop).await;
                drop(place);
            });
        }
        while connections.join_next().await.is_some() {}
    }
}

async fn begin(stream: TcpStream, peer: SocketAddr, tls: Option<Acceptor>, router: Router, stop: Stop) {
    // An answer is whole in one write; waiting for more to send it with helps nobody.
    let _ = stream.set_nodelay(true);
    // Who fails to log in is said with the peer's address.
    let peer = Arc::new(Peer::at(peer.ip()));
    let router = router.map_request(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(Arc::clone(&peer));
        request
    });
    match tls {
        None => converse(stream, router, stop).await,
        Some(acceptor) => match timeout(HANDSHAKE_MAX, acceptor.accept(stream)).await {
            Ok(Ok(stream)) => converse(stream, router, stop).await,
            Ok(Err(error)) => tracing::debug!(%error, "a connection to the console has no TLS"),
            Err(_) => {}
        },
    }
}

/// Answers requests until the stop or the connection's time; the one that is under way then is answered.
async fn converse<S>(stream: impl AsyncRead + AsyncWrite + Unpin, router: S, stop: Stop)
where
    S: Service<Request<Incoming>, Response = Response<Body>, Error = Infallible> + Clone,
{
    let mut connection = http1::Builder::new();
    connection.timer(TokioTimer::new()).header_read_timeout(HEADERS_WAIT).max_buf_size(HEADERS_MAX);
    let mut served = pin!(connection.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router)));
    let ended = tokio::select! {
        served = &mut served => Some(served),
        () = stop.requested() => None,
        () = sleep(CONNECTION_MAX) => None,
    };
    let ended = match ended {
        Some(ended) => ended,
        None => {
            served.as_mut().graceful_shutdown();
            timeout(PAGE_MAX, served).await.unwrap_or(Ok(()))
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection to the console ended");
    }
}

/// How many connections there are from each address.
#[derive(Clone, Default)]
struct Places(Arc<Mutex<BTreeMap<IpAddr, usize>>>);

/// A connection's place; it's free again when this is dropped.
struct Place {
    places: Places,
    peer: IpAddr,
}

impl Places {
    fn take(&self, peer: IpAddr) -> Option<Place> {
        let (peer, mut taken) = (network(peer), self.0.lock());
        let all: usize = taken.values().sum();
        let of_peer = taken.get(&peer).copied().unwrap_or(0);
        if all >= CONNECTIONS_MAX || of_peer >= PER_PEER_MAX {
            return None;
        }
        taken.insert(peer, of_peer + 1);
        Some(Place { places: self.clone(), peer })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.0.lock();
        match taken.get_mut(&self.peer) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(taken.remove(&self.peer)),
        }
    }
}
