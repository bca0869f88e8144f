use crate::{core::LedgerCore, standing::Standing};
use motherlode_log::Position;
use motherlode_runtime::{Reason, Refusal};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

const CURRENT_WAIT_MAX: Duration = Duration::from_secs(10);

pub(crate) type Asking = oneshot::Sender<Position>;

#[derive(Clone)]
pub(crate) struct Upstream(mpsc::UnboundedSender<Asking>);

impl Upstream {
    pub(crate) fn new(asking: mpsc::UnboundedSender<Asking>) -> Self {
        Self(asking)
    }

    pub(crate) async fn current(&self, shared: &LedgerCore) -> Result<(), Refusal> {
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
            Ok(None) => Err(not_current("the ledger is shutting down: retry with another process")),
            Err(_) => Err(not_current("the writer of the log has not answered in time: retry")),
        }
    }
}

pub(crate) fn not_current(why: impl Into<String>) -> Refusal {
    Refusal::new(Reason::NotCurrent, why)
}
