//! Timestamps of commits (PL-26, PL-30). The log's time never runs backwards. While the system clock is behind the
//! log's time, the log's time runs at half speed. A jump of the clock is logged as CLOCK_SKEW at most once a minute.

use motherlode_runtime::Clock;
use parking_lot::Mutex;
use std::{sync::Arc, time::Instant};

/// Between two checks, the advances of the system clock and the monotonic clock may differ by this time plus 0.1 %.
const APART_MS_MAX: i64 = 1_000;

/// Maximum time for reading both clocks; if reading took longer, the clocks are not compared.
const LOOK_MS_MAX: i64 = 100;

/// For this time after a forward jump of the clock, the jump does not make open rounds count as abandoned.
const DOUBT_MS: i64 = 3_600_000;

const DOUBTED_MS_MIN: i64 = 60_000;

const WARN_EVERY_MS: i64 = 60_000;

pub(crate) fn process_ticks() -> Clock {
    let begun = Instant::now();
    Arc::new(move || i64::try_from(begun.elapsed().as_millis()).unwrap_or(i64::MAX))
}

pub(crate) struct LogTime {
    clock: Clock,
    ticks: Clock,
    at: Mutex<At>,
}

struct At {
    log_ms: i64,
    log_tick: i64,
    look: (i64, i64),
    skew_ms: i64,
    doubt: Option<(i64, i64)>,
    warned: Option<i64>,
}

impl At {
    fn go_on(&mut self, clock: i64, tick: i64) -> i64 {
        let slow = (tick - self.log_tick).max(0) / 2;
        if clock >= self.log_ms.saturating_add(slow) {
            (self.log_ms, self.log_tick) = (clock, tick);
        } else {
            (self.log_ms, self.log_tick) = (self.log_ms.saturating_add(slow), self.log_tick + 2 * slow);
        }
        self.log_ms
    }

    fn look(&mut self, clock: i64, tick: i64) {
        let (before, passed) = (self.look.0, tick - self.look.1);
        self.look = (clock, tick);
        let by_ms = (clock - before) - passed;
        if by_ms.abs() >= APART_MS_MAX + passed.abs() / 1_000 {
            self.found(by_ms, tick);
        }
    }

    fn found(&mut self, by_ms: i64, tick: i64) {
        if by_ms.abs() > self.skew_ms.abs() {
            self.skew_ms = by_ms;
        }
        let doubted = self.doubted(tick).saturating_add(by_ms);
        self.doubt = (doubted >= DOUBTED_MS_MIN).then_some((doubted, tick));
        if self.warned.is_none_or(|warned| tick - warned >= WARN_EVERY_MS) {
            self.warned = Some(tick);
            let log_ahead_ms = self.log_ms.saturating_sub(self.look.0).max(0);
            tracing::warn!(
                reason = "CLOCK_SKEW",
                by_ms,
                log_ahead_ms,
                "the clock was changed or is behind the log's last commit: check the machine's time"
            );
        }
    }

    fn doubted(&self, tick: i64) -> i64 {
        self.doubt.filter(|(_, since)| tick - since < DOUBT_MS).map_or(0, |(by_ms, _)| by_ms)
    }
}

impl LogTime {
    /// `log_ms` is the time of the log's last commit, or `i64::MIN` for an empty log.
    pub(crate) fn new(clock: Clock, ticks: Clock, log_ms: i64) -> Self {
        let (now, tick) = (clock(), ticks());
        let mut at = At { log_ms, log_tick: tick, look: (now, tick), skew_ms: 0, doubt: None, warned: None };
        if log_ms.saturating_sub(now) >= APART_MS_MAX {
            at.found(now - log_ms, tick);
        }
        Self { clock, ticks, at: Mutex::new(at) }
    }

    pub(crate) fn now_ms(&self) -> i64 {
        let (clock, tick) = ((self.clock)(), (self.ticks)());
        self.at.lock().go_on(clock, tick)
    }

    pub(crate) fn stamp(&self) -> i64 {
        let (before, clock, tick) = ((self.ticks)(), (self.clock)(), (self.ticks)());
        let mut at = self.at.lock();
        if tick - before <= LOOK_MS_MAX {
            at.look(clock, tick);
        }
        at.go_on(clock, tick)
    }

    pub(crate) fn observe(&self, log_ms: i64) {
        let tick = (self.ticks)();
        let mut at = self.at.lock();
        if log_ms > at.log_ms {
            (at.log_ms, at.log_tick) = (log_ms, tick);
        }
    }

    pub(crate) fn clock_ms(&self) -> i64 {
        (self.clock)()
    }

    pub(crate) fn ticks_ms(&self) -> i64 {
        (self.ticks)()
    }

    pub(crate) fn patient_ms(&self) -> i64 {
        self.stamp();
        let (clock, tick) = ((self.clock)(), (self.ticks)());
        clock.saturating_sub(self.at.lock().doubted(tick))
    }

