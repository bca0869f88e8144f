//! Connections, their limits and timeouts.
//!
//! All listeners of a process (gRPC, console with JSON, proof files) share one [`Admission`]. A connection is closed if
//! its handshake is late, a ping is not answered, or it is idle for too long.

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
pub use direct::{Direct, DirectCalls, Responder};
pub use http1::serve_http1;
pub use peer::Peer;
pub use table::{Bounds, Connection, network};
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

const CALM: Duration = Duration::from_millis(100);

/// Serves gRPC until the process stops; connections then get GOAWAY, and calls in progress are answered. A connection
/// without calls in progress, or whose client does not read, is closed within 300 ms. Dropping the future closes all
/// connections. `service` answers all calls that `direct` does not.
pub async fn serve<S>(
    listener: TcpListener,
    acceptor: Option<Acceptor>,
    workers: Workers,
    admission: Admission,
    service: S,
    direct: Option<Direct>,
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

async fn run<S>(opened: Opened, service: S, direct: Option<Direct>) -> Option<&'static str>
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
        () = sleep_until(by) => return Some("no HTTP/2 preface arrived in time"),
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
                // The client may still be sending, so the connection is read for [`CALM`] before it is closed.
                let _ = timeout(CALM, poll_fn(|context| http.poll(context))).await;
                return Some("the peer sent too many control frames");
            }
            () = &mut gone => return Some("the peer did not answer a ping in time"),
            end = lifetime.next() => match end {
                End::Gently => http.leave(),
                End::Now(why) => return Some(why),
            },
        }
    }
}
