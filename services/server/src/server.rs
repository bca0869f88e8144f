//! A running service, and how it stops: no new calls, streams end, calls under way are answered, a last checkpoint is
//! signed, the ledgers close behind them. What was acknowledged is durable whether or not there is time for all that.

use crate::{
    error::ServeError,
    metrics::Metrics,
    tasks::{Kind, Supervisor, Tasks, fatal},
};
use futures_util::future::BoxFuture;
use motherlode_ledger::{Handle, Ledgers, Standing};
use motherlode_proofs::Proofs;
use motherlode_report::{Identity, SelfCheck};
use motherlode_runtime::stop::Stopper;
use motherlode_spin::Sweeper;
use std::{collections::BTreeSet, net::SocketAddr, time::Duration};
use tokio::{sync::watch, task::JoinHandle};

/// A running service.
pub struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) identity: Identity,
    pub(crate) tiles: Option<SocketAddr>,
    pub(crate) console: Option<SocketAddr>,
    pub(crate) ledgers: Ledgers,
    pub(crate) stopper: Stopper,
    pub(crate) serving: JoinHandle<()>,
    /// How long calls under way have when it stops.
    pub(crate) grace: Duration,
    pub(crate) sweeper: Option<Sweeper>,
    pub(crate) proofs: Option<Proofs>,
    pub(crate) check: Option<SelfCheck>,
    pub(crate) metrics: Option<Metrics>,
    pub(crate) tasks: Supervisor,
}

impl Server {
    /// The address that it listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address at which checkpoints and tiles are served as files, if they are.
    #[must_use]
    pub fn tiles_address(&self) -> Option<SocketAddr> {
        self.tiles
    }

    /// The address of the console, if there is one.
    #[must_use]
    pub fn console_address(&self) -> Option<SocketAddr> {
        self.console
    }

    /// The version, digests and models by which the program proves what it is (PL-29).
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The ledgers behind it.
    #[must_use]
    pub fn ledgers(&self) -> &Ledgers {
        &self.ledgers
    }

    /// The home partition's ledger.
    #[must_use]
    pub fn ledger(&self) -> &Handle {
        self.ledgers.home()
    }

    /// The sweeper of a process that spins; it sweeps by itself as often as configured.
    #[must_use]
    pub fn sweeper(&self) -> Option<&Sweeper> {
        self.sweeper.as_ref()
    }

    /// The self-check of a process with reports; it runs by itself every 24 hours.
    #[must_use]
    pub fn self_check(&self) -> Option<&SelfCheck> {
        self.check.as_ref()
    }

    /// Waits until a ledger takes no more proposals, and says why.
    pub async fn failed(&self) -> Standing {
        self.ledgers.failed().await
    }

    /// The state of the background tasks, and a way to wait for a change of it.
    #[must_use]
    pub fn tasks(&self) -> watch::Receiver<Tasks> {
        self.tasks.subscribe()
    }

    /// The kinds of the background tasks of this process.
    #[must_use]
    pub fn task_kinds(&self) -> BTreeSet<Kind> {
        self.tasks.kinds()
    }

    /// Ends the background tasks of a kind as a fault would, for tests; answers how many there were. No call and no signal leads here.
    pub fn end_tasks(&self, kind: Kind) -> usize {
        self.tasks.end_tasks(kind)
    }

    /// Waits until a background task of money or of the log has ended.
    pub fn task_failed(&self) -> impl Future<Output = ServeError> + use<> {
        let tasks = self.tasks.subscribe();
        async move {
            let (kind, why) = fatal(tasks).await;
            ServeError::TaskEnded { task: kind.name(), why }
        }
    }

    /// Takes no more proposals and answers no more reads, since another process may write the log by now, and exports no
    /// metrics of what is old from then on.
    pub fn step_down(&self, why: &str) {
        self.ledgers.step_down(why);
        if let Some(metrics) = &self.metrics {
            metrics.end();
        }
    }

    /// Stops in order.
    ///
    /// # Errors
    /// None as yet.
    pub fn stop(self) -> BoxFuture<'static, Result<(), ServeError>> {
        Box::pin(async move {
            self.stopper.stop();
            let mut serving = self.serving;
            let served = tokio::time::timeout(self.grace, &mut serving).await;
            if served.is_err() {
                tracing::warn!("some streams were not ended by their readers");
                serving.abort();
            }
            // The tasks must release the ledger before it is closed.
            self.tasks.stop().await;
            if let Some(proofs) = &self.proofs {
                proofs.finish().await;
            }
            drop((self.check, self.sweeper));
            self.ledgers.close().await;
            // What was under way when the last tasks ended is in the log by now, which can still be read.
            if let Some(proofs) = &self.proofs {
                proofs.finish().await;
            }
            if let Ok(Err(error)) = served {
                tracing::error!(%error, "the server's task ended");
            }
            Ok(())
        })
    }
}
