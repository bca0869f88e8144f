//! The report service over gRPC.

use crate::{
    figures::Figures,
    follower::Follower,
    identity::SelfCheck,
    returns::{Found, Wanted},
    revenue, transactions,
    vitals::Vitals,
};
use futures_util::{Stream, stream};
use motherlode_books::date;
use motherlode_ledger::{
    FetchError,
    fields::{self, timestamp},
    rounds, unknown_round,
};
use motherlode_picture::round as picture;
use motherlode_proto::report::v1::{self as wire, SignificantEvent, report_service_server::ReportService};
use motherlode_runtime::{Caller, Refusal, Stop};
use std::{cmp::Reverse, iter, pin::Pin, sync::Arc};
use tonic::{Request, Response, Status};

/// Events a page, unless the caller says otherwise.
const PAGE_SIZE: usize = 50;
/// Most events a page.
const PAGE_SIZE_MAX: usize = 500;

/// The service.
#[derive(Clone)]
pub struct ReportApi {
    follower: Follower,
    check: SelfCheck,
    vitals: Vitals,
    stop: Stop,
}

impl ReportApi {
    /// Serves what a follower has folded; at the stop the streams end.
    #[must_use]
    pub fn new(follower: Follower, check: SelfCheck, vitals: Vitals, stop: Stop) -> Self {
        Self { follower, check, vitals, stop }
    }

    async fn significant(
        &self,
        caller: &Caller,
        request: &wire::ListSignificantEventsRequest,
    ) -> Result<wire::ListSignificantEventsResponse, Refusal> {
        let size = match usize::try_from(request.page_size) {
            Ok(0) => PAGE_SIZE,
            Ok(size) => size.min(PAGE_SIZE_MAX),
            Err(_) => return Err(Refusal::field("page_size", "must not be negative")),
        };
        if request.kinds().any(|kind| kind == wire::SignificantKind::Unspecified) {
            return Err(Refusal::field("kinds", "must be kinds of significant events"));
        }
        let last = match fields::page_token(&request.page_token)?[..] {
            [] => None,
            [position, number] => Some(named(0, position, number)?),
            [partition, position, number] if partition > 0 => Some(named(partition, position, number)?),
            _ => return Err(fields::page_token_unknown()),
        };
        let (reader, kinds) = (caller.clone(), request.kinds.clone());
        let page = move |partitions: &[&Figures]| -> Option<Vec<_>> {
            let all = || partitions.iter().map(|figures| figures.significant.events());
            let before = match last {
                None => None,
                Some(last) => {
                    let found = all().flatten().find(|event| name(event) == last && is_for(&reader, event));
                    Some(order(found?))
                }
            };
            let wanted = |event: &&Arc<SignificantEvent>| {
                is_for(&reader, event)
                    && before.is_none_or(|before| order(event) < before)
                    && (kinds.is_empty() || kinds.contains(&event.kind))
            };
            let mut events: Vec<_> =
                all().flat_map(|events| events.iter().rev().filter(wanted).take(size + 1)).collect();
            events.sort_by_key(|event| Reverse(order(event)));
            Some(events.into_iter().take(size + 1).map(|event| SignificantEvent::clone(event)).collect())
        };
        let (events, position) = self.follower.read_apart(caller, page).await?;
        let mut events = events.ok_or_else(fields::page_token_unknown)?;
        let more = events.len() > size;
        events.truncate(size);
        let next_page_token = events.last().filter(|_| more).map(page_token).unwrap_or_default();
        Ok(wire::ListSignificantEventsResponse { events, next_page_token, position })
    }

    async fn statement(
        &self,
        request: &wire::GetPoolStatementRequest,
    ) -> Result<wire::GetPoolStatementResponse, Refusal> {
        let pool = fields::id("pool_id", &request.pool_id)?;
        let today = date::day_of(self.follower.ledgers().now_ms());
        let day = match request.date.as_str() {
            "" => today,
            day => date::parse(day).ok_or_else(|| Refusal::field("date", "must be a day as YYYY-MM-DD"))?,
        };
        let read = |partitions: &[&Figures]| {
            let pools = partitions.first().map(|home| &home.pools).filter(|pools| pools.knows(pool));
            pools.map(|pools| pools.statement(pool, day, today))
        };
        let (statement, position) = self.follower.read(read).await?;
        let unknown = || Refusal::not_found("POOL_UNKNOWN", "no such pool").with("pool_id", pool);
        let statement = statement.ok_or_else(unknown)?;
        let statement = statement.ok_or_else(|| {
            Refusal::not_found("NO_STATEMENT", "the pool was not there on this day, or it has not come yet")
                .with("pool_id", pool)
                .with("date", date::text(day))
        })?;
        Ok(wire::GetPoolStatementResponse { position, ..statement })
    }
}

