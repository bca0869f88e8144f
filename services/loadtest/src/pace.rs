//! Due times of rounds. Latencies are measured from these times. In a closed loop, a round is due when a player is
//! free; at a constant rate, it is due on schedule.

use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};
use tokio::sync::Semaphore;

#[derive(Debug, Clone, Copy)]
pub struct Pace {
    rate: Option<f64>,
}

impl Pace {
    #[must_use]
    pub fn new(rate: Option<f64>) -> Self {
        Self { rate }
    }

    /// Returns the due time of the round with the 0-based number `round`, as a duration since the start; `None` in a
    /// closed loop.
    #[must_use]
    pub fn due(&self, round: u64) -> Option<Duration> {
        #[allow(clippy::cast_precision_loss, reason = "exact below 2^53 rounds")]
        self.rate.map(|rate| Duration::try_from_secs_f64(round as f64 / rate).unwrap_or(Duration::MAX))
    }

    #[must_use]
    pub fn release(self, start: Instant, rounds: u64) -> Arc<Semaphore> {
        let permits = Arc::new(Semaphore::new(0));
        let released = Arc::clone(&permits);
        thread::spawn(move || {
            const NAP_MAX: Duration = Duration::from_millis(50);
            let mut next = 0;
            while next < rounds && !released.is_closed() {
                let now = start.elapsed();
                let due_now = (next..rounds).take_while(|round| self.due(*round).is_none_or(|due| due <= now)).count();
                released.add_permits(due_now);
                next += due_now as u64;
                thread::sleep(self.due(next).unwrap_or_default().saturating_sub(start.elapsed()).min(NAP_MAX));
            }
        });
        permits
    }
}

pub(crate) fn timed_from(due: Option<Duration>, sent: Duration) -> Duration {
    due.unwrap_or(sent)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    fn latencies(pace: Pace, service: &[Duration]) -> Vec<Duration> {
        let mut now = Duration::ZERO;
        let mut latencies = vec![];
        for (round, service) in service.iter().enumerate() {
            let round = round as u64;
            now = now.max(pace.due(round).unwrap_or(now));
            let from = timed_from(pace.due(round), now);
            now += *service;
            latencies.push(now - from);
        }
        latencies
    }

    #[test]
    fn at_a_constant_rate_a_stall_counts_for_every_round_that_was_due_in_it() {
        let service = [1, 1, 35, 1, 1, 1, 1].map(ms);
        assert_eq!(latencies(Pace::new(Some(100.0)), &service), [1, 1, 35, 26, 17, 8, 1].map(ms));
    }

    #[test]
    fn a_closed_loop_times_what_was_sent() {
        let service = [1, 35, 1, 1].map(ms);
        assert_eq!(latencies(Pace::new(None), &service), service);
    }

    #[test]
    fn rounds_are_due_evenly() {
        let pace = Pace::new(Some(250.0));
        assert_eq!([0, 1, 250].map(|round| pace.due(round).unwrap()), [0, 4, 1000].map(ms));
        assert_eq!(Pace::new(None).due(7), None);
    }

    #[tokio::test]
    async fn all_rounds_are_released_and_none_before_it_is_due() {
        let start = Instant::now();
        let pace = Pace::new(Some(2_000.0));
        let permits = pace.release(start, 20);
        for round in 0..20 {
            permits.acquire().await.unwrap().forget();
            assert!(start.elapsed() >= pace.due(round).unwrap());
        }
        assert_eq!(permits.available_permits(), 0);
    }
}
