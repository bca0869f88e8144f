use crate::{
    job::{Job, Jobs},
    work::Work,
};
use motherlode_audit::Options;
use motherlode_ledger::{Handle, Ledgers, fields};
use motherlode_proto::{
    RpcResult,
    job::v1::{self as wire, job_service_server::JobService, start_job_request},
};
use motherlode_runtime::{Caller, Reason, Refusal};
use std::sync::Arc;
use tonic::{Request, Response};

#[derive(Clone)]
pub struct JobApi {
    jobs: Jobs,
    ledgers: Ledgers,
    parts: Arc<[Options]>,
}

impl JobApi {
    #[must_use]
    pub fn new(jobs: Jobs, ledgers: Ledgers, parts: Vec<Options>) -> Self {
        Self { jobs, ledgers, parts: parts.into() }
    }

    fn start(&self, caller: &Caller, request: &wire::StartJobRequest) -> Result<Arc<Job>, Refusal> {
        let id = fields::id("request_id", &request.request_id)?;
        let work = match &request.work {
            Some(start_job_request::Work::Audit(_)) => self.audit()?,
            Some(start_job_request::Work::Simulation(asked)) => Work::simulated(asked)?,
            None => return Err(Refusal::field("work", "must be an audit or a simulation")),
        };
        match self.jobs.started_by(id) {
            Some(job) if job.is_for(&work) => Ok(job),
            Some(_) => Err(Refusal::request_id_reused(id)),
            None => self.jobs.start(id, caller.signature(), work),
        }
    }

    fn audit(&self) -> Result<Work, Refusal> {
        if self.parts.is_empty() {
            let message = "the log is not in this process's data folder: run motherlode audit on a copy";
            return Err(Refusal::new(Reason::AuditElsewhere, message));
        }
        let here = |part: &Options| self.ledgers.partition(part.partition).map_or(0, Handle::durable);
        Ok(Work::Audit { parts: self.parts.to_vec(), records: self.parts.iter().map(here).sum() })
    }
}

#[tonic::async_trait]
impl JobService for JobApi {
    async fn start_job(&self, request: Request<wire::StartJobRequest>) -> RpcResult<wire::StartJobResponse> {
        let job = self.start(&Caller::from_request(&request), request.get_ref())?;
        Ok(Response::new(wire::StartJobResponse { job: Some(job.to_wire()) }))
    }

    async fn list_jobs(&self, _: Request<wire::ListJobsRequest>) -> RpcResult<wire::ListJobsResponse> {
        let jobs = self.jobs.all().iter().map(|job| job.to_wire()).collect();
        Ok(Response::new(wire::ListJobsResponse { jobs, audits_elsewhere: self.parts.is_empty() }))
    }

    async fn cancel_job(&self, request: Request<wire::CancelJobRequest>) -> RpcResult<wire::CancelJobResponse> {
        let id = request.get_ref().job_id;
        let unknown = || {
            Refusal::new(Reason::JobUnknown, "there is no such job, or its result is no longer stored")
                .with("job_id", id)
        };
        let job = self.jobs.cancel(id).ok_or_else(unknown)?;
        Ok(Response::new(wire::CancelJobResponse { job: Some(job.to_wire()) }))
    }
}
