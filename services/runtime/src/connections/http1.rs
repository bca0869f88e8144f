//! HTTP/1.1 for browsers, callers without gRPC and readers of proof files.

use super::{
    accepted::{Accepted, Admission, Listening, Opened},
    calls::UnderWay,
    lifetime::{End, Lifetime},
    stream::Greeted,
    table::Unread,
    tls::Acceptor,
};
use crate::stop::Stop;
use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body, Frame, SizeHint};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::{
    convert::Infallible,
    error::Error,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll, ready},
};
use tokio::{net::TcpListener, task::JoinSet};
use tower::{Service, ServiceExt};

const REFUSAL: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
const HEAD_BYTES_MAX: usize = 16 << 10;

/// Serves HTTP/1.1 on the caller's runtime until the process stops. Requests in progress are then still answered, and
/// each client has 300 ms to read the answers.
pub async fn serve_http1<S, B>(
    listener: TcpListener,
    acceptor: Option<Acceptor>,
    admission: Admission,
    service: S,
    stop: Stop,
) where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible> + Clone + Send + Sync + 'static,
    S::Future: Send + 'static,
    B: Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    // A client that expects TLS could not read a plaintext refusal.
    let refusal = if acceptor.is_some() { b"" } else { REFUSAL };
    let listening = Listening { listener, acceptor, admission, refusal, stop };
    let begin = |accepted: Accepted, served: &mut JoinSet<()>| {
        let service = service.clone();
        served.spawn(accepted.serve(move |opened| run(opened, service)));
    };
    listening.accept(begin).await;
}

async fn run<S, B>(opened: Opened, service: S) -> Option<&'static str>
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible> + Clone,
    B: Body<Data = Bytes> + Unpin + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let Opened { wire, connection, peer, by, stop } = opened;
    wire.probe(connection.bounds());
    let wire = Greeted::http1(wire, Arc::clone(&connection));
    let called = Arc::clone(&connection);
    let service = service_fn(move |mut request: Request<Incoming>| {
        called.greet();
        let under_way = UnderWay::begin(Arc::clone(&called));
        request.extensions_mut().insert(Arc::clone(&peer));
        let answered = service.clone().oneshot(request);
        async move {
            let answer = answered.await.unwrap_or_else(|never| match never {});
            Ok::<_, Infallible>(answer.map(|body| Answer::new(body, under_way)))
        }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(connection.bounds().idle).max_buf_size(HEAD_BYTES_MAX);
    let mut served = pin!(builder.serve_connection(TokioIo::new(wire), service));
    let mut lifetime = Lifetime::new(connection, by, stop);
    loop {
        tokio::select! {
            biased;
            result = &mut served => {
                if let Err(error) = result {
                    tracing::debug!(%error, "an HTTP/1.1 connection ended with an error");
                }
                return None;
            }
            end = lifetime.next() => match end {
                End::Gently => served.as_mut().graceful_shutdown(),
                End::Now(why) => return Some(why),
            },
        }
    }
}

struct Answer<B> {
    body: B,
    under_way: UnderWay,
    _unread: Unread,
}

impl<B: Body> Answer<B> {
    fn new(body: B, mut under_way: UnderWay) -> Self {
        under_way.answered = body.is_end_stream();
        let unread = under_way.connection.wait_for_reader();
        Self { body, under_way, _unread: unread }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for Answer<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        self.under_way.answered = frame.is_none() || self.body.is_end_stream();
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
