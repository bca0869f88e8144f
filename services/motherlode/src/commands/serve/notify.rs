//! Sends notifications to systemd, see sd_notify(3). If `NOTIFY_SOCKET` is not set, notifications have no effect.

use sd_notify::NotifyState;
use std::{sync::mpsc::sync_channel, thread};
use tokio::time::{MissedTickBehavior, interval};

pub(super) fn ready(state: &str) {
    send(&[NotifyState::Ready, NotifyState::Status(state)]);
}

pub(super) fn stopping() {
    send(&[NotifyState::Stopping]);
}

/// Sends WATCHDOG=1 twice per `WatchdogSec`, so that systemd restarts the service if the runtime that serves calls
/// hangs. The runtime triggers each message, but a thread sends it, because a service manager that does not read must
/// not block the runtime.
pub(super) async fn watchdog() {
    let Some(limit) = sd_notify::watchdog_enabled().filter(|limit| !limit.is_zero()) else {
        return std::future::pending().await;
    };
    let mut due = interval(limit / 2);
    due.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (beats, due_beats) = sync_channel(1);
    let sender = move || due_beats.iter().for_each(|()| send(&[NotifyState::Watchdog]));
    if let Err(error) = thread::Builder::new().name("watchdog".to_owned()).spawn(sender) {
        tracing::error!(%error, "failed to start the thread that notifies the service manager");
    }
    loop {
        due.tick().await;
        let _ = beats.try_send(());
    }
}

fn send(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!(%error, "failed to notify the service manager");
    }
}
