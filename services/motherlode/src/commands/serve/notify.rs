//! Sends notifications to systemd, see sd_notify(3). If `NOTIFY_SOCKET` is not set, they have no effect.

use sd_notify::NotifyState;
use tokio::time::{MissedTickBehavior, interval};

pub(super) fn ready(state: &str) {
    send(&[NotifyState::Ready, NotifyState::Status(state)]);
}

pub(super) fn stopping() {
    send(&[NotifyState::Stopping]);
}

/// Sends WATCHDOG=1 twice per `WatchdogSec` from the runtime that serves calls, so that systemd restarts the service if this
/// runtime hangs. Never ends.
pub(super) async fn watchdog() {
    let Some(limit) = sd_notify::watchdog_enabled().filter(|limit| !limit.is_zero()) else {
        return std::future::pending().await;
    };
    let mut due = interval(limit / 2);
    due.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        due.tick().await;
        send(&[NotifyState::Watchdog]);
    }
}

fn send(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!(%error, "failed to notify the service manager");
    }
}
