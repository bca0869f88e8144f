use crate::{reason::Reason, refusal::Refusal};
use parking_lot::Mutex;
use std::time::Duration;

/// A call takes 1,000 tokens, so a rate of n calls per second adds n tokens per millisecond.
#[derive(Debug)]
pub(super) struct Bucket {
    per_second: u32,
    full: u64,
    level: Mutex<Level>,
}

#[derive(Debug, Clone, Copy)]
struct Level {
    left: u64,
    at_ms: Option<i64>,
}

const CALL: u64 = 1000;

impl Bucket {
    pub(super) fn new(per_second: u32, burst: u32) -> Self {
        let full = u64::from(burst) * CALL;
        Self { per_second, full, level: Mutex::new(Level { left: full, at_ms: None }) }
    }

    pub(super) fn take(&self, now_ms: i64) -> Result<(), Refusal> {
        let rate = u64::from(self.per_second);
        let mut level = self.level.lock();
        let passed_ms = level.at_ms.map_or(0, |at_ms| u64::try_from(now_ms.saturating_sub(at_ms)).unwrap_or(0));
        let left = level.left.saturating_add(passed_ms.saturating_mul(rate)).min(self.full);
        *level = Level { left: left.saturating_sub(if left < CALL { 0 } else { CALL }), at_ms: Some(now_ms) };
        if left >= CALL {
            return Ok(());
        }
        let wait = Duration::from_millis((CALL - left).div_ceil(rate));
        Err(Refusal::new(Reason::RateLimited, "the operator exceeds its limit of calls per second")
            .with("calls_per_second_max", self.per_second)
            .retry_after(wait))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tonic::Status;
    use tonic_types::StatusExt;

    fn taken(bucket: &Bucket, now_ms: i64) -> u128 {
        bucket.take(now_ms).map_or_else(
            |refusal| {
                assert_eq!(refusal.reason(), Reason::RateLimited);
                let details = Status::from(refusal).get_error_details().retry_info().cloned();
                details.and_then(|info| info.retry_delay).unwrap_or_default().as_millis()
            },
            |()| 0,
        )
    }

    #[test]
    fn pl_27_a_burst_is_taken_and_then_as_many_calls_as_the_rate_allows() {
        let bucket = Bucket::new(4, 2);
        let now = 1_000_000;
        assert_eq!([taken(&bucket, now), taken(&bucket, now), taken(&bucket, now)], [0, 0, 250]);
        assert_eq!(taken(&bucket, now + 249), 1);
        assert_eq!([taken(&bucket, now + 250), taken(&bucket, now + 250)], [0, 250]);
        let later = now + 1_000_000;
        assert_eq!([taken(&bucket, later), taken(&bucket, later), taken(&bucket, later)], [0, 0, 250]);
        assert_eq!([taken(&bucket, now), taken(&bucket, now + 250)], [250, 0]);
    }

    #[test]
    fn over_time_the_calls_are_the_rate() {
        let bucket = Bucket::new(7, 2);
        let calls = (0..100_000).filter(|ms| bucket.take(*ms).is_ok()).count();
        assert!((701..=702).contains(&calls), "{calls}");
    }
}
