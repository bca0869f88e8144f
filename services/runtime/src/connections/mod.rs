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
//! Memory of a connection in the worst case: its receive window of [`CONNECTION_WINDOW`], [`HEADER_TABLE`] twice, and
//! the buffers of TLS. Bytes that wait to be sent are counted by [`crate::buffers`].

mod calls;
mod descriptors;
mod handshakes;
mod stream;
mod table;
mod tls;

pub use descriptors::descriptors;
pub use table::{Bounds, Connection, Table, network};
pub use tls::{Acceptor, TlsError, acceptor};

use crate::stop::Stop;
use calls::Calls;
use handshakes::{HandshakeError, Handshakes};
use hyper::server::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use std::{
    convert::Infallible,
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

/// Bytes that a peer may send on one connection before they are read.
const CONNECTION_WINDOW: u32 = 256 << 10;
/// Bytes that a peer may send on one call before they are read.
const CALL_WINDOW: u32 = 64 << 10;
/// Bytes of one call's answer that are buffered for sending, but for the last part of them.
const SEND_BUFFER: usize = 64 << 10;
/// Bytes of HPACK's table.
const HEADER_TABLE: u32 = 4 << 10;
/// Bytes of the longest frame that is accepted.
const FRAME: u32 = 16 << 10;
/// Calls that a peer may open and reset before they are looked at; one more ends the connection.
const RESET_UNSEEN_MAX: usize = 20;
/// Errors in single calls after which a connection ends.
const RESET_OWN_MAX: usize = 256;
/// The longest time for a connection that was told to end.
const LEAVE: Duration = Duration::from_secs(5);
/// The pause after an accept that failed for lack of a resource.
const PAUSE: Duration = Duration::from_millis(50);
/// The least time between two warnings of that.
const WARN_EVERY: Duration = Duration::from_secs(10);

/// Serves the connections to an address until the stop; then the listener is closed, and calls under way are answered.
/// When dropped, it drops all connections.
pub async fn serve<S>(listener: TcpListener, acceptor: Option<Acceptor>, bounds: Bounds, service: S, stop: Stop)
where
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
            match accepted {
                Ok((stream, peer)) => match table.admit(peer.ip()) {
                    // Whoever is refused finds the connection closed.
                    None => table.say_refused(peer.ip()),
                    Some(admitted) => {
                        let one = One { stream, peer, admitted, secured: secured.clone(), stop: stop.clone() };
                        served.spawn(one.serve(service.clone()));
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
    stream: TcpStream,
    peer: SocketAddr,
    admitted: Admitted,
    secured: Option<Arc<(Acceptor, Handshakes)>>,
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
        let Self { stream, peer, admitted, secured, stop } = self;
        let connection = &admitted.0;
        let bounds = connection.bounds();
        let by = tokio::time::Instant::now() + bounds.handshake;
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
        let calls = Calls::new(service, Arc::clone(connection), &wire);
        let greeted = Greeted::new(wire, Arc::clone(connection));
        let mut http = pin!(http(bounds).serve_connection(TokioIo::new(greeted), calls));
        let mut leaving = None;
        let mut look = pin!(sleep_until(by));
        loop {
            tokio::select! {
                _ = http.as_mut() => return None,
                () = &mut stopped, if leaving.is_none() => {
                    if !connection.is_greeted() {
                        return Some("the service stops");
                    }
                    http.as_mut().graceful_shutdown();
                    // As long as calls are under way: whoever stops all knows how long that may take.
                    leaving = Some("the service stops");
                    look.as_mut().reset(tokio::time::Instant::now() + Duration::from_secs(86_400));
                }
                () = &mut look => {
                    if !connection.is_greeted() {
                        return Some("no HTTP/2 preface in time");
                    }
                    if leaving.is_some() {
                        return leaving;
                    }
                    match connection.left() {
                        Some(left) => look.as_mut().reset(tokio::time::Instant::now() + left),
                        None => {
                            http.as_mut().graceful_shutdown();
                            leaving = Some("no call for long");
                            look.as_mut().reset(tokio::time::Instant::now() + LEAVE);
                        }
                    }
                }
            }
        }
    }
}

fn http(bounds: &Bounds) -> http2::Builder<TokioExecutor> {
    let mut http = http2::Builder::new(TokioExecutor::new());
    http.timer(TokioTimer::new())
        .initial_connection_window_size(CONNECTION_WINDOW)
        .initial_stream_window_size(CALL_WINDOW)
        .max_send_buf_size(SEND_BUFFER)
        .header_table_size(HEADER_TABLE)
        .max_frame_size(FRAME)
        .max_header_list_size(bounds.header_bytes)
        .max_concurrent_streams(bounds.calls)
        .max_pending_accept_reset_streams(RESET_UNSEEN_MAX)
        .max_local_error_reset_streams(RESET_OWN_MAX)
        .keep_alive_interval(bounds.keep_alive)
        .keep_alive_timeout(bounds.keep_alive_answer);
    http
}
