use crate::{figures::Figures, follower::Follower, revenue::day, void_days::of_days};
use motherlode_proto::report::v1 as wire;
use motherlode_runtime::{Caller, Refusal};
use motherlode_state::date;

const DAYS_MAX: i64 = 366;

pub(crate) async fn list(
    follower: &Follower,
    caller: &Caller,
    request: &wire::ListVoidSharesRequest,
) -> Result<wire::ListVoidSharesResponse, Refusal> {
    let today = date::day_of(follower.ledgers().now_ms());
    let from = day("from_date", &request.from_date)?.unwrap_or(today);
    let to = day("to_date", &request.to_date)?.unwrap_or(from);
    if to.saturating_sub(from) > DAYS_MAX {
        return Err(Refusal::field("to_date", "must be at most 366 days after from_date"));
    }
    let read = move |partitions: &[&Figures]| of_days(partitions, from, to);
    let (shares, position) = follower.read_apart(caller, read).await?;
    let own = shares.into_iter().filter(|((_, operator), _)| caller.sees(operator));
    let shares = own.map(|((day, operator), share)| wire::VoidShare {
        operator_id: operator.to_string(),
        date: date::text(day),
        rounds: share.rounds,
        voids: share.voids,
        voids_max: share.voids_max(),
        alarm: share.voids > share.voids_max(),
    });
    Ok(wire::ListVoidSharesResponse { shares: shares.collect(), position })
}
