//! Answer body whose bytes count as buffered until they are written.

use super::budget::Share;
use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body as _, Frame, SizeHint};
use std::{
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll, ready},
};
use tonic::{Status, body::Body};

struct CountedBytes {
    bytes: Bytes,
    _share: Share,
}

impl AsRef<[u8]> for CountedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

pub(super) fn counted(bytes: Bytes, share: Share) -> Bytes {
    Bytes::from_owner(CountedBytes { bytes, _share: share })
}

type Polled = Option<Result<Frame<Bytes>, Status>>;

pub(super) struct Outward {
    body: Option<Body>,
    call: Share,
    first: Option<Polled>,
}

impl Outward {
    /// Counts an answer's bytes as buffered. Polls the body at once, so that even an answer that is never read counts.
    pub(super) async fn begin(body: Body, call: Share) -> Body {
        if body.is_end_stream() {
            return body;
        }
        let mut outward = Self { body: Some(body), call, first: None };
        let first = poll_fn(|context| match outward.poll(context) {
            Poll::Ready(frame) => Poll::Ready(Some(frame)),
            Poll::Pending => Poll::Ready(None),
        });
        let first = first.await;
        outward.first = first;
        Body::new(outward)
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Polled> {
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let frame = match ready!(Pin::new(body).poll_frame(context)) {
            Some(Ok(frame)) => frame,
            ended => {
                self.body = None;
                return Poll::Ready(ended);
            }
        };
        let bytes = match frame.into_data() {
            Ok(bytes) => bytes,
            Err(trailers) => {
                self.body = None;
                return Poll::Ready(Some(Ok(trailers)));
            }
        };
        let share = match self.call.take_more(bytes.len()) {
            Ok(share) => share,
            Err(full) => match self.call.split(bytes.len()) {
                Some(share) => share,
                None => {
                    self.body = None;
                    let mut trailers = HeaderMap::new();
                    let _ = Status::from(full.unsent()).add_header(&mut trailers);
                    return Poll::Ready(Some(Ok(Frame::trailers(trailers))));
                }
            },
        };
        Poll::Ready(Some(Ok(Frame::data(counted(bytes, share)))))
    }
}

impl http_body::Body for Outward {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Polled> {
        match self.first.take() {
            Some(first) => Poll::Ready(first),
            None => self.poll(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.first.is_none() && self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::budget::{Budget, CALL_BYTES};
    use super::*;
    use std::{collections::VecDeque, sync::Arc};
    use tonic::Code;

    struct Parts(VecDeque<usize>, bool);

    impl http_body::Body for Parts {
        type Data = Bytes;
        type Error = Status;

        fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Polled> {
            Poll::Ready(match self.0.pop_front() {
                Some(bytes) => Some(Ok(Frame::data(vec![7; bytes].into()))),
                None if self.1 => {
                    self.1 = false;
                    Some(Ok(Frame::trailers(
                        [("grpc-status".parse().unwrap(), "0".parse().unwrap())].into_iter().collect(),
                    )))
                }
                None => None,
            })
        }
    }

    async fn answer(budget: &Arc<Budget>, parts: impl Into<VecDeque<usize>>) -> Body {
        let call = budget.take(&"a".into(), CALL_BYTES).unwrap();
        Outward::begin(Body::new(Parts(parts.into(), true)), call).await
    }

    async fn frame(body: &mut Body) -> Option<Frame<Bytes>> {
        poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await.transpose().unwrap()
    }

    fn code(trailers: &Frame<Bytes>) -> Code {
        Code::from_bytes(trailers.trailers_ref().unwrap()["grpc-status"].as_bytes())
    }

    #[tokio::test]
    async fn uf_04_an_answer_counts_from_when_it_is_made_until_its_last_byte_is_let_go_of() {
        let budget = Budget::new(100_000, 100_000, 1);
        let taken = || budget.state.lock().taken.get("a").copied().unwrap_or(0);
        let mut body = answer(&budget, [30_000, 5]).await;
        assert_eq!(taken(), CALL_BYTES + 30_000, "counted before the caller reads");
        let first = frame(&mut body).await.unwrap().into_data().unwrap();
        let (one, other) = (first.slice(..10), first.slice(10..));
        drop(first);
        assert_eq!(frame(&mut body).await.unwrap().into_data().unwrap(), vec![7; 5]);
        assert_eq!(code(&frame(&mut body).await.unwrap()), Code::Ok);
        drop((body, one));
        assert_eq!(taken(), 30_000, "a slice of the first frame is still held");
        drop(other);
        assert_eq!(taken(), 0);
    }

    #[tokio::test]
    async fn uf_04_what_does_not_fit_ends_the_answer_and_says_so_but_a_short_answer_always_fits() {
        let budget = Budget::new(100_000, 60_000, 1);
        let unread = answer(&budget, [20_000]).await;
        let mut long = answer(&budget, [CALL_BYTES + 1]).await;
        assert_eq!(code(&frame(&mut long).await.unwrap()), Code::ResourceExhausted);
        assert!(frame(&mut long).await.is_none());
        drop(long);
        let mut short = answer(&budget, [CALL_BYTES]).await;
        assert_eq!(frame(&mut short).await.unwrap().into_data().unwrap().len(), CALL_BYTES);
        assert_eq!(code(&frame(&mut short).await.unwrap()), Code::Ok);
        drop(unread);
    }
}
