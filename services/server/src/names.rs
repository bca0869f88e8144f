use motherlode_proto::{
    admin::v1::admin_service_server, jackpot::v1::jackpot_service_server, job::v1::job_service_server,
    ledger::v1::ledger_service_server, log::v1::log_service_server, proof::v1::proof_service_server,
    report::v1::report_service_server, spin::v1::spin_service_server,
};

pub(crate) const ADMIN: &str = admin_service_server::SERVICE_NAME;
pub(crate) const SPIN: &str = spin_service_server::SERVICE_NAME;
pub(crate) const WALLET: &str = ledger_service_server::SERVICE_NAME;
pub(crate) const JACKPOT: &str = jackpot_service_server::SERVICE_NAME;
pub(crate) const REPORT: &str = report_service_server::SERVICE_NAME;
pub(crate) const JOB: &str = job_service_server::SERVICE_NAME;
pub(crate) const LOG: &str = log_service_server::SERVICE_NAME;
pub(crate) const PROOF: &str = proof_service_server::SERVICE_NAME;
