//! The health of the process and of each service: whether it can do its work.
//!
//! While the log of a partition cannot be written no bet and no payment gets through, and the process and the services that
//! write say NOT_SERVING; those that only read go on. When it can be written again all say SERVING.

use futures_util::future::select_all;
use motherlode_ledger::{Ledgers, Standing};
use motherlode_proto::{ledger::v1::ledger_service_server as ledger, spin::v1::spin_service_server as spin};
use motherlode_runtime::Stop;
use tonic_health::{ServingStatus, server::HealthReporter};

/// Services that need the log to be written; "" is the process.
const WRITE: [&str; 3] = ["", spin::SERVICE_NAME, ledger::SERVICE_NAME];

/// Tells the health of services until the stop, when none is served any more.
pub(crate) async fn report(reporter: HealthReporter, served: Vec<&'static str>, ledgers: Ledgers, stop: Stop) {
    let mut standings: Vec<_> = ledgers.all().map(motherlode_ledger::Handle::standing).collect();
    drop(ledgers);
    let mut told = None;
    loop {
        let writes = standings.iter_mut().all(|standing| *standing.borrow_and_update() == Standing::Takes);
        if told != Some(writes) {
            for service in served.iter().copied() {
                let status = match writes || !WRITE.contains(&service) {
                    true => ServingStatus::Serving,
                    false => ServingStatus::NotServing,
                };
                reporter.set_service_status(service, status).await;
            }
            if !writes {
                tracing::error!("health: NOT_SERVING while the log cannot be written; reads are answered");
            } else if told.is_some() {
                tracing::info!("health: SERVING again");
            }
            told = Some(writes);
        }
        let changes = standings.iter_mut().map(|standing| Box::pin(standing.changed()));
        let over = tokio::select! {
            () = stop.clone().requested() => true,
            (changed, ..) = select_all(changes) => changed.is_err(),
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
