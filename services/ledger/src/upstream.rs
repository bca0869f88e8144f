//! Where a replica's log is written, as its handle knows it.

use crate::shared::Shared;
use motherlode_log::Position;
use motherlode_runtime::{Reason, Refusal};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// How long reads wait to be current, where answers wait for as long as it takes.
const CURRENT_WAIT_MAX: Duration = Duration::from_secs(10);

/// One who waits to know where the log ends.
pub(crate) type Asking = oneshot::Sender<Position>;

/// Where a replica's log is written.
#[derive(Clone)]
pub(crate) struct Upstream(mpsc::UnboundedSender<Asking>);

impl Upstream {
    pub(crate) fn new(asking: mpsc::UnboundedSender<Asking>) -> Self {
        Self(asking)
    }

    /// Waits until the replica holds all that is durable now.
    pub(crate) async fn current(&self, shared: &Shared) -> Result<(), Refusal> {
        let reached = async {
            let (asking, end) = oneshot::channel();
            self.0.send(asking).ok()?;
            let end = end.await.ok()?;
            let mut head = shared.head.subscribe();
            head.wait_for(|held| held.position >= end).await.ok().map(drop)
        };
        let wait = shared.answer_wait_max.unwrap_or(CURRENT_WAIT_MAX);
        match tokio::time::timeout(wait, reached).await {
            Ok(Some(())) => Ok(()),
            Ok(None) => Err(not_current("the ledger is closing")),
            Err(_) => Err(not_current("no process that writes the log has answered in time")),
        }
    }
}

/// The refusal of a replica that can't know whether what it holds is still true.
pub(crate) fn not_current(why: impl Into<String>) -> Refusal {
    Refusal::new(Reason::NotCurrent, why)
}
