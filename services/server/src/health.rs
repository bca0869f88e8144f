//! Health of the process and of each service (`docs/reference/health.md`).
//!
//! A writer on a shared store is NOT_SERVING if its authority was last confirmed more than [`AUTHORITY_AGE_MAX`] ago.
//! This limit is shorter than the writer's silence after which a standby takes over.

use crate::tasks::{Kind, Tasks};
use futures_util::future::select_all;
use motherlode_ledger::{AUTHORITY_AGE_MAX, Handle, Ledgers, Standing};
use motherlode_log::Authority;
use motherlode_proto::{ledger::v1::ledger_service_server as ledger, spin::v1::spin_service_server as spin};
use motherlode_runtime::Stop;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};
use tokio::sync::watch;
use tonic::{Request, Response, Status};
use tonic_health::{
    ServingStatus,
    pb::{
        HealthCheckRequest, HealthCheckResponse,
        health_check_response::ServingStatus as Answer,
        health_server::{Health, HealthServer},
    },
    server::{HealthReporter, HealthService},
};

/// Services whose health depends on a writable log; "" denotes the process.
const WRITE: [&str; 3] = ["", spin::SERVICE_NAME, ledger::SERVICE_NAME];

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Works {
    Nothing,
    Reads,
    All,
}

impl Works {
    fn from_standing(standing: &Standing) -> Self {
        match standing {
            Standing::Takes => Self::All,
            Standing::Stalled(_) | Standing::Failed(_) | Standing::Damaged(_) => Self::Reads,
            Standing::Unconfirmed(_) | Standing::Fenced(_) => Self::Nothing,
        }
    }
}

pub(crate) struct Answers {
    reported: HealthService,
    authorities: Vec<Arc<Authority>>,
}

impl Answers {
    pub(crate) fn new(reporter: &HealthReporter, ledgers: &Ledgers) -> HealthServer<Self> {
        // A ledger itself is not kept, because a reference to a closed ledger would keep its index open.
        let authorities = ledgers.all().filter_map(Handle::authority).cloned().collect();
        HealthServer::new(Self { reported: HealthService::from_health_reporter(reporter.clone()), authorities })
    }
}

#[tonic::async_trait]
impl Health for Answers {
    type WatchStream = <HealthService as Health>::WatchStream;

    async fn check(&self, request: Request<HealthCheckRequest>) -> Result<Response<HealthCheckResponse>, Status> {
        let reported = self.reported.check(request).await?;
        let is_old = |authority: &Arc<Authority>| authority.age() > AUTHORITY_AGE_MAX;
        match self.authorities.iter().any(is_old) {
            true => Ok(Response::new(HealthCheckResponse { status: Answer::NotServing.into() })),
            false => Ok(reported),
        }
    }

    async fn watch(&self, request: Request<HealthCheckRequest>) -> Result<Response<Self::WatchStream>, Status> {
        self.reported.watch(request).await
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Readiness {
    serving: Arc<AtomicBool>,
    authorities: Arc<[Arc<Authority>]>,
}

impl Readiness {
    pub(crate) fn new(ledgers: &Ledgers) -> Self {
        let authorities = ledgers.all().filter_map(Handle::authority).cloned().collect();
        Self { authorities, ..Self::default() }
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.serving.load(Ordering::Acquire)
            && !self.authorities.iter().any(|authority| authority.age() > AUTHORITY_AGE_MAX)
    }
}

pub(crate) async fn report(
    reporter: HealthReporter,
    readiness: Readiness,
    served: Vec<&'static str>,
    ledgers: Ledgers,
    mut tasks: watch::Receiver<Tasks>,
    stop: Stop,
) {
    let mut standings: Vec<_> = ledgers.all().map(motherlode_ledger::Handle::standing).collect();
    drop(ledgers);
    let mut told = None;
    loop {
        let works = standings.iter_mut().map(|standing| Works::from_standing(&standing.borrow_and_update())).min();
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
                if service.is_empty() {
                    readiness.serving.store(status == ServingStatus::Serving, Ordering::Release);
                }
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
    readiness.serving.store(false, Ordering::Release);
    for service in served.iter().copied() {
        reporter.set_service_status(service, ServingStatus::NotServing).await;
    }
    for service in served {
        let mut reporter = reporter.clone();
        reporter.clear_service_status(service).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motherlode_log::uptime;
    use std::time::Duration;

    #[tokio::test]
    async fn at_a2_health_is_not_serving_past_the_bound_of_the_authority_whatever_was_reported() {
        let (reporter, authority) = (HealthReporter::new(), Arc::<Authority>::default());
        let reported = HealthService::from_health_reporter(reporter.clone());
        let health = Answers { reported, authorities: vec![Arc::clone(&authority)] };
        reporter.set_service_status(spin::SERVICE_NAME, ServingStatus::Serving).await;
        let answer = async |service: &str| {
            let request = HealthCheckRequest { service: service.to_owned() };
            health.check(Request::new(request)).await.unwrap().into_inner().status()
        };
        for service in ["", spin::SERVICE_NAME] {
            assert_eq!(answer(service).await, Answer::Serving, "the state is not confirmed as current");
        }
        authority.confirm(uptime().saturating_sub(AUTHORITY_AGE_MAX + Duration::from_millis(1)));
        for service in ["", spin::SERVICE_NAME] {
            assert_eq!(answer(service).await, Answer::NotServing);
        }
        authority.confirm(uptime());
        for service in ["", spin::SERVICE_NAME] {
            assert_eq!(answer(service).await, Answer::Serving);
        }
    }
}
