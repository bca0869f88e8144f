//! [`Stop`] ends long-lived tasks, such as streams, at SIGTERM or Ctrl-C; calls in progress are still answered.

use std::future::Future;
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::watch,
};

/// Requests the stop when [`Stopper::stop`] is called or the value is dropped.
#[derive(Debug)]
pub struct Stopper(watch::Sender<bool>);

#[derive(Debug, Clone)]
pub struct Stop(watch::Receiver<bool>);

#[must_use]
pub fn channel() -> (Stopper, Stop) {
    let (sender, receiver) = watch::channel(false);
    (Stopper(sender), Stop(receiver))
}

impl Stopper {
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

impl Stop {
    #[must_use]
    pub fn is_requested(&self) -> bool {
        *self.0.borrow() || self.0.has_changed().is_err()
    }

    pub async fn requested(mut self) {
        let _ = self.0.wait_for(|stop| *stop).await;
    }
}

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
