use http::{HeaderValue, Request, Response, header::AUTHORIZATION};
use motherlode_proto::{
    jackpot::v1::{jackpot_service_client::JackpotServiceClient, jackpot_service_server},
    job::v1::job_service_client::JobServiceClient,
    ledger::v1::ledger_service_client::LedgerServiceClient,
    proof::v1::proof_service_client::ProofServiceClient,
    report::v1::report_service_client::ReportServiceClient,
    spin::v1::{spin_service_client::SpinServiceClient, spin_service_server},
};
use motherlode_runtime::connect::Connection;
use std::{
    pin::Pin,
    task::{Context, Poll},
};
use tonic::body::Body;
use tonic_health::pb::health_client::HealthClient;
use tower::{BoxError, Service, ServiceExt, util::BoxCloneSyncService};

const CALL_MAX: &str = "20S";
/// Maximum size of an answer, such as a page of rounds with many free spins.
const ANSWER_MAX: usize = 16 << 20;

pub(crate) type Upstream = BoxCloneSyncService<Request<Body>, Response<Body>, BoxError>;

#[derive(Clone)]
pub struct Backend {
    spin: Upstream,
    ledger: Upstream,
    jackpot: Upstream,
}

impl Backend {
    pub fn one<S>(service: S) -> Self
    where
        S: Service<Request<Body>, Response = Response<Body>> + Clone + Send + Sync + 'static,
        S::Error: Into<BoxError> + Send + 'static,
        S::Future: Send + 'static,
    {
        let part: Upstream = BoxCloneSyncService::new(service.map_err(Into::into));
        Self { spin: part.clone(), ledger: part.clone(), jackpot: part }
    }

    pub fn apart(spin: Connection, ledger: Connection, jackpot: Connection) -> Self {
        let part = |connection: Connection| -> Upstream { BoxCloneSyncService::new(connection.map_err(Into::into)) };
        Self { spin: part(spin), ledger: part(ledger), jackpot: part(jackpot) }
    }

    pub(crate) fn route(&self, service: &str, method: &str) -> Upstream {
        match service {
            spin_service_server::SERVICE_NAME => self.spin.clone(),
            jackpot_service_server::SERVICE_NAME if !is_pool_change(method) => self.jackpot.clone(),
            _ => self.ledger.clone(),
        }
    }
}

/// Returns whether the call changes a pool. Processes with the role `jackpot` refuse such calls, because they must not
/// propose changes of pools (PL-44).
fn is_pool_change(method: &str) -> bool {
    let changes =
        ["OpenPool", "ChangePoolTerms", "SuspendPool", "ResumePool", "RetirePool", "ReleaseHits", "DeclareIncident"];
    changes.contains(&method)
}

#[derive(Clone)]
pub(crate) struct Api {
    backend: Backend,
    authorization: Option<HeaderValue>,
}

impl Api {
    pub(crate) fn new(backend: Backend, token: Option<&str>) -> Option<Self> {
        let authorization = token.map(|token| {
            let mut value = HeaderValue::from_str(&format!("Bearer {token}")).ok()?;
            value.set_sensitive(true);
            Some(value)
        });
        let authorization = match authorization {
            None => None,
            Some(value) => Some(value?),
        };
        Some(Self { backend, authorization })
    }

    pub(crate) fn spin(&self) -> SpinServiceClient<Authorized> {
        SpinServiceClient::new(self.shown(&self.backend.spin)).max_decoding_message_size(ANSWER_MAX)
    }

    pub(crate) fn ledger(&self) -> LedgerServiceClient<Authorized> {
        LedgerServiceClient::new(self.shown(&self.backend.ledger)).max_decoding_message_size(ANSWER_MAX)
    }

    pub(crate) fn report(&self) -> ReportServiceClient<Authorized> {
        ReportServiceClient::new(self.shown(&self.backend.ledger)).max_decoding_message_size(ANSWER_MAX)
    }

    pub(crate) fn proof(&self) -> ProofServiceClient<Authorized> {
        ProofServiceClient::new(self.shown(&self.backend.ledger)).max_decoding_message_size(ANSWER_MAX)
    }

    pub(crate) fn job(&self) -> JobServiceClient<Authorized> {
        JobServiceClient::new(self.shown(&self.backend.ledger)).max_decoding_message_size(ANSWER_MAX)
    }

    pub(crate) fn jackpot(&self) -> JackpotServiceClient<Authorized> {
        JackpotServiceClient::new(self.shown(&self.backend.jackpot)).max_decoding_message_size(ANSWER_MAX)
    }

    pub(crate) fn pool_changes(&self) -> JackpotServiceClient<Authorized> {
        JackpotServiceClient::new(self.shown(&self.backend.ledger)).max_decoding_message_size(ANSWER_MAX)
    }

    pub(crate) fn health(&self) -> HealthClient<Authorized> {
        HealthClient::new(self.shown(&self.backend.ledger))
    }

    fn shown(&self, part: &Upstream) -> Authorized {
        Authorized { part: part.clone(), authorization: self.authorization.clone() }
    }
}

#[derive(Clone)]
pub(crate) struct Authorized {
    part: Upstream,
    authorization: Option<HeaderValue>,
}

impl Service<Request<Body>> for Authorized {
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.part.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        if let Some(authorization) = &self.authorization {
            request.headers_mut().insert(AUTHORIZATION, authorization.clone());
        }
        request.headers_mut().insert("grpc-timeout", HeaderValue::from_static(CALL_MAX));
        self.part.call(request)
    }
}
