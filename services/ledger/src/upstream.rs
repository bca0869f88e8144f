//! Where a replica's log is written, as its handle knows it.

use crate::{shared::Shared, standing::Standing};
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
        let mut standings = shared.standings.subscribe();
        let reached = async {
            tokio::select! {
                reached = reached => Ok(reached),
                // The sender is the shared state's own.
                Ok(standing) = standings.wait_for(|standing| matches!(standing, Standing::Unconfirmed(_))) => {
                    Err(standing.clone())
                }
            }
        };
        let wait = shared.answer_wait_max.unwrap_or(CURRENT_WAIT_MAX);
        let reached = match tokio::time::timeout(wait, reached).await {
            Ok(Err(Standing::Unconfirmed(why))) => return Err(not_current(why)),
            Ok(reached) => Ok(reached.ok().flatten()),
            Err(late) => Err(late),
        };
        match reached {
            Ok(Some(())) => Ok(()),
            Ok(None) => Err(not_current("the ledger is closing")),
            Err(_) => Err(not_current("no process that writes the log has answered in time")),
        }
    }
}

/// Refusal of a process that cannot determine whether its state is current. The call had no effect.
pub(crate) fn not_current(why: impl Into<String>) -> Refusal {
    Refusal::new(Reason::NotCurrent, why)
}
