use super::{
    calls::{Arrived, Arriving, UnderWay, answer, arrived},
    direct::{Direct, DirectCalls, Responder},
    in_turn::InTurn,
    peer::Peer,
    stream::Greeted,
    table::{Bounds, Connection},
    turns::TOGETHER_MAX,
};
use bytes::{Buf, Bytes};
use h2::{Ping, PingPong, RecvStream, server};
use http::{Request, Response, request::Parts};
use std::{
    convert::Infallible,
    future::{Future, poll_fn},
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::{Sleep, sleep, timeout};
use tonic::body::Body;
use tower::Service;

pub(super) const CONNECTION_WINDOW: u32 = 256 << 10;
const CALL_WINDOW: u32 = 64 << 10;
/// Once a call's send buffer contains this many bytes, no further chunk of the answer is added.
const SEND_BUFFER: usize = 64 << 10;
pub(super) const HEADER_TABLE: u32 = 4 << 10;
const FRAME: u32 = 16 << 10;
const RESET_UNSEEN_MAX: usize = 20;
const RESET_OWN_MAX: usize = 256;
/// Maximum time for the message of a direct call to arrive after the headers. A call that needs more time, or more than
/// [`COMING_BYTES_MAX`] bytes, goes through the middleware layers, which limit both.
const COMING_FOR: Duration = Duration::from_millis(5);
const COMING_BYTES_MAX: usize = 4 << 10;

pub(super) struct Http2<S> {
    http: server::Connection<Greeted, Bytes>,
    service: S,
    connection: Arc<Connection>,
    peer: Arc<Peer>,
    direct: Option<Box<dyn DirectCalls>>,
    coming: Vec<Coming>,
    patience: Option<Pin<Box<Sleep>>>,
}

struct Coming {
    head: Parts,
    read: Vec<Bytes>,
    stream: RecvStream,
    respond: server::SendResponse<Bytes>,
    under_way: UnderWay,
}

impl<S> Http2<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send + 'static,
{
    pub(super) async fn begin(
        wire: Greeted,
        service: S,
        direct: Option<Direct>,
        connection: Arc<Connection>,
        peer: Arc<Peer>,
    ) -> Result<(Self, Option<PingPong>), h2::Error> {
        let mut http = builder(connection.bounds()).handshake(wire).await?;
        let pings = http.ping_pong();
        let direct = direct.map(|connect| connect(Arc::clone(&peer)));
        Ok((Self { http, service, connection, peer, direct, coming: vec![], patience: None }, pings))
    }

    pub(super) fn leave(&mut self) {
        self.http.graceful_shutdown();
    }

    pub(super) fn calm(&mut self) {
        self.http.abrupt_shutdown(h2::Reason::ENHANCE_YOUR_CALM);
    }

    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let (mut begun, turn) = (0, self.connection.turn(TOGETHER_MAX));
        loop {
            self.answer(context);
            match self.http.poll_accept(context) {
                Poll::Ready(Some(Ok((request, respond)))) => {
                    let under_way = UnderWay::begin(Arc::clone(&self.connection));
                    let (head, stream) = request.into_parts();
                    self.begin_call(Coming { head, read: vec![], stream, respond, under_way }, true, context);
                    begun += 1;
                    self.connection.spend(1);
                    if begun == turn {
                        self.hand_in();
                        context.waker().wake_by_ref();
                        return Poll::Pending;
                    }
                }
                Poll::Ready(Some(Err(_)) | None) => return Poll::Ready(()),
                Poll::Pending => {
                    self.begin_coming(context);
                    self.hand_in();
                    if !self.answer(context) {
                        return Poll::Pending;
                    }
                }
            }
        }
    }

    fn hand_in(&mut self) {
        if let Some(calls) = &mut self.direct {
            calls.hand_in();
        }
    }

    fn answer(&mut self, context: &mut Context<'_>) -> bool {
        self.direct.as_mut().is_some_and(|calls| calls.answer(context))
    }

    fn begin_call(&mut self, mut call: Coming, patient: bool, context: &mut Context<'_>) {
        if let Some(calls) = &mut self.direct
            && calls.answers(call.head.uri.path())
        {
            match arrived(&mut call.stream, &mut call.read, context) {
                Arrived::Whole => {
                    if let Some(message) = message(&call.read) {
                        let Coming { head, respond, under_way, .. } = call;
                        return calls.begin(head, message, Responder { respond, under_way });
                    }
                }
                Arrived::Partial if patient && length(&call.read) <= COMING_BYTES_MAX => return self.coming.push(call),
                Arrived::Partial | Arrived::Broken => {}
            }
        }
        let Coming { mut head, read, stream, respond, under_way } = call;
        head.extensions.insert(Arc::clone(&self.peer));
        let request = Request::from_parts(head, Arriving::after(read, stream));
        let answered = answer(self.service.clone(), request, respond, under_way);
        // Boxed, because `spawn` would copy the large future several times.
        tokio::spawn(Box::pin(in_turn(answered, Arc::clone(&self.connection))));
    }

    fn begin_coming(&mut self, context: &mut Context<'_>) {
        if self.coming.is_empty() {
            return;
        }
        let patience = self.patience.get_or_insert_with(|| Box::pin(sleep(COMING_FOR)));
        let patient = patience.as_mut().poll(context).is_pending();
        for call in std::mem::take(&mut self.coming) {
            self.begin_call(call, patient, context);
        }
        if self.coming.is_empty() {
            self.patience = None;
        }
    }
}

async fn in_turn(answered: impl Future<Output = ()>, connection: Arc<Connection>) {
    let (mut turn, mut answered) = (InTurn::new(connection), pin!(answered));
    poll_fn(|context| turn.poll(context, |context| answered.as_mut().poll(context))).await;
}

fn message(parts: &[Bytes]) -> Option<Bytes> {
    let mut body = match parts {
        [whole] => whole.clone(),
        parts => parts.concat().into(),
    };
    let (flags, length) = (body.try_get_u8().ok()?, body.try_get_u32().ok()?);
    (flags == 0 && usize::try_from(length).is_ok_and(|length| length == body.len())).then_some(body)
}

fn length(parts: &[Bytes]) -> usize {
    parts.iter().map(Bytes::len).sum()
}

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