    /// Returns a jump of the clock in milliseconds; each jump is returned only once, to be logged. If the clock is
    /// behind the log at startup, this counts as a backward jump.
    pub(crate) fn take_skew(&self) -> Option<i64> {
        self.stamp();
        Some(std::mem::take(&mut self.at.lock().skew_ms)).filter(|by_ms| *by_ms != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicI64, Ordering::SeqCst};

    const DAY: i64 = 86_400_000;

    struct Moved {
        clock: Arc<AtomicI64>,
        ticks: Arc<AtomicI64>,
        time: LogTime,
    }

    impl Moved {
        fn at(clock_ms: i64, log_ms: i64) -> Self {
            let (clock, ticks) = (Arc::new(AtomicI64::new(clock_ms)), Arc::new(AtomicI64::new(5)));
            let (c, t) = (Arc::clone(&clock), Arc::clone(&ticks));
            let time = LogTime::new(Arc::new(move || c.load(SeqCst)), Arc::new(move || t.load(SeqCst)), log_ms);
            Self { clock, ticks, time }
        }

        fn pass(&self, ms: i64) {
            self.clock.fetch_add(ms, SeqCst);
            self.ticks.fetch_add(ms, SeqCst);
        }

        fn set(&self, by_ms: i64) {
            self.clock.fetch_add(by_ms, SeqCst);
        }
    }

    #[test]
    fn uf_07_the_logs_time_is_the_clocks_while_that_goes_on() {
        let moved = Moved::at(10 * DAY, i64::MIN);
        assert_eq!(moved.time.stamp(), 10 * DAY);
        moved.pass(1_234);
        assert_eq!((moved.time.stamp(), moved.time.now_ms()), (10 * DAY + 1_234, 10 * DAY + 1_234));
        moved.pass(3_600_000);
        assert_eq!((moved.time.take_skew(), moved.time.patient_ms()), (None, 10 * DAY + 3_601_234));
    }

    #[test]
    fn uf_07_a_clock_that_was_a_day_ahead_stops_nothing_and_is_caught_up_with() {
        let moved = Moved::at(10 * DAY, i64::MIN);
        moved.set(DAY);
        assert_eq!(moved.time.stamp(), 11 * DAY);
        moved.set(-DAY);
        let mut last = moved.time.stamp();
        assert_eq!(last, 11 * DAY, "log time must never run backwards");
        for _ in 0..2_000 {
            moved.pass(1);
            let now = moved.time.stamp();
            assert!((last..=last + 1).contains(&now));
            last = now;
        }
        assert_eq!(last, 11 * DAY + 1_000, "log time must run at half speed, regardless of how often it is read");
        moved.pass(2 * DAY - 2_002);
        assert!(moved.time.now_ms() > moved.time.clock_ms());
        moved.pass(2);
        assert_eq!(moved.time.now_ms(), 12 * DAY);
        moved.pass(7);
        assert_eq!(
            (moved.time.now_ms(), moved.time.clock_ms()),
            (12 * DAY + 7, 12 * DAY + 7),
            "log time must wait until the clock has caught up"
        );
    }

    #[test]
    fn uf_07_a_clock_that_was_set_is_told_once_in_both_directions() {
        let moved = Moved::at(10 * DAY, i64::MIN);
        for by_ms in [DAY, -DAY, 1_500, -60_000] {
            moved.pass(5_000);
            moved.set(by_ms);
            moved.time.stamp();
            moved.pass(100);
            assert_eq!((moved.time.take_skew(), moved.time.take_skew()), (Some(by_ms), None));
        }
        moved.set(-999);
        assert_eq!(moved.time.take_skew(), None, "a difference of less than a second is tolerated");
        assert_eq!(
            Moved::at(10 * DAY, 10 * DAY + 2_000).time.take_skew(),
            Some(-2_000),
            "the clock is behind the log at startup"
        );
        assert_eq!(Moved::at(10 * DAY, 10 * DAY + 500).time.take_skew(), None);
    }

    #[test]
    fn uf_07_what_cannot_be_taken_back_waits_for_an_hour_when_the_clock_jumps_ahead() {
        let moved = Moved::at(10 * DAY, i64::MIN);
        moved.time.stamp();
        moved.set(DAY);
        assert_eq!((moved.time.now_ms(), moved.time.patient_ms()), (11 * DAY, 10 * DAY));
        moved.pass(1_000);
        assert_eq!(moved.time.patient_ms(), 10 * DAY + 1_000);
        moved.set(-DAY);
        assert_eq!((moved.time.now_ms(), moved.time.patient_ms()), (11 * DAY + 1_000, 10 * DAY + 1_000));
        moved.set(DAY);
        assert_eq!(moved.time.patient_ms(), 10 * DAY + 1_000);
        moved.pass(DOUBT_MS);
        assert_eq!(moved.time.patient_ms(), 11 * DAY + 1_000 + DOUBT_MS);
    }

    #[test]
    fn uf_07_what_another_process_stamps_is_no_later_than_now() {
        let moved = Moved::at(10 * DAY, i64::MIN);
        moved.time.observe(10 * DAY + 400);
        assert_eq!(moved.time.now_ms(), 10 * DAY + 400);
        moved.time.observe(10 * DAY - 400);
        moved.pass(300);
        assert_eq!(moved.time.now_ms(), 10 * DAY + 550);
    }
}
