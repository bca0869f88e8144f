//! The report service over gRPC.

use crate::{Follower, SelfCheck, follower::Figures, pools, returns::Wanted};
use futures_util::{Stream, stream};
use motherlode_ledger::{
    fields::{self, timestamp},
    rounds, unknown_round,
};
use motherlode_picture::round as picture;
use motherlode_proto::report::v1::{self as wire, SignificantEvent, report_service_server::ReportService};
use motherlode_runtime::{Caller, Refusal, Stop};
use std::{pin::Pin, sync::Arc};
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
    stop: Stop,
}

impl ReportApi {
    /// Serves what a follower has folded; at the stop the streams end.
    #[must_use]
    pub fn new(follower: Follower, check: SelfCheck, stop: Stop) -> Self {
        Self { follower, check, stop }
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
        let before = match request.page_token.as_str() {
            "" => (u64::MAX, 0),
            token => page_token(token).ok_or_else(|| Refusal::field("page_token", "is not one that was handed out"))?,
        };
        let wanted = |event: &&Arc<SignificantEvent>| {
            is_for(caller, event)
                && (event.position, event.number) < before
                && (request.kinds.is_empty() || request.kinds.contains(&event.kind))
        };
        let page = |figures: &Figures| -> Vec<_> {
            let events = figures.significant.events().iter().rev().filter(wanted);
            events.take(size + 1).map(|event| SignificantEvent::clone(event)).collect()
        };
        let (mut events, position) = self.follower.read(page).await?;
        let more = events.len() > size;
        events.truncate(size);
        let next_page_token = match events.last() {
            Some(last) if more => format!("{}.{}", last.position, last.number),
            _ => String::new(),
        };
        Ok(wire::ListSignificantEventsResponse { events, next_page_token, position })
    }

    async fn statement(
        &self,
        request: &wire::GetPoolStatementRequest,
    ) -> Result<wire::GetPoolStatementResponse, Refusal> {
        let pool = fields::id("pool_id", &request.pool_id)?;
        let today = pools::day_of(self.follower.ledger().now_ms());
        let day = match request.date.as_str() {
            "" => today,
            date => pools::parse_date(date).ok_or_else(|| Refusal::field("date", "must be a day as YYYY-MM-DD"))?,
        };
        let read = |figures: &Figures| (figures.pools.knows(pool), figures.pools.statement(pool, day, today));
        let ((known, statement), position) = self.follower.read(read).await?;
        if !known {
            return Err(Refusal::not_found("POOL_UNKNOWN", "no such pool").with("pool_id", pool));
        }
        let statement = statement.ok_or_else(|| {
            Refusal::not_found("NO_STATEMENT", "the pool was not there on this day, or it has not come yet")
                .with("pool_id", pool)
                .with("date", pools::date(day))
        })?;
        Ok(wire::GetPoolStatementResponse { position, ..statement })
    }
}

impl ReportApi {
    fn round_page(
        &self,
        caller: &Caller,
        request: &wire::GetRoundPageRequest,
    ) -> Result<wire::GetRoundPageResponse, Refusal> {
        let id = fields::round_id(caller, &request.round_id)?;
        let round = rounds::read(self.follower.ledger(), &id.stream, id.number)?;
        let round = round.ok_or_else(|| unknown_round(&request.round_id))?;
        let content = picture::page(&round).into_bytes();
        Ok(wire::GetRoundPageResponse { media_type: picture::MEDIA_TYPE.to_owned(), content })
    }
}

/// Whether an event is the caller's to see: its own, and what concerns all.
fn is_for(caller: &Caller, event: &SignificantEvent) -> bool {
    event.operator_id.is_empty() || caller.sees(&event.operator_id)
}

/// Position and number of an event.
fn page_token(token: &str) -> Option<(u64, u32)> {
    let (position, number) = token.split_once('.')?;
    Some((position.parse().ok()?, number.parse().ok()?))
}

/// A stream of significant events under way.
struct Watch {
    caller: Caller,
    follower: Follower,
    stop: Stop,
    /// Events sent or passed over.
    passed: usize,
    after: u64,
}

impl Watch {
    /// The next event; none when the service stops.
    async fn next(&mut self) -> Option<Arc<SignificantEvent>> {
        let mut position = self.follower.position();
        loop {
            let (found, passed) = {
                let (caller, passed, after) = (&self.caller, self.passed, self.after);
                self.follower.now(|figures| {
                    let events = figures.significant.events();
                    let unwanted = |event: &&Arc<SignificantEvent>| event.position <= after || !is_for(caller, event);
                    let skipped = events.iter().skip(passed).take_while(unwanted).count();
                    (events.get(passed + skipped).cloned(), passed + skipped)
                })
            };
            self.passed = passed;
            if let Some(event) = found {
                self.passed += 1;
                return Some(event);
            }
            tokio::select! {
                biased;
                () = self.stop.clone().requested() => return None,
                changed = position.changed() => changed.ok()?,
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
        let watch =
            Watch { caller: Caller::of(&request), follower, stop, passed: 0, after: request.get_ref().after_position };
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
        let wire::ListReturnsRequest { game, out_of_band_only, operator_id } = request.into_inner();
        let operator = match operator_id.as_str() {
            "" => caller.own().map(str::to_owned),
            id => Some(fields::id("operator_id", id)?.to_owned()),
        };
        if operator.as_ref().is_some_and(|operator| !caller.sees(operator)) {
            let ((), position) = self.follower.read(|_| ()).await?;
            return Ok(Response::new(wire::ListReturnsResponse { returns: vec![], position }));
        }
        let (returns, position) = self.follower.returns(Wanted { game, operator, out_of_band_only }).await?;
        Ok(Response::new(wire::ListReturnsResponse { returns, position }))
    }

    async fn get_pool_statement(
        &self,
        request: Request<wire::GetPoolStatementRequest>,
    ) -> Result<Response<wire::GetPoolStatementResponse>, Status> {
        Ok(Response::new(self.statement(request.get_ref()).await?))
    }

    async fn get_round_page(
        &self,
        request: Request<wire::GetRoundPageRequest>,
    ) -> Result<Response<wire::GetRoundPageResponse>, Status> {
        Ok(Response::new(self.round_page(&Caller::of(&request), request.get_ref())?))
    }

    async fn get_identity(
        &self,
        _: Request<wire::GetIdentityRequest>,
    ) -> Result<Response<wire::GetIdentityResponse>, Status> {
        Ok(Response::new(self.check.identity.to_wire()))
    }

    async fn run_self_check(
        &self,
        _: Request<wire::RunSelfCheckRequest>,
    ) -> Result<Response<wire::RunSelfCheckResponse>, Status> {
        let time = Some(timestamp(self.follower.ledger().now_ms()));
        Ok(Response::new(wire::RunSelfCheckResponse { time, failures: self.check.check().await }))
    }
}
