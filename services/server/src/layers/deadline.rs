//! Deadlines: a call that exceeds its `grpc-timeout` is refused with DEADLINE_EXCEEDED and details.
//!
//! This layer's timer expires before the timer of the transport, which would answer CANCELLED. For a stream, the timeout
//! limits only the time to the first answer.

use http::HeaderMap;
use motherlode_runtime::{Reason, Refusal};
use std::time::Duration;
use tokio::time::Instant;

const SHORTEST: Duration = Duration::from_millis(1);

pub(crate) fn until(headers: &HeaderMap) -> Result<Option<Instant>, Refusal> {
    match asked(headers)? {
        Some(time) if time < SHORTEST => Err(Refusal::new(
            Reason::DeadlineExceeded,
            "the deadline had passed when the call arrived; the call had no effect",
        )),
        time => Ok(time.and_then(|time| Instant::now().checked_add(time))),
    }
}

/// Parses `grpc-timeout`; a repeated header counts as malformed.
fn asked(headers: &HeaderMap) -> Result<Option<Duration>, Refusal> {
    let mut values = headers.get_all("grpc-timeout").iter();
    let Some(value) = values.next() else { return Ok(None) };
    let timeout = value.to_str().ok().and_then(timeout).filter(|_| values.next().is_none());
    timeout.map(Some).ok_or_else(|| {
        let message = "the header grpc-timeout must occur once, as a number above 0 of 1 to 8 digits and one of the units H, M, S, m, u, n";
        Refusal::new(Reason::TimeoutMalformed, message)
    })
}

fn timeout(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let plain = (1..=8).contains(&digits.len()) && digits.bytes().all(|digit| digit.is_ascii_digit());
    let count = digits.parse::<u32>().ok().filter(|count| plain && *count > 0)?;
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
        for malformed in ["", "S", "1", "-1S", "+1S", "é", "1é", "1s", "123456789S", "1.5S", "0S", "00000000n"] {
            assert_eq!(read(malformed), Err(Reason::TimeoutMalformed), "{malformed:?}");
        }
        assert!(matches!(asked(&HeaderMap::new()), Ok(None)));
        let mut twice = HeaderMap::new();
        twice.append("grpc-timeout", "3S".parse().unwrap());
        twice.append("grpc-timeout", "4S".parse().unwrap());
        assert!(asked(&twice).is_err());
    }
}
