//! HTTP/2 on one connection: its calls are taken as they come, its pings kept, and its end seen to.

use super::{
    calls::{Arrived, Arriving, UnderWay, answer, arrived},
    direct::{Answering, Direct},
    peer::Peer,
    stream::Greeted,
    table::{Bounds, Connection},
};
use bytes::{Buf, Bytes};
use h2::{Ping, PingPong, RecvStream, server};
use http::{Request, Response};
use std::{
    convert::Infallible,
    future::poll_fn,
    sync::Arc,
    task::{Context, Poll},
};
use tokio::time::{sleep, timeout};
use tonic::body::Body;
use tower::Service;

/// Bytes that a peer may send on one connection before they are read.
pub(super) const CONNECTION_WINDOW: u32 = 256 << 10;
/// Bytes that a peer may send on one call before they are read.
const CALL_WINDOW: u32 = 64 << 10;
/// Bytes of one call's answer that are buffered for sending, but for the last part of them.
const SEND_BUFFER: usize = 64 << 10;
/// Bytes of HPACK's table.
pub(super) const HEADER_TABLE: u32 = 4 << 10;
/// Bytes of the longest frame that is accepted.
const FRAME: u32 = 16 << 10;
/// Calls that a peer may open and reset before they are looked at; one more ends the connection.
const RESET_UNSEEN_MAX: usize = 20;
/// Errors in single calls after which a connection ends.
const RESET_OWN_MAX: usize = 256;
/// Calls that are begun before others get their turn.
const TOGETHER_MAX: usize = 64;

/// A connection that has begun.
pub(super) struct Http2<S> {
    http: server::Connection<Greeted, Bytes>,
    service: S,
    connection: Arc<Connection>,
    peer: Arc<Peer>,
    direct: Option<Answering>,
}

impl<S> Http2<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send + 'static,
{
    /// Begins. Its pings are to be kept beside it.
    ///
    /// # Errors
    /// The peer doesn't speak HTTP/2.
    pub(super) async fn begin(
        wire: Greeted,
        service: S,
        direct: Option<Arc<dyn Direct>>,
        connection: Arc<Connection>,
        peer: Arc<Peer>,
    ) -> Result<(Self, Option<PingPong>), h2::Error> {
        let mut http = builder(connection.bounds()).handshake(wire).await?;
        let pings = http.ping_pong();
        let direct = direct.map(|direct| Answering::new(direct, Arc::clone(&peer)));
        Ok((Self { http, service, connection, peer, direct }, pings))
    }

    /// Takes no more calls; ends when those under way are answered.
    pub(super) fn leave(&mut self) {
        self.http.graceful_shutdown();
    }

    /// Serves to the end.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let mut begun = 0;
        loop {
            if let Some(direct) = &mut self.direct {
                direct.send(context);
            }
            match self.http.poll_accept(context) {
                Poll::Ready(Some(Ok((request, respond)))) => {
                    self.begin_call(request, respond, context);
                    begun += 1;
                    if begun == TOGETHER_MAX {
                        self.hand_in();
                        context.waker().wake_by_ref();
                        return Poll::Pending;
                    }
                }
                Poll::Ready(Some(Err(_)) | None) => return Poll::Ready(()),
                Poll::Pending => {
                    self.hand_in();
                    // What was answered at once is to be written, too.
                    if !self.direct.as_mut().is_some_and(|direct| direct.send(context)) {
                        return Poll::Pending;
                    }
                }
            }
        }
    }

    fn hand_in(&mut self) {
        if let Some(direct) = &mut self.direct {
            direct.hand_in();
        }
    }

    fn begin_call(
        &mut self,
        request: Request<RecvStream>,
        respond: server::SendResponse<Bytes>,
        context: &mut Context<'_>,
    ) {
        let under_way = UnderWay::begin(Arc::clone(&self.connection));
        let (mut head, mut stream) = request.into_parts();
        let mut read = vec![];
        if let Some(direct) = &mut self.direct
            && direct.answers(head.uri.path())
        {
            match arrived(&mut stream, context) {
                Arrived::Whole(parts) => match message(&parts) {
                    Some(message) => return direct.begin(head, message, respond, under_way),
                    None => read = parts,
                },
                Arrived::Part(parts) => read = parts,
            }
        }
        head.extensions.insert(Arc::clone(&self.peer));
        let request = Request::from_parts(head, Arriving::after(read, stream));
        tokio::spawn(answer(self.service.clone(), request, respond, under_way));
    }
}

/// The message of a body that is one message, in one part and not compressed: a byte of flags, four of length, the message.
fn message(parts: &[Bytes]) -> Option<Bytes> {
    let [part] = parts else { return None };
    let mut part = part.clone();
    let (flags, length) = (part.try_get_u8().ok()?, part.try_get_u32().ok()?);
    (flags == 0 && usize::try_from(length).is_ok_and(|length| length == part.len())).then_some(part)
}

/// Asks the peer again and again whether it's still there; returns once it did not answer in time.
pub(super) async fn keep_alive(pings: Option<PingPong>, bounds: &Bounds) {
    let Some(mut pings) = pings else { return std::future::pending().await };
    loop {
        sleep(bounds.keep_alive).await;
        if pings.send_ping(Ping::opaque()).is_err() {
            return;
        }
        let pong = poll_fn(|context| pings.poll_pong(context));
        if !matches!(timeout(bounds.keep_alive_answer, pong).await, Ok(Ok(_))) {
            return;
        }
    }
}

fn builder(bounds: &Bounds) -> server::Builder {
    let mut http = server::Builder::new();
    http.initial_connection_window_size(CONNECTION_WINDOW)
        .initial_window_size(CALL_WINDOW)
        .max_send_buffer_size(SEND_BUFFER)
        .header_table_size(HEADER_TABLE)
        .max_frame_size(FRAME)
        .max_header_list_size(bounds.header_bytes)
        .max_concurrent_streams(bounds.calls)
        .max_pending_accept_reset_streams(RESET_UNSEEN_MAX)
        .max_local_error_reset_streams(Some(RESET_OWN_MAX));
    http
}
