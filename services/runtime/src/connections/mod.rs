//! Connections: limits per address and operator, and timeouts.
//!
//! All listeners of a process (gRPC, the console with JSON, the proofs' files) share one table of connections and one bound on TLS
//! handshakes: [`Admission`]. A connection is dropped if its handshakes (TLS, then HTTP/2's preface or the head of a request) are
//! not finished in time, if its pings are not answered, or if it has had no call for long. There is a bound on
//! all connections, on those from one address and on those of one operator. When a bound is reached, the least useful
//! connection of the address with the most connections is closed: see [`Table`](table::Table).
//!
//! All bounds lie below the limit of descriptors, of which some are kept back for the log and its index. If there are
//! none left all the same, one connection is dropped, the log says so, and accepting goes on.
//!
//! Memory of a connection in the worst case: its receive window of 256 KiB, HPACK's table of 4 KiB twice, and
//! the buffers of TLS. Bytes that wait to be sent are counted by [`crate::buffers`].

mod accepted;
mod calls;
mod descriptors;
mod direct;
mod frames;
mod handshakes;
mod http1;
mod http2;
mod in_turn;
mod lifetime;
mod peer;
mod rounds;
mod stream;
mod table;
mod tls;
mod turns;
mod workers;

pub use accepted::Admission;
pub use descriptors::descriptors;
pub use direct::{Direct, DirectCalls};
pub use http1::serve_http1;
pub use peer::Peer;
pub use table::{Bounds, Connection};
pub use tls::{Acceptor, TlsError, acceptor};
pub use workers::Workers;

use crate::stop::Stop;
use accepted::{Listening, Opened};
use http2::{Http2, keep_alive};
use in_turn::InTurn;
use lifetime::{End, Lifetime};
use std::{convert::Infallible, future::poll_fn, pin::pin, sync::Arc, time::Duration};
use stream::Greeted;
use tokio::{
    net::TcpListener,
    time::{sleep_until, timeout},
};
use tonic::body::Body;
use tower::Service;

/// Time for the GOAWAY of a connection with too many frames.
const CALM: Duration = Duration::from_millis(100);

/// Serves gRPC at an address until the stop; then the listener is closed, connections get GOAWAY, and calls in progress are
/// answered. A connection without one is closed within 300 ms, and so is one whose peer does not read its
/// answers. When dropped, it drops all connections. They are served by the workers, and all calls but the direct ones are the
/// service's.
pub async fn serve<S>(
    listener: TcpListener,
    acceptor: Option<Acceptor>,
    workers: Workers,
    admission: Admission,
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
    let listening = Listening { listener, acceptor, admission, refusal: b"", stop };
    let begin = |accepted: accepted::Accepted, served: &mut tokio::task::JoinSet<()>| {
        let (service, direct) = (service.clone(), direct.clone());
        served.spawn_on(accepted.serve(move |opened| run(opened, service, direct)), workers.next());
    };
    listening.accept(begin).await;
}

/// Serves a connection to its end. Returns the reason if the service ended it.
async fn run<S>(opened: Opened, service: S, direct: Option<Arc<dyn Direct>>) -> Option<&'static str>
where
    S: Service<http::Request<Body>, Response = http::Response<Body>, Error = Infallible>
        + Clone
        + Send
        + Sync
        + 'static,
    S::Future: Send + 'static,
{
    let Opened { wire, connection, peer, by, stop } = opened;
    let greeted = Greeted::http2(wire, Arc::clone(&connection));
    let (mut http, pings) = tokio::select! {
        begun = Http2::begin(greeted, service, direct, Arc::clone(&connection), peer) => match begun {
            Ok(begun) => begun,
            Err(_) => return None,
        },
        () = stop.clone().requested() => return Some(lifetime::STOPS),
        () = sleep_until(by) => return Some("no HTTP/2 preface in time"),
    };
    let mut gone = pin!(keep_alive(pings, connection.bounds()));
    let mut lifetime = Lifetime::new(Arc::clone(&connection), by, stop);
    let mut turn = InTurn::new(Arc::clone(&connection));
    loop {
        tokio::select! {
            biased;
            () = poll_fn(|context| turn.poll(context, |context| http.poll(context))) => return None,
            () = connection.exceeded() => {
                http.calm();
                // The peer keeps sending: a GOAWAY that cannot be sent within this time is dropped.
                let _ = timeout(CALM, poll_fn(|context| http.poll(context))).await;
                return Some("too many frames without a call");
            }
            () = &mut gone => return Some("a ping was not answered in time"),
            end = lifetime.next() => match end {
                End::Gently => http.leave(),
                End::Now(why) => return Some(why),
            },
        }
    }
}
