//! The circuit breaker of a wallet: after some calls in a row without an answer it's left alone for a while, then tried by one.

/// Calls in a row without an answer after which the wallet is left alone.
const FAILURES_MAX: u32 = 5;

/// How long it's left alone at first, milliseconds, and at the longest.
const REST_MS: (u64, u64) = (100, 10_000);

/// Whether a wallet is asked at all. Its clock is an argument: milliseconds of any start, that never run back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Breaker {
    failures: u32,
    closed_until_ms: u64,
}

impl Breaker {
    /// Whether a call may be made now. While the wallet is left alone, one call at the end of each rest may.
    pub fn allows(&mut self, now_ms: u64) -> bool {
        if self.failures < FAILURES_MAX {
            return true;
        }
        let is_probe = now_ms >= self.closed_until_ms;
        if is_probe {
            self.closed_until_ms = now_ms.saturating_add(self.rest_ms());
        }
        is_probe
    }

    /// How long it's left alone from now on, milliseconds; 0 while calls may be made.
    #[must_use]
    pub fn left_ms(&self, now_ms: u64) -> u64 {
        if self.failures < FAILURES_MAX { 0 } else { self.closed_until_ms.saturating_sub(now_ms) }
    }

    /// The wallet has answered, whatever it said.
    pub fn answered(&mut self) {
        *self = Self::default();
    }

    /// It has not.
    pub fn failed(&mut self, now_ms: u64) {
        self.failures = self.failures.saturating_add(1);
        self.closed_until_ms = now_ms.saturating_add(self.rest_ms());
    }

    fn rest_ms(&self) -> u64 {
        let (first, longest) = REST_MS;
        let doubled = self.failures.saturating_sub(FAILURES_MAX).min(16);
        (first << doubled).min(longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pl_31_a_wallet_that_does_not_answer_is_left_alone_for_longer_and_longer_and_tried_by_one_call() {
        let mut breaker = Breaker::default();
        for _ in 1..FAILURES_MAX {
            breaker.failed(1_000);
            assert!(breaker.allows(1_000), "a few failures are no outage");
        }
        breaker.failed(1_000);
        assert!(!breaker.allows(1_099));
        assert_eq!(breaker.left_ms(1_040), 60);
        assert!(breaker.allows(1_100), "one tries");
        assert!(!breaker.allows(1_100), "and no other");
        let mut rests = vec![];
        for _ in 0..10 {
            breaker.failed(5_000);
            rests.push(breaker.left_ms(5_000));
        }
        assert_eq!(rests, [200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000, 10_000, 10_000]);
        breaker.answered();
        assert!(breaker.allows(5_000) && breaker.allows(5_000));
        assert_eq!(breaker.left_ms(5_000), 0);
    }
}
