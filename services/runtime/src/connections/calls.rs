use super::table::Connection;
use bytes::Bytes;
use h2::{RecvStream, SendStream, server::SendResponse};
use http::{Request, Response};
use http_body::{Body as _, Frame, SizeHint};
use std::{
    convert::Infallible,
    future::poll_fn,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll, ready},
};
use tonic::{Status, body::Body};
use tower::{Service, ServiceExt};

pub(super) struct UnderWay {
    pub(super) connection: Arc<Connection>,
    pub(super) answered: bool,
}

impl UnderWay {
    pub(super) fn begin(connection: Arc<Connection>) -> Self {
        connection.begin();
        Self { connection, answered: false }
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.connection.end(self.answered);
    }
}

pub(super) async fn answer<S>(
    service: S,
    request: Request<Arriving>,
    mut respond: SendResponse<Bytes>,
    mut under_way: UnderWay,
) where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible>,
{
    let answer = {
        let mut asked = pin!(service.oneshot(request.map(Body::new)));
        let answer = poll_fn(|context| match asked.as_mut().poll(context) {
            Poll::Ready(Ok(answer)) => Poll::Ready(Some(answer)),
            Poll::Ready(Err(never)) => match never {},
            Poll::Pending => respond.poll_reset(context).map(|_| None),
        });
        answer.await
    };
    let Some(answer) = answer else { return };
    let (head, body) = answer.into_parts();
    let ended = body.is_end_stream();
    let Ok(stream) = respond.send_response(Response::from_parts(head, ()), ended) else { return };
    under_way.answered = ended || send(body, stream, &under_way.connection).await.is_some();
}

async fn send(mut body: Body, mut stream: SendStream<Bytes>, connection: &Arc<Connection>) -> Option<()> {
    loop {
        let next = poll_fn(|context| match Pin::new(&mut body).poll_frame(context) {
            Poll::Pending => stream.poll_reset(context).map(|_| None),
            ready => ready,
        });
        let frame = match next.await {
            Some(Ok(frame)) => frame,
            Some(Err(_)) => {
                stream.send_reset(h2::Reason::INTERNAL_ERROR);
                return None;
            }
            None => return stream.send_data(Bytes::new(), true).ok(),
        };
        let data = match frame.into_data() {
            Ok(data) => data,
            Err(frame) => return stream.send_trailers(frame.into_trailers().unwrap_or_default()).ok(),
        };
        if !data.is_empty() {
            stream.reserve_capacity(1);
            while stream.capacity() == 0 {
                let _unread = connection.wait_for_reader();
                poll_fn(|context| stream.poll_capacity(context)).await?.ok()?;
            }
        }
        stream.send_data(data, false).ok()?;
    }
}

pub(super) struct Arriving {
    read: std::vec::IntoIter<Bytes>,
    stream: RecvStream,
}

pub(super) enum Arrived {
    Whole,
    Partial,
    /// The connection is broken; the next read returns the error.
    Broken,
}

impl Arriving {
    pub(super) fn after(read: Vec<Bytes>, stream: RecvStream) -> Self {
        Self { read: read.into_iter(), stream }
    }
}

pub(super) fn arrived(stream: &mut RecvStream, read: &mut Vec<Bytes>, context: &mut Context<'_>) -> Arrived {
    loop {
        match next(stream, context) {
            Poll::Ready(Some(Ok(part))) if part.is_empty() => {}
            Poll::Ready(Some(Ok(part))) => read.push(part),
            Poll::Ready(None) => return Arrived::Whole,
            Poll::Ready(Some(Err(_))) => return Arrived::Broken,
            Poll::Pending => return Arrived::Partial,
        }
    }
}

fn next(stream: &mut RecvStream, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, h2::Error>>> {
    let part = ready!(stream.poll_data(context));
    if let Some(Ok(part)) = &part {
        let _ = stream.flow_control().release_capacity(part.len());
    }
    Poll::Ready(part)
}

impl http_body::Body for Arriving {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if let Some(part) = self.read.next() {
            return Poll::Ready(Some(Ok(Frame::data(part))));
        }
        match ready!(next(&mut self.stream, context)) {
            Some(Ok(part)) => return Poll::Ready(Some(Ok(Frame::data(part)))),
            Some(Err(error)) => return Poll::Ready(Some(Err(given_up(&error)))),
            None => {}
        }
        match ready!(self.stream.poll_trailers(context)) {
            Ok(trailers) => Poll::Ready(trailers.map(|trailers| Ok(Frame::trailers(trailers)))),
            Err(error) => Poll::Ready(Some(Err(given_up(&error)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.read.as_slice().is_empty() && self.stream.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}

fn given_up(error: &h2::Error) -> Status {
    match error.reason() {
        Some(h2::Reason::NO_ERROR | h2::Reason::CANCEL) => Status::cancelled("the caller cancelled the call"),
        _ => Status::unknown(error.to_string()),
    }
}
