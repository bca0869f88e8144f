//! How lately a store's writer was known to be its only one.
//!
//! A store that other machines can write too confirms its writer again and again. A process that was stopped, or a machine that was
//! suspended, misses these confirmations without noticing it, and another process may write the log meanwhile. Therefore the age
//! of the latest confirmation is measured by a clock that includes time in suspension (`CLOCK_BOOTTIME` on Linux).

use parking_lot::Mutex;
use std::time::Duration;

/// The latest confirmation that a writer is the only one.
#[derive(Debug, Default)]
pub struct Authority(Mutex<Option<Duration>>);

impl Authority {
    /// Confirms that the writer was the only one at a time by [`uptime`]. An earlier time changes nothing.
    pub fn confirm(&self, at: Duration) {
        let mut latest = self.0.lock();
        *latest = (*latest).max(Some(at));
    }

    /// Time since the latest confirmation; zero before the first one, as in a store without confirmations.
    #[must_use]
    pub fn age(&self) -> Duration {
        (*self.0.lock()).map_or(Duration::ZERO, |latest| uptime().saturating_sub(latest))
    }
}

/// Time since the system started, suspended time included.
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
        assert_eq!(authority.age(), Duration::ZERO, "nobody confirms it");
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
