//! Connections: who may have how many, and for how long one is kept.
//!
//! A connection is paid from its caller's share. One that has not finished its handshakes (TLS, then HTTP/2's preface)
//! in time is dropped; so is one whose pings are not answered, and one without a call for long. There is a bound on all
//! connections, on those from one address and on those of one operator. Where a bound is met, the least useful
//! connection of whoever has the most makes way: see [`Table`].
//!
//! All bounds lie below the limit of descriptors, of which some are kept back for the log and its index. If there are
//! none left all the same, one connection is dropped, the log says so, and accepting goes on.
//!
//! Memory of a connection in the worst case: its receive window of 256 KiB, HPACK's table of 4 KiB twice, and
//! the buffers of TLS. Bytes that wait to be sent are counted by [`crate::buffers`].

mod calls;
mod descriptors;
mod direct;
mod handshakes;
mod http2;
mod peer;
mod stream;
mod table;
mod tls;
mod workers;

pub use descriptors::descriptors;
pub use direct::{Direct, DirectCalls};
pub use peer::Peer;
pub use table::{Bounds, Connection, Table, network};
pub use tls::{Acceptor, TlsError, acceptor};
pub use workers::Workers;

use crate::stop::Stop;
use handshakes::{HandshakeError, Handshakes};
use http2::{Http2, keep_alive};
use std::{
    convert::Infallible,
    future::poll_fn,
    io,
    net::SocketAddr,
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};
use stream::{Greeted, Wire};
use table::Admitted;
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::{sleep, sleep_until},
};
use tonic::body::Body;
use tower::Service;

/// The longest time for a connection that was told to end.
const LEAVE: Duration = Duration::from_secs(5);
/// Time between two looks, after a stop, at a connection with calls that the service works on.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// The pause after an accept that failed for lack of a resource.
const PAUSE: Duration = Duration::from_millis(50);
/// The least time between two warnings of that.
const WARN_EVERY: Duration = Duration::from_secs(10);

/// Serves the connections to an address until the stop; then the listener is closed, connections get GOAWAY, and calls under way
/// are answered. A connection without one is closed within 300 ms, and so is one whose peer does not read its answers.
/// When dropped, it drops all connections. They are served by the workers, and all calls but the direct ones are the service's.
pub async fn serve<S>(
    listener: TcpListener,
    acceptor: Option<Acceptor>,
    workers: Workers,
    bounds: Bounds,
    service: S,
    direct: Option<Arc<dyn Direct>>,
    stop: Stop,
) where
    S: Service<http::Request<Body>, Response = http::Response<Body>, Error = Infallible>
        + Clone
        + Send
        + Sync
        + 'static,
    S::Future: Send + 'static,
{
    let secured = acceptor.map(|acceptor| Arc::new((acceptor, Handshakes::new(bounds.tls_handshakes))));
    let table = Table::new(bounds);
    let mut served = JoinSet::new();
    {
        let listener = listener;
        let mut stopped = pin!(stop.clone().requested());
        let mut warned = None;
        loop {
            let accepted = tokio::select! {
                biased;
                () = &mut stopped => break,
                Some(_) = served.join_next() => continue,
                accepted = listener.accept() => accepted,
            };
            // It leaves the events of this runtime for those of its own.
            match accepted.and_then(|(stream, peer)| Ok((stream.into_std()?, peer))) {
                Ok((stream, peer)) => match table.admit(peer.ip()) {
                    // Whoever is refused finds the connection closed.
                    None => table.say_refused(peer.ip()),
                    Some(admitted) => {
                        let (secured, direct, stop) = (secured.clone(), direct.clone(), stop.clone());
                        let one = One { stream, peer, admitted, secured, direct, stop };
                        served.spawn_on(one.serve(service.clone()), workers.next());
                    }
                },
                Err(error) if of_the_peer(&error) => {}
                Err(error) => {
                    let now = Instant::now();
                    if warned.is_none_or(|warned| now > warned + WARN_EVERY) {
                        warned = Some(now);
                        let connections = table.count();
                        tracing::error!(%error, connections, "no connection can be accepted; one is dropped");
                    }
                    table.make_way();
                    tokio::select! {
                        () = &mut stopped => break,
                        () = sleep(PAUSE) => {}
                    }
                }
            }
        }
    }
    while served.join_next().await.is_some() {}
}

