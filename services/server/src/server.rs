//! When the service is stopped, new calls are refused, streams end, pending calls are answered, a last checkpoint is signed,
//! and the ledgers close.

use crate::{
    error::ServeError,
    health::Readiness,
    metrics::Metrics,
    reload::Reloader,
    tasks::{Kind, Supervisor, Tasks, fatal},
};
use futures_util::future::BoxFuture;
use motherlode_ledger::{Handle, Ledgers, Standing};
use motherlode_proofs::Proofs;
use motherlode_report::{Identity, SelfCheck};
use motherlode_runtime::stop::Stopper;
use motherlode_spin::AbandonedRounds;
use std::{collections::BTreeSet, net::SocketAddr, time::Duration};
use tokio::{sync::watch, task::JoinHandle};

pub struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) readiness: Readiness,
    pub(crate) identity: Identity,
    pub(crate) tiles: Option<SocketAddr>,
    pub(crate) console: Option<SocketAddr>,
    pub(crate) ledgers: Ledgers,
    pub(crate) stopper: Stopper,
    pub(crate) serving: JoinHandle<()>,
    pub(crate) grace: Duration,
    pub(crate) abandoned_rounds: Option<AbandonedRounds>,
    pub(crate) proofs: Option<Proofs>,
    pub(crate) check: Option<SelfCheck>,
    pub(crate) metrics: Option<Metrics>,
    pub(crate) reloader: Reloader,
    pub(crate) tasks: Supervisor,
}

impl Server {
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    #[must_use]
    pub fn tiles_address(&self) -> Option<SocketAddr> {
        self.tiles
    }

    #[must_use]
    pub fn console_address(&self) -> Option<SocketAddr> {
        self.console
    }

    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    #[must_use]
    pub fn reloader(&self) -> Reloader {
        self.reloader.clone()
    }

    #[must_use]
    pub fn ledgers(&self) -> &Ledgers {
        &self.ledgers
    }

    #[must_use]
    pub fn ledger(&self) -> &Handle {
        self.ledgers.home()
    }

    #[must_use]
    pub fn abandoned_rounds(&self) -> Option<&AbandonedRounds> {
        self.abandoned_rounds.as_ref()
    }

    #[must_use]
    pub fn self_check(&self) -> Option<&SelfCheck> {
        self.check.as_ref()
    }

    pub async fn failed(&self) -> Standing {
        self.ledgers.failed().await
    }

    #[must_use]
    pub fn tasks(&self) -> watch::Receiver<Tasks> {
        self.tasks.subscribe()
    }

    #[must_use]
    pub fn task_kinds(&self) -> BTreeSet<Kind> {
        self.tasks.kinds()
    }

    pub fn end_tasks(&self, kind: Kind) -> usize {
        self.tasks.end_tasks(kind)
    }

    pub fn task_failed(&self) -> impl Future<Output = ServeError> + use<> {
        let tasks = self.tasks.subscribe();
        async move {
            let (kind, why) = fatal(tasks).await;
            ServeError::TaskEnded { task: kind.name(), why }
        }
    }

    /// Stops proposals and reads, because another process may be writing the log.
    pub fn step_down(&self, why: &str) {
        self.ledgers.step_down(why);
        if let Some(metrics) = &self.metrics {
            metrics.end();
        }
    }

    pub fn stop(self) -> BoxFuture<'static, Result<(), ServeError>> {
        Box::pin(async move {
            self.stopper.stop();
            let mut serving = self.serving;
            let served = tokio::time::timeout(self.grace, &mut serving).await;
            if served.is_err() {
                tracing::warn!("some response streams did not end before the shutdown deadline and were dropped");
                serving.abort();
            }
            self.tasks.stop().await;
            if let Some(proofs) = &self.proofs {
                proofs.finish().await;
            }
            drop((self.check, self.abandoned_rounds));
            self.ledgers.close().await;
            if let Some(proofs) = &self.proofs {
                proofs.finish().await;
            }
            if let Ok(Err(error)) = served {
                tracing::error!(%error, "the server's task ended with an error");
            }
            Ok(())
        })
    }
}
