//! Ends a response when its caller's credential expires or is removed.

use super::caller::Identity;
use crate::clock::Clock;
use http::HeaderMap;
use http_body::{Body as _, Frame, SizeHint};
use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::time::timeout;
use tonic::{Status, body::Body};

/// Maximum time between checks of the expiry. A single long timer would miss changes of the system clock.
const LOOK_EVERY: Duration = Duration::from_secs(60);

pub(super) struct Expiring {
    body: Option<Body>,
    identity: Arc<Identity>,
    clock: Clock,
    wait: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl Expiring {
    pub(super) fn body(body: Body, identity: Arc<Identity>, clock: Clock) -> Body {
        if body.is_end_stream() {
            return body;
        }
        Body::new(Self { body: Some(body), identity, clock, wait: None })
    }

    fn expired(&self) -> Option<HeaderMap> {
        let refusal = self.identity.expired((self.clock)())?;
        let mut trailers = HeaderMap::new();
        let _ = Status::from(refusal).add_header(&mut trailers);
        Some(trailers)
    }

    fn left(&self) -> Duration {
        let left_ms = self.identity.expires_ms.unwrap_or(i64::MAX).saturating_sub((self.clock)());
        Duration::from_millis(left_ms.try_into().unwrap_or(0)).min(LOOK_EVERY)
    }
}

impl http_body::Body for Expiring {
    type Data = <Body as http_body::Body>::Data;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Status>>> {
        loop {
            if let Some(trailers) = self.expired() {
                return Poll::Ready(self.body.take().map(|_| Ok(Frame::trailers(trailers))));
            }
            let Some(body) = &mut self.body else { return Poll::Ready(None) };
            if let Poll::Ready(frame) = Pin::new(body).poll_frame(context) {
                return Poll::Ready(frame);
            }
            let (left, mut removed) = (self.left(), self.identity.removed.subscribe());
            let wait = self.wait.get_or_insert_with(|| {
                Box::pin(async move {
                    let _ = timeout(left, removed.wait_for(|removed| *removed)).await;
                })
            });
            ready!(wait.as_mut().poll(context));
            self.wait = None;
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}