/// Whether an accept failed because of the peer.
fn of_the_peer(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted, TimedOut};
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionRefused | ConnectionReset | BrokenPipe | Interrupted | TimedOut
    )
}

/// A connection to be served.
struct One {
    stream: std::net::TcpStream,
    peer: SocketAddr,
    admitted: Admitted,
    secured: Option<Arc<(Acceptor, Handshakes)>>,
    direct: Option<Arc<dyn Direct>>,
    stop: Stop,
}

impl One {
    async fn serve<S>(self, service: S)
    where
        S: Service<http::Request<Body>, Response = http::Response<Body>, Error = Infallible>
            + Clone
            + Send
            + Sync
            + 'static,
        S::Future: Send + 'static,
    {
        let connection = Arc::clone(&self.admitted.0);
        let peer = self.peer;
        tokio::select! {
            biased;
            () = connection.shed() => tracing::debug!(%peer, "a connection made way for another"),
            why = self.run(service) => if let Some(why) = why {
                tracing::debug!(%peer, why, "a connection was ended");
            },
        }
    }

    /// Serves the connection to its end. Returns the reason if the service ended it.
    async fn run<S>(self, service: S) -> Option<&'static str>
    where
        S: Service<http::Request<Body>, Response = http::Response<Body>, Error = Infallible>
            + Clone
            + Send
            + Sync
            + 'static,
        S::Future: Send + 'static,
    {
        let Self { stream, peer, admitted, secured, direct, stop } = self;
        let connection = &admitted.0;
        let bounds = connection.bounds();
        let by = tokio::time::Instant::now() + bounds.handshake;
        let Ok(stream) = TcpStream::from_std(stream) else { return Some("there are too few descriptors") };
        // It's no reason to refuse anybody.
        let _ = stream.set_nodelay(true);
        let mut stopped = pin!(stop.requested());
        let wire = match secured.as_deref() {
            None => Wire::Plain(stream),
            Some((acceptor, handshakes)) => tokio::select! {
                () = &mut stopped => return Some("the service stops"),
                result = handshakes.handshake(acceptor.clone(), stream, peer.ip(), by) => match result {
                    Ok(stream) => Wire::Tls(Box::new(stream)),
                    Err(HandshakeError::Failed) => return None,
                    Err(HandshakeError::Late) => return Some("no TLS handshake in time"),
                    Err(HandshakeError::Displaced) => return Some("its TLS handshake made way for another"),
                },
            },
        };
        let peer = Arc::new(Peer::of(peer.ip(), &wire, Arc::clone(connection)));
        let greeted = Greeted::new(wire, Arc::clone(connection));
        let (mut http, pings) = tokio::select! {
            begun = Http2::begin(greeted, service, direct, Arc::clone(connection), peer) => match begun {
                Ok(begun) => begun,
                Err(_) => return None,
            },
            () = &mut stopped => return Some("the service stops"),
            () = sleep_until(by) => return Some("no HTTP/2 preface in time"),
        };
        let mut gone = pin!(keep_alive(pings, bounds));
        let mut leaving = None;
        let mut stopped_at = None;
        let mut look = pin!(sleep_until(by));
        loop {
            tokio::select! {
                biased;
                () = poll_fn(|context| http.poll(context)) => return None,
                () = &mut gone => return Some("a ping was not answered in time"),
                () = &mut stopped, if stopped_at.is_none() => {
                    if !connection.is_greeted() {
                        return Some("the service stops");
                    }
                    http.leave();
                    stopped_at = Some(Instant::now());
                    look.as_mut().reset(tokio::time::Instant::now());
                }
                () = &mut look => {
                    if !connection.is_greeted() {
                        return Some("no HTTP/2 preface in time");
                    }
                    if let Some(stopped) = stopped_at {
                        // Whoever stops the service bounds the time of the calls that it works on.
                        let left = connection.closes_in(stopped).unwrap_or(LOOK_EVERY);
                        if left.is_zero() {
                            return Some("the service stops");
                        }
                        look.as_mut().reset(tokio::time::Instant::now() + left);
                        continue;
                    }
                    if leaving.is_some() {
                        return leaving;
                    }
                    match connection.left() {
                        Some(left) => look.as_mut().reset(tokio::time::Instant::now() + left),
                        None => {
                            http.leave();
                            leaving = Some("no call for long");
                            look.as_mut().reset(tokio::time::Instant::now() + LEAVE);
                        }
                    }
                }
            }
        }
    }
}
