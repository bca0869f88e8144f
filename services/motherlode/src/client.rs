//! Connections, retries and refusal messages. A retry has the same request id, so the request takes effect only once
//! (PL-11).

use crate::{commands::Failure, target::Target};
use motherlode_proto::{
    jackpot::v1::jackpot_service_client::JackpotServiceClient,
    ledger::v1::{
        GetLogStatusRequest, GetLogStatusResponse, PartitionStatus, ledger_service_client::LedgerServiceClient,
    },
    spin::v1::spin_service_client::SpinServiceClient,
};
use motherlode_runtime::{Reason, connect::Connection};
use std::{collections::BTreeMap, error::Error, time::Duration};
use tonic::{Code, Request, Response, Status};
use tonic_types::StatusExt;

const ANSWER_MAX: Duration = Duration::from_secs(12);
const TRIES_MAX: u32 = 6;
const FIRST_WAIT: Duration = Duration::from_millis(100);
const WAIT_MAX: Duration = Duration::from_secs(5);

#[derive(Debug, Clone)]
pub struct Client {
    pub spin: SpinServiceClient<Connection>,
    pub ledger: LedgerServiceClient<Connection>,
    pub jackpot: JackpotServiceClient<Connection>,
}

impl Client {
    pub async fn connect(target: &Target) -> Result<Self, Failure> {
        let connection = target.connect().await?;
        Ok(Self {
            spin: SpinServiceClient::new(connection.clone()),
            ledger: LedgerServiceClient::new(connection.clone()),
            jackpot: JackpotServiceClient::new(connection),
        })
    }
}

pub async fn insist<T: Clone, R, F>(message: &T, mut call: impl FnMut(Request<T>) -> F) -> Result<R, Status>
where
    F: Future<Output = Result<Response<R>, Status>>,
{
    let mut wait = FIRST_WAIT;
    for _ in 1..TRIES_MAX {
        let mut request = Request::new(message.clone());
        request.set_timeout(ANSWER_MAX);
        match call(request).await {
            Ok(response) => return Ok(response.into_inner()),
            Err(status) if !may_pass(&status) => return Err(status),
            Err(status) => {
                let proposed = status.get_error_details().retry_info().and_then(|info| info.retry_delay);
                tokio::time::sleep(proposed.unwrap_or(wait).min(WAIT_MAX)).await;
                wait *= 2;
            }
        }
    }
    let mut request = Request::new(message.clone());
    request.set_timeout(ANSWER_MAX);
    call(request).await.map(Response::into_inner)
}

/// tonic reports a broken connection as `Unknown` and an expired deadline as `Cancelled`.
#[must_use]
pub fn may_pass(status: &Status) -> bool {
    matches!(
        status.code(),
        Code::Unavailable | Code::DeadlineExceeded | Code::Cancelled | Code::ResourceExhausted | Code::Unknown
    )
}

/// Returns the reason code of a refusal, such as READS_BUSY; empty if there is none.
#[must_use]
pub fn reason(status: &Status) -> String {
    status.get_error_details().error_info().map(|info| info.reason.clone()).unwrap_or_default()
}

#[must_use]
pub fn metadata(status: &Status, key: &str) -> String {
    let details = status.get_error_details();
    details.error_info().and_then(|info| info.metadata.get(key).cloned()).unwrap_or_default()
}

pub async fn whole_log(ledger: &mut LedgerServiceClient<Connection>) -> Result<Vec<PartitionStatus>, Failure> {
    let status = ledger.get_log_status(GetLogStatusRequest {}).await;
    let GetLogStatusResponse { partitions, partition_count, .. } =
        status.map_err(|status| explain(&status))?.into_inner();
    if usize::try_from(partition_count).is_ok_and(|count| count > partitions.len()) {
        let held: Vec<_> = partitions.iter().map(|held| held.partition.to_string()).collect();
        let held = held.join(", ");
        return Err(Failure::found(format!(
            "the log has {partition_count} partitions, and the called process has loaded only {held}: with --target, name a process that has loaded all partitions"
        )));
    }
    Ok(partitions)
}

