//! The health of the process and of each service: whether it can do its work.
//!
//! * While the log of a partition cannot be written, or is damaged, no bet and no payment gets through: the process and the services
//!   that write report NOT_SERVING; read-only services keep serving.
//! * While it is unknown whether the state here is current, no call gets through, and all report NOT_SERVING: the ledger behind a
//!   process that spins, or the store that confirms a writer, is silent.
//! * While a background task has ended and was not started again, the process reports NOT_SERVING, and so does the service that the
//!   task works for.
//!
//! All report SERVING again afterwards.

use crate::tasks::{Kind, Tasks};
use futures_util::future::select_all;
use motherlode_ledger::{Ledgers, Standing};
use motherlode_proto::{ledger::v1::ledger_service_server as ledger, spin::v1::spin_service_server as spin};
use motherlode_runtime::Stop;
use tokio::sync::watch;
use tonic_health::{ServingStatus, server::HealthReporter};

/// Services that need the log to be written; "" is the process.
const WRITE: [&str; 3] = ["", spin::SERVICE_NAME, ledger::SERVICE_NAME];

/// The calls that get through, from none to all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Works {
    Nothing,
    Reads,
    All,
}

impl Works {
    fn of(standing: &Standing) -> Self {
        match standing {
            Standing::Takes => Self::All,
            Standing::Stalled(_) | Standing::Failed(_) | Standing::Damaged(_) => Self::Reads,
            Standing::Unconfirmed(_) | Standing::Fenced(_) => Self::Nothing,
        }
    }
}

/// Tells the health of services until the stop, when none is served any more.
pub(crate) async fn report(
    reporter: HealthReporter,
    served: Vec<&'static str>,
    ledgers: Ledgers,
    mut tasks: watch::Receiver<Tasks>,
    stop: Stop,
) {
    let mut standings: Vec<_> = ledgers.all().map(motherlode_ledger::Handle::standing).collect();
    drop(ledgers);
    let mut told = None;
    loop {
        let works = standings.iter_mut().map(|standing| Works::of(&standing.borrow_and_update())).min();
        let works = works.unwrap_or(Works::All);
        let down = tasks.borrow_and_update().down.clone();
        let now = (works, down);
        if told.as_ref() != Some(&now) {
            let (works, down) = &now;
            for service in served.iter().copied() {
                let is_down = |kind: &Kind| service.is_empty() || kind.service() == Some(service);
                let status = match works {
                    _ if down.iter().any(is_down) => ServingStatus::NotServing,
                    Works::All => ServingStatus::Serving,
                    Works::Reads if !WRITE.contains(&service) => ServingStatus::Serving,
                    Works::Reads | Works::Nothing => ServingStatus::NotServing,
                };
                reporter.set_service_status(service, status).await;
            }
            match works {
                Works::Nothing => {
                    tracing::error!("health: NOT_SERVING while it is unknown whether the state is current")
                }
                Works::Reads => {
                    tracing::error!("health: NOT_SERVING while the log cannot be written; reads are answered");
                }
                Works::All if told.is_some() => tracing::info!("health: SERVING again"),
                Works::All => {}
            }
            told = Some(now);
        }
        let changes = standings.iter_mut().map(|standing| Box::pin(standing.changed()));
        let over = tokio::select! {
            () = stop.clone().requested() => true,
            (changed, ..) = select_all(changes) => changed.is_err(),
            changed = tasks.changed() => changed.is_err(),
        };
        if over {
            break;
        }
    }
    stop.requested().await;
    for service in served.iter().copied() {
        reporter.set_service_status(service, ServingStatus::NotServing).await;
    }
    // Those who watch get the news and then the end of their stream, which else would never come.
    for service in served {
        let mut reporter = reporter.clone();
        reporter.clear_service_status(service).await;
    }
}
