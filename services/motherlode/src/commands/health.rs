use super::{Failure, say};
use crate::{client::explain, target::Target};
use std::time::Duration;
use tonic::{Code, Request};
use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient};

const ANSWER_MAX: Duration = Duration::from_secs(3);

#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Service to check, such as motherlode.spin.v1.SpinService; by default the whole process.
    #[arg(long, value_name = "NAME", default_value = "")]
    service: String,
    #[command(flatten)]
    target: Target,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::found)?;
    runtime.block_on(async {
        let mut client = HealthClient::new(args.target.connect().await?);
        let mut request = Request::new(HealthCheckRequest { service: args.service.clone() });
        request.set_timeout(ANSWER_MAX);
        let answer = client.check(request).await;
        let answer = answer.map_err(|status| match status.code() {
            Code::NotFound => Failure::found(format!("the process has no service {}", args.service)).with_step(
                "Name a service such as motherlode.spin.v1.SpinService; without --service, the whole process is checked",
            ),
            _ => explain(&status),
        })?;
        match answer.into_inner().status() {
            ServingStatus::Serving => say("SERVING\n"),
            other => Err(Failure::found(other.as_str_name())),
        }
    })
}