/// Formats a refusal as lines: reason and message, invalid fields, metadata, and next step.
#[must_use]
pub fn explain(status: &Status) -> Failure {
    let details = status.get_error_details();
    let named = details.error_info().map(|info| info.reason.as_str()).filter(|reason| !reason.is_empty());
    let reason = named.unwrap_or(status.code().description());
    let mut text = match (status.message(), cause(status)) {
        ("", cause) => format!("{reason}: {cause}"),
        (message, _) => format!("{reason}: {message}"),
    };
    for violation in details.bad_request().into_iter().flat_map(|fields| &fields.field_violations) {
        let fault = format!("{}: {}", violation.field, violation.description);
        if fault != status.message() {
            text.push_str(&format!("\n  {fault}"));
        }
    }
    let metadata: BTreeMap<_, _> = details.error_info().into_iter().flat_map(|info| &info.metadata).collect();
    for (key, value) in metadata.into_iter().filter(|(_, value)| !value.is_empty()) {
        text.push_str(&format!("\n  {key} = {value}"));
    }
    if let Some(reason) = named.and_then(Reason::from_name) {
        text.push_str(&format!("\n{}", reason.doc()));
    }
    Failure::found(text)
}

fn cause(error: &dyn Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

pub fn request_id() -> Result<String, Failure> {
    Ok(motherlode_proto::convert::play::hex(&random::<16>()?))
}

pub fn random<const N: usize>() -> Result<[u8; N], Failure> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .map_err(|error| Failure::found(format!("the operating system returned no random bytes: {error}")))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use motherlode_runtime::Refusal;
    use std::cell::Cell;

    #[tokio::test(start_paused = true)]
    async fn pl_11_a_lost_answer_is_asked_for_again_with_the_same_message() {
        let tries = Cell::new(0);
        let answer = insist(&"spin-1", |request| {
            tries.set(tries.get() + 1);
            let lost = tries.get() < 3;
            async move {
                assert_eq!(request.into_inner(), "spin-1");
                if lost { Err(Status::unavailable("gone")) } else { Ok(Response::new(7)) }
            }
        });
        assert_eq!(answer.await.unwrap(), 7);
        assert_eq!(tries.get(), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn asking_again_is_bounded_and_a_refusal_is_taken_at_once() {
        for (status, wanted) in [(Status::unavailable("gone"), TRIES_MAX), (Status::not_found("none"), 1)] {
            let tries = Cell::new(0);
            let answer = insist(&(), |_| {
                tries.set(tries.get() + 1);
                let status = status.clone();
                async move { Err::<Response<()>, _>(status) }
            });
            assert_eq!(answer.await.unwrap_err().code(), status.code());
            assert_eq!(tries.get(), wanted);
        }
    }

    #[test]
    fn pl_12_a_refusal_is_explained_with_fields_and_metadata() {
        let field = Refusal::field("stake.lines", "must be 1 to 15").with("lines_max", 15).with("coins_max", 10);
        let failure = explain(&field.into());
        assert_eq!(
            failure.message,
            "INVALID_FIELD: stake.lines: must be 1 to 15\n  coins_max = 10\n  lines_max = 15\nA field is missing or malformed. Correct the field that `BadRequest` names."
        );
        assert_eq!(failure.code, 1);
        let mut fields = tonic_types::ErrorDetails::new();
        fields.add_bad_request_violation("a", "is odd").add_bad_request_violation("b", "is even");
        let status = Status::with_error_details(Code::InvalidArgument, "two faults", fields);
        assert_eq!(
            explain(&status).message,
            "Client specified an invalid argument: two faults\n  a: is odd\n  b: is even"
        );
        assert_eq!(explain(&Status::internal("odd")).message, "Internal error: odd");
    }

    #[test]
    fn request_ids_are_valid_and_differ() {
        let (one, other) = (request_id().unwrap(), request_id().unwrap());
        assert_ne!(one, other);
        assert!(motherlode_state::is_id(&one), "{one}");
    }
}
