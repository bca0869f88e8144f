//! Time since this process was last confirmed as the only writer. On Linux this time includes suspension
//! (`CLOCK_BOOTTIME`), during which another process may take over.

use parking_lot::Mutex;
use std::time::Duration;

#[derive(Debug, Default)]
pub struct Authority(Mutex<Option<Duration>>);

impl Authority {
    /// Records a confirmation at the time `at`; has no effect if a later one is already recorded.
    pub fn confirm(&self, at: Duration) {
        let mut latest = self.0.lock();
        *latest = (*latest).max(Some(at));
    }

    /// Time since the latest confirmation; zero before the first confirmation.
    #[must_use]
    pub fn age(&self) -> Duration {
        (*self.0.lock()).map_or(Duration::ZERO, |latest| uptime().saturating_sub(latest))
    }
}

#[must_use]
pub fn uptime() -> Duration {
    #[cfg(target_os = "linux")]
    let clock = rustix::time::ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    let clock = rustix::time::ClockId::Monotonic;
    let now = rustix::time::clock_gettime(clock);
    let nanos = u32::try_from(now.tv_nsec).unwrap_or_default();
    Duration::new(u64::try_from(now.tv_sec).unwrap_or_default(), nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_a2_an_authority_is_as_old_as_its_latest_confirmation() {
        let authority = Authority::default();
        assert_eq!(authority.age(), Duration::ZERO, "no confirmation has been recorded");
        let minute = Duration::from_secs(60);
        let before = uptime().saturating_sub(minute);
        authority.confirm(before);
        authority.confirm(before.saturating_sub(minute));
        let age = authority.age();
        assert!(age >= uptime().saturating_sub(before).min(minute) && age < 2 * minute, "{age:?}");
        authority.confirm(uptime() + minute);
        assert_eq!(authority.age(), Duration::ZERO);
    }
}