impl ReportApi {
    async fn round_page(
        &self,
        caller: &Caller,
        request: &wire::GetRoundPageRequest,
    ) -> Result<wire::GetRoundPageResponse, Refusal> {
        let id = fields::round_id(caller, &request.round_id)?;
        let ledger = self.follower.ledgers().of(&id.stream)?.clone();
        let read = move || {
            let round = rounds::read(&ledger, &id.stream, id.number)?;
            Ok::<_, FetchError>(round.map(|round| picture::page(&round).into_bytes()))
        };
        let content = self.follower.ledgers().reads().run(caller, read).await??;
        let content = content.ok_or_else(|| unknown_round(&request.round_id))?;
        Ok(wire::GetRoundPageResponse { media_type: picture::MEDIA_TYPE.to_owned(), content })
    }
}

/// Whether an event is the caller's to see: its own, and what concerns all.
fn is_for(caller: &Caller, event: &SignificantEvent) -> bool {
    event.operator_id.is_empty() || caller.sees(&event.operator_id)
}

/// Who makes a call; none where there are no operators.
fn who(caller: &Caller) -> Option<wire::Caller> {
    let (credential, roles) = caller.credential()?;
    let (operator_id, roles) = (caller.operator().to_string(), roles.to_string());
    let roles = roles.split_whitespace().map(str::to_owned).collect();
    Some(wire::Caller { operator_id, credential: credential.to_owned(), roles })
}

/// Names an event: partition, position and number.
fn name(event: &SignificantEvent) -> (u32, u64, u32) {
    (event.partition, event.position, event.number)
}

/// Events of all partitions go by their logged times.
fn order(event: &SignificantEvent) -> (i64, i32, (u32, u64, u32)) {
    let time = event.time.unwrap_or_default();
    (time.seconds, time.nanos, name(event))
}

/// Names an event; one of partition 0 as it was named when there was no other.
fn page_token(event: &SignificantEvent) -> String {
    match name(event) {
        (0, position, number) => format!("{position}.{number}"),
        (partition, position, number) => format!("{partition}.{position}.{number}"),
    }
}

/// The name of an event in a page token.
fn named(partition: u64, position: u64, number: u64) -> Result<(u32, u64, u32), Refusal> {
    let small = |number| u32::try_from(number).map_err(|_| fields::page_token_unknown());
    Ok((small(partition)?, position, small(number)?))
}

/// A stream of significant events under way.
struct Watch {
    caller: Caller,
    follower: Follower,
    stop: Stop,
    /// Of each partition, events sent or passed over, and the position after which they begin.
    passed: Vec<(usize, u64)>,
}

impl Watch {
    /// The next event; none when the service stops.
    async fn next(&mut self) -> Option<Arc<SignificantEvent>> {
        let mut grown = self.follower.grown();
        loop {
            let (caller, passed) = (&self.caller, &mut self.passed);
            let found = self.follower.now(|partitions, _| {
                partitions.iter().zip(passed).find_map(|(figures, (passed, after))| {
                    let events = figures.significant.events();
                    let unwanted = |event: &&Arc<SignificantEvent>| event.position <= *after || !is_for(caller, event);
                    *passed += events.iter().skip(*passed).take_while(unwanted).count();
                    let event = events.get(*passed)?;
                    *passed += 1;
                    Some(Arc::clone(event))
                })
            });
            if found.is_some() {
                return found;
            }
            tokio::select! {
                biased;
                () = self.stop.clone().requested() => return None,
                changed = grown.changed() => changed.ok()?,
            }
        }
    }
}

#[tonic::async_trait]
impl ReportService for ReportApi {
    async fn list_significant_events(
        &self,
        request: Request<wire::ListSignificantEventsRequest>,
    ) -> Result<Response<wire::ListSignificantEventsResponse>, Status> {
        Ok(Response::new(self.significant(&Caller::of(&request), request.get_ref()).await?))
    }

    type WatchSignificantEventsStream =
        Pin<Box<dyn Stream<Item = Result<wire::WatchSignificantEventsResponse, Status>> + Send>>;

