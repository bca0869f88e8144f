//! Deadlines: a call beyond its `grpc-timeout` is refused with DEADLINE_EXCEEDED and details.
//!
//! The transport would answer CANCELLED, so this layer's timer starts first. Streams are limited until their first
//! answer.

use http::{HeaderMap, Request, Response};
use motherlode_runtime::{
    Reason, Refusal,
    until::{time_is_up, within},
};
use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::Instant;
use tonic::{Status, body::Body};
use tower::{Layer, Service};

#[derive(Debug, Clone, Copy)]
pub struct Deadline;

#[derive(Debug, Clone)]
pub struct Timed<S>(S);

impl<S> Layer<S> for Deadline {
    type Service = Timed<S>;

    fn layer(&self, inner: S) -> Timed<S> {
        Timed(inner)
    }
}

impl<S, B> Service<Request<B>> for Timed<S>
where
    S: Service<Request<B>, Response = Response<Body>>,
    S::Future: Send + 'static,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let until = match until(request.headers()) {
            Ok(until) => until,
            Err(refusal) => return Box::pin(async { Ok(Status::from(refusal).into_http()) }),
        };
        let out_of_time = until.map(tokio::time::sleep_until);
        let answer = self.0.call(request);
        Box::pin(async move {
            let Some(out_of_time) = out_of_time else { return answer.await };
            let until = out_of_time.deadline();
            tokio::select! {
                biased;
                answer = within(until, answer) => answer,
                () = out_of_time => Ok(Status::from(time_is_up()).into_http()),
            }
        })
    }
}

/// Resolution of the timer.
const SHORTEST: Duration = Duration::from_millis(1);

/// Refuses a timeout below [`SHORTEST`].
pub(crate) fn until(headers: &HeaderMap) -> Result<Option<Instant>, Refusal> {
    match asked(headers)? {
        Some(time) if time < SHORTEST => Err(Refusal::new(
            Reason::DeadlineExceeded,
            "the deadline had passed when the call arrived; it had no effect",
        )),
        // An overflow means no deadline.
        time => Ok(time.and_then(|time| Instant::now().checked_add(time))),
    }
}

/// A repeated header is malformed.
fn asked(headers: &HeaderMap) -> Result<Option<Duration>, Refusal> {
    let mut values = headers.get_all("grpc-timeout").iter();
    let Some(value) = values.next() else { return Ok(None) };
    let timeout = value.to_str().ok().and_then(timeout).filter(|_| values.next().is_none());
    timeout.map(Some).ok_or_else(|| {
        let message = "the header grpc-timeout must be given once, as 1 to 8 digits and a unit of H, M, S, m, u, n";
        Refusal::new(Reason::TimeoutMalformed, message)
    })
}

fn timeout(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let plain = (1..=8).contains(&digits.len()) && digits.bytes().all(|digit| digit.is_ascii_digit());
    let count: u32 = if plain { digits.parse().ok()? } else { return None };
    let one = match unit {
        "H" => Duration::from_secs(3600),
        "M" => Duration::from_secs(60),
        "S" => Duration::from_secs(1),
        "m" => Duration::from_millis(1),
        "u" => Duration::from_micros(1),
        "n" => Duration::from_nanos(1),
        _ => return None,
    };
    one.checked_mul(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mf_c6_a_malformed_timeout_is_refused() {
        let read = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("grpc-timeout", text.parse().unwrap());
            asked(&headers).map_err(|refusal| refusal.reason())
        };
        assert_eq!(read("250m"), Ok(Some(Duration::from_millis(250))));
        assert_eq!(read("3S"), Ok(Some(Duration::from_secs(3))));
        assert_eq!(read("99999999H"), Ok(Some(Duration::from_secs(99_999_999 * 3600))));
        for malformed in ["", "S", "1", "-1S", "+1S", "é", "1é", "1s", "123456789S", "1.5S"] {
            assert_eq!(read(malformed), Err(Reason::TimeoutMalformed), "{malformed:?}");
        }
        assert!(matches!(asked(&HeaderMap::new()), Ok(None)));
        let mut twice = HeaderMap::new();
        twice.append("grpc-timeout", "3S".parse().unwrap());
        twice.append("grpc-timeout", "4S".parse().unwrap());
        assert!(asked(&twice).is_err());
    }
}
