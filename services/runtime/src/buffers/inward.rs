//! Request body that reads the length of each arriving message from the gRPC frame.

use super::budget::Share;
use crate::{reason::Reason, refusal::Refusal};
use bytes::{Buf, Bytes};
use http_body::{Frame, SizeHint};
use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::{Instant, Sleep, sleep_until};
use tonic::{Status, body::Body};

const HEAD: usize = 5;
const MESSAGE_MAX: usize = 4 << 20;

pub(super) struct Inward {
    body: Body,
    held: Share,
    head: Vec<u8>,
    left: usize,
    time: Duration,
    whole: bool,
    since: Instant,
    late: Option<Pin<Box<Sleep>>>,
}

impl Inward {
    pub(super) fn new(body: Body, held: Share, time: Duration, whole: bool) -> Self {
        Self { body, held, head: Vec::with_capacity(HEAD), left: 0, time, whole, since: Instant::now(), late: None }
    }

    fn track(&mut self, mut bytes: Bytes) -> Result<(), Refusal> {
        while bytes.has_remaining() {
            if self.left > 0 {
                let some = self.left.min(bytes.remaining());
                bytes.advance(some);
                self.left -= some;
            } else {
                if self.head.is_empty() && !self.whole {
                    (self.since, self.late) = (Instant::now(), None);
                }
                self.head.push(bytes.get_u8());
                if let Ok([_, length @ ..]) = <[u8; HEAD]>::try_from(self.head.as_slice()) {
                    self.head.clear();
                    self.left = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
                    let longer = self.left.saturating_sub(self.held.bytes);
                    if self.left <= MESSAGE_MAX && longer > 0 {
                        self.held.grow(longer).map_err(|full| full.refused())?;
                    }
                }
            }
        }
        Ok(())
    }

    fn waits(&self) -> bool {
        self.whole || self.left > 0 || !self.head.is_empty()
    }
}

impl http_body::Body for Inward {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) {
            if let Some(Ok(frame)) = &frame
                && let Some(bytes) = frame.data_ref()
                && let Err(refusal) = self.track(bytes.clone())
            {
                return Poll::Ready(Some(Err(refusal.into())));
            }
            return Poll::Ready(frame);
        }
        if !self.waits() {
            return Poll::Pending;
        }
        let until = self.since + self.time;
        let late = self.late.get_or_insert_with(|| Box::pin(sleep_until(until)));
        late.as_mut().poll(context).map(|()| {
            let message = "the message did not arrive in time; the call had no effect";
            Some(Err(Refusal::new(Reason::MessageLate, message).into()))
        })
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::super::budget::Budget;
    use super::*;
    use std::{collections::VecDeque, future::poll_fn, sync::Arc};
    use tonic_types::StatusExt;

    struct Pieces(VecDeque<Vec<u8>>);

    impl http_body::Body for Pieces {
        type Data = Bytes;
        type Error = Status;

        fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
            match self.0.pop_front() {
                Some(piece) => Poll::Ready(Some(Ok(Frame::data(piece.into())))),
                None => Poll::Pending,
            }
        }
    }

    fn message(length: usize) -> Vec<u8> {
        let mut message = vec![0];
        message.extend(u32::try_from(length).unwrap().to_be_bytes());
        message.extend(vec![7; length]);
        message
    }

    fn inward(budget: &Arc<Budget>, pieces: impl IntoIterator<Item = Vec<u8>>, whole: bool) -> Inward {
        let held = budget.take(&"a".into(), 0).unwrap();
        let body = Body::new(Pieces(pieces.into_iter().collect()));
        Inward::new(body, held, Duration::from_secs(10), whole)
    }

    async fn next(body: &mut Inward) -> Result<usize, String> {
        let frame = poll_fn(|context| http_body::Body::poll_frame(Pin::new(&mut *body), context)).await.unwrap();
        let reason = |status: Status| status.get_error_details().error_info().unwrap().reason.clone();
        frame.map(|frame| frame.into_data().unwrap().len()).map_err(reason)
    }

    #[tokio::test]
    async fn uf_04_a_message_counts_from_its_head_on_however_it_is_cut() {
        let bytes = [message(600), message(0), message(300)].concat();
        for cut in [1, 3, 7, 604, 605, 606, bytes.len()] {
            let budget = Budget::new(10_000, 10_000, 1);
            let mut body = inward(&budget, bytes.chunks(cut).map(<[u8]>::to_vec), false);
            let mut read = 0;
            while read < bytes.len() {
                read += next(&mut body).await.unwrap();
                assert_eq!(body.held.bytes, if read < HEAD { 0 } else { 600 }, "cut by {cut}, read {read}");
            }
            assert!(!body.waits());
        }
    }

    #[tokio::test]
    async fn uf_04_a_message_that_there_is_no_room_for_is_refused_by_its_head() {
        let budget = Budget::new(1_000, 1_000, 1);
        let mut body = inward(&budget, [message(1_001)[..HEAD].to_vec()], false);
        assert_eq!(next(&mut body).await.unwrap_err(), "BUFFERS_FULL");
        let mut giant = inward(&budget, [vec![0, 0xff, 0xff, 0xff, 0xff]], false);
        assert_eq!(next(&mut giant).await.unwrap(), HEAD);
    }

    #[tokio::test(start_paused = true)]
    async fn uf_02_a_message_that_never_ends_is_given_up_and_one_that_was_not_begun_is_waited_for() {
        let budget = Budget::new(10_000, 10_000, 1);
        let part = |bytes: usize| message(100)[..bytes].to_vec();
        for (pieces, whole, given_up) in [
            (vec![part(3)], false, true),
            (vec![part(50)], false, true),
            (vec![message(100)], false, false),
            (vec![], false, false),
            (vec![], true, true),
            (vec![message(100)], true, true),
        ] {
            let count = pieces.len();
            let mut body = inward(&budget, pieces, whole);
            for _ in 0..count {
                next(&mut body).await.unwrap();
            }
            let ended = tokio::time::timeout(Duration::from_secs(60), next(&mut body)).await;
            assert_eq!(ended.ok(), given_up.then(|| Err("MESSAGE_LATE".to_owned())));
        }
    }
}
