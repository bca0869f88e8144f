//! Stopping: the signal from outside, and its notice inside.
//!
//! A SIGTERM from an orchestrator or a Ctrl-C from a person asks for a stop. [`Stop`] tells tasks that would go on for
//! ever, streams above all, to end; calls under way are answered.

use std::future::Future;
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::watch,
};

/// Gives the notice; dropping it gives it too.
#[derive(Debug)]
pub struct Stopper(watch::Sender<bool>);

/// Receives the notice; every clone does.
#[derive(Debug, Clone)]
pub struct Stop(watch::Receiver<bool>);

/// Makes a pair of a notice and its receiver.
#[must_use]
pub fn channel() -> (Stopper, Stop) {
    let (sender, receiver) = watch::channel(false);
    (Stopper(sender), Stop(receiver))
}

impl Stopper {
    /// Gives the notice.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

impl Stop {
    /// Whether the stop was asked for.
    #[must_use]
    pub fn is_requested(&self) -> bool {
        *self.0.borrow() || self.0.has_changed().is_err()
    }

    /// Waits for the notice.
    pub async fn requested(mut self) {
        // An error means that the stopper is gone, which is the notice too.
        let _ = self.0.wait_for(|stop| *stop).await;
    }
}

/// Waits for SIGTERM or SIGINT.
///
/// # Errors
/// When the handlers cannot be installed, which happens before anything is served.
pub fn signalled() -> std::io::Result<impl Future<Output = &'static str> + Send> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => "SIGTERM",
            _ = interrupt.recv() => "SIGINT",
        }
    })
}
