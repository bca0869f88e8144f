use motherlode_loadtest::Pace;
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::sync::Semaphore;

pub struct Starts {
    pub start: Instant,
    time: Duration,
    pace: Pace,
    calls: u64,
    next: AtomicU64,
    permits: Arc<Semaphore>,
}

impl Starts {
    pub fn new(time: Duration, rate: Option<f64>) -> Arc<Self> {
        let (start, pace) = (Instant::now(), Pace::new(rate));
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of calls")]
        let calls = rate.map_or(0, |rate| (rate * time.as_secs_f64()) as u64);
        Arc::new(Self { start, time, pace, calls, next: AtomicU64::new(0), permits: pace.release(start, calls) })
    }

    pub async fn next(&self) -> Option<Instant> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        match self.pace.due(number) {
            None => (self.start.elapsed() < self.time).then(Instant::now),
            Some(_) if number >= self.calls => None,
            Some(due) => {
                self.permits.acquire().await.ok()?.forget();
                Some(self.start + due)
            }
        }
    }
}
