use motherlode_ledger::fields::{self, timestamp};
use motherlode_proto::report::v1 as wire;
use motherlode_runtime::{
    Caller, Reason, Refusal,
    refusals::{self, RefusedCall},
};

const CALLS_MAX: usize = 1_000;

pub(crate) fn list(
    caller: &Caller,
    request: &wire::ListRefusalsRequest,
) -> Result<wire::ListRefusalsResponse, Refusal> {
    let operator = fields::optional_id("operator_id", &request.operator_id)?;
    if !request.reason.is_empty() && Reason::from_name(&request.reason).is_none() {
        return Err(Refusal::field("reason", "must be a reason code, such as INVALID_FIELD"));
    }
    let is_wanted = |of: &RefusedCall| {
        caller.sees(&of.operator)
            && (operator.is_empty() || *of.operator == *operator)
            && (request.reason.is_empty() || of.reason == request.reason)
    };
    let calls = refusals::latest(is_wanted, CALLS_MAX).into_iter().map(to_wire).collect();
    Ok(wire::ListRefusalsResponse { calls })
}

fn to_wire(of: RefusedCall) -> wire::RefusedCall {
    wire::RefusedCall {
        time: Some(timestamp(of.time_ms)),
        operator_id: of.operator.to_string(),
        reason: of.reason.to_owned(),
        message: of.message,
        method: of.method.to_owned(),
        player_id: of.player,
        request_id: of.request_id,
    }
}