    async fn watch_significant_events(
        &self,
        request: Request<wire::WatchSignificantEventsRequest>,
    ) -> Result<Response<Self::WatchSignificantEventsStream>, Status> {
        let (follower, stop) = (self.follower.clone(), self.stop.clone());
        follower.ledgers().whole()?;
        let wire::WatchSignificantEventsRequest { after_position, after_positions } = request.get_ref();
        let after = [*after_position].into_iter().chain(after_positions.iter().copied()).chain(iter::repeat(0));
        let passed = follower.ledgers().all().zip(after).map(|(_, after)| (0, after)).collect();
        let watch = Watch { caller: Caller::of(&request), follower, stop, passed };
        let events = stream::unfold(watch, |mut watch| async {
            let event = watch.next().await?;
            let event = Some(SignificantEvent::clone(&event));
            Some((Ok(wire::WatchSignificantEventsResponse { event }), watch))
        });
        Ok(Response::new(Box::pin(events)))
    }

    async fn list_returns(
        &self,
        request: Request<wire::ListReturnsRequest>,
    ) -> Result<Response<wire::ListReturnsResponse>, Status> {
        let caller = Caller::of(&request);
        let wire::ListReturnsRequest { game, out_of_band_only, operator_id, days } = request.into_inner();
        fields::optional_id("game", &game)?;
        let operator = match operator_id.as_str() {
            "" => caller.own().map(str::to_owned),
            id => Some(fields::id("operator_id", id)?.to_owned()),
        };
        if operator.as_ref().is_some_and(|operator| !caller.sees(operator)) {
            let ((), position) = self.follower.read(|_| ()).await?;
            return Ok(Response::new(wire::ListReturnsResponse { position, ..wire::ListReturnsResponse::default() }));
        }
        let (returns, position) = self.follower.returns().await?;
        let wanted = Wanted { game, operator, out_of_band_only, days };
        let found = self.follower.ledgers().reads().run(&caller, move || returns.report(&wanted)).await?;
        let Found { levels: returns, totals } = found;
        Ok(Response::new(wire::ListReturnsResponse { returns, position, totals }))
    }

    async fn get_pool_statement(
        &self,
        request: Request<wire::GetPoolStatementRequest>,
    ) -> Result<Response<wire::GetPoolStatementResponse>, Status> {
        Ok(Response::new(self.statement(request.get_ref()).await?))
    }

    async fn list_transactions(
        &self,
        request: Request<wire::ListTransactionsRequest>,
    ) -> Result<Response<wire::ListTransactionsResponse>, Status> {
        Ok(Response::new(transactions::list(&self.follower, &Caller::of(&request), request.get_ref()).await?))
    }

    async fn list_revenue(
        &self,
        request: Request<wire::ListRevenueRequest>,
    ) -> Result<Response<wire::ListRevenueResponse>, Status> {
        Ok(Response::new(revenue::list(&self.follower, &Caller::of(&request), request.get_ref()).await?))
    }

    async fn get_round_page(
        &self,
        request: Request<wire::GetRoundPageRequest>,
    ) -> Result<Response<wire::GetRoundPageResponse>, Status> {
        Ok(Response::new(self.round_page(&Caller::of(&request), request.get_ref()).await?))
    }

    async fn get_identity(
        &self,
        request: Request<wire::GetIdentityRequest>,
    ) -> Result<Response<wire::GetIdentityResponse>, Status> {
        let caller = who(&Caller::of(&request));
        let identity = Arc::clone(&self.check.identity);
        // Right after the start the executable is still being hashed.
        let stated = tokio::task::spawn_blocking(move || identity.to_wire()).await;
        let stated = stated.map_err(|error| Refusal::new(tonic::Code::Internal, "INTERNAL", error.to_string()))?;
        Ok(Response::new(wire::GetIdentityResponse { caller, ..stated }))
    }

    async fn get_vitals(
        &self,
        _: Request<wire::GetVitalsRequest>,
    ) -> Result<Response<wire::GetVitalsResponse>, Status> {
        Ok(Response::new(self.vitals.to_wire()))
    }

    async fn run_self_check(
        &self,
        _: Request<wire::RunSelfCheckRequest>,
    ) -> Result<Response<wire::RunSelfCheckResponse>, Status> {
        let time = Some(timestamp(self.follower.ledgers().now_ms()));
        let failures = self.check.check().await.to_vec();
        Ok(Response::new(wire::RunSelfCheckResponse { time, failures }))
    }
}
