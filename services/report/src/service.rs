use crate::{
    events::{Filter, Look, Name, Unreadable, is_for, name, order},
    figures::Figures,
    follower::Follower,
    identity::SelfCheck,
    operator_rounds, pool_operators, refused_calls,
    returns::{ReturnFilter, ReturnList},
    revenue,
    service_status::ServiceStatus,
    transactions, void_shares,
};
use futures_util::stream;
use motherlode_ledger::{
    Handle,
    fields::{self, timestamp},
    rounds, unknown_round,
};
use motherlode_picture::round as picture;
use motherlode_proto::{
    RpcResult,
    report::v1::{self as wire, SignificantEvent, report_service_server::ReportService},
};
use motherlode_runtime::{Caller, Reason, Refusal, Stop};
use motherlode_state::date;
use std::{cmp::Reverse, collections::VecDeque, iter, sync::Arc};
use tonic::{Request, Response, codegen::BoxStream};

const PAGE_SIZE: usize = 50;
const PAGE_SIZE_MAX: usize = 500;

#[derive(Clone)]
pub struct ReportApi {
    follower: Follower,
    check: SelfCheck,
    status: ServiceStatus,
    stop: Stop,
}

impl ReportApi {
    #[must_use]
    pub fn new(follower: Follower, check: SelfCheck, status: ServiceStatus, stop: Stop) -> Self {
        Self { follower, check, status, stop }
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
            return Err(Refusal::field("kinds", "must contain only defined kinds of significant events"));
        }
        let last = match fields::page_token(&request.page_token)?[..] {
            [] => None,
            [position, number] => Some(named(0, position, number)?),
            [partition, position, number] if partition > 0 => Some(named(partition, position, number)?),
            _ => return Err(fields::page_token_unknown()),
        };
        let (looks, position) = self.follower.read(looks).await?;
        let filter = Filter { own: caller.own().map(str::to_owned), kinds: request.kinds.clone(), before: None };
        let read = move || page(&looks, filter, last, size + 1);
        let mut events = self.follower.ledgers().reads().run(caller, read).await??;
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
            day => date::parse(day).ok_or_else(|| Refusal::field("date", "must be a day in the form YYYY-MM-DD"))?,
        };
        let read = |partitions: &[&Figures]| {
            let pools = partitions.first().map(|home| &home.pools).filter(|pools| pools.knows(pool));
            let parts = || partitions.iter().map(|figures| &figures.pool_operators);
            pools.map(|pools| {
                let operators = pool_operators::of_day(parts(), pool, day, pools.seeds(pool, day));
                let statement = pools.statement(pool, day, today)?;
                Some(wire::GetPoolStatementResponse { operators, ..statement })
            })
        };
        let (statement, position) = self.follower.read(read).await?;
        let unknown = || Refusal::new(Reason::PoolUnknown, "no such pool").with("pool_id", pool);
        let statement = statement.ok_or_else(unknown)?;
        let statement = statement.ok_or_else(|| {
            Refusal::new(Reason::NoStatement, "the pool did not exist on this day, or the day is in the future")
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
        let ledger = self.follower.ledgers().for_stream(&id.stream)?.clone();
        let read = move |ledger: &Handle| {
            let round = rounds::read(ledger, &id.stream, id.number)?;
            Ok(round.map(|round| picture::page(&round).into_bytes()))
        };
        let content = self.follower.ledgers().read_round(caller, &ledger, read).await?;
        let content = content.ok_or_else(|| unknown_round(&request.round_id))?;
        Ok(wire::GetRoundPageResponse { media_type: picture::MEDIA_TYPE.to_owned(), content })
    }
}

fn looks(partitions: &[&Figures]) -> Vec<Look> {
    partitions.iter().map(|figures| figures.significant.events.look()).collect()
}

fn page(looks: &[Look], filter: Filter, last: Option<Name>, most: usize) -> Result<Vec<SignificantEvent>, Refusal> {
    let before = match last {
        None => None,
        Some(last) => {
            let found: Result<Vec<_>, Unreadable> =
                looks.iter().filter_map(|look| look.named(last).transpose()).collect();
            let found = found?.into_iter().find(|event| is_for(filter.own.as_deref(), event));
            Some(order(&*found.ok_or_else(fields::page_token_unknown)?))
        }
    };
    let filter = Filter { before, ..filter };
    let found: Result<Vec<_>, _> = looks.iter().flat_map(|look| look.back(&filter).take(most)).collect();
    let mut events = found?;
    events.sort_by_key(|event| Reverse(order(event)));
    Ok(events.into_iter().take(most).map(Arc::unwrap_or_clone).collect())
}

fn who(caller: &Caller) -> Option<wire::Caller> {
    let (credential, roles) = caller.credential()?;
    let (operator_id, roles) = (caller.operator().to_string(), roles.to_string());
    let roles = roles.split_whitespace().map(str::to_owned).collect();
    Some(wire::Caller { operator_id, credential: credential.to_owned(), roles })
}

fn page_token(event: &SignificantEvent) -> String {
    match name(event) {
        (0, position, number) => format!("{position}.{number}"),
        (partition, position, number) => format!("{partition}.{position}.{number}"),
    }
}

fn named(partition: u64, position: u64, number: u64) -> Result<Name, Refusal> {
    let small = |number| u32::try_from(number).map_err(|_| fields::page_token_unknown());
    Ok((small(partition)?, position, small(number)?))
}

struct Watch {
    caller: Caller,
    follower: Follower,
    stop: Stop,
    watched: Vec<Watched>,
    found: VecDeque<Arc<SignificantEvent>>,
}

struct Watched {
    after: u64,
    next: Option<u64>,
}

impl Watched {
    fn take(&mut self, caller: &Caller, events: &[Arc<SignificantEvent>], found: &mut VecDeque<Arc<SignificantEvent>>) {
        let wanted = events.iter().filter(|event| event.position > self.after && is_for(caller.own(), event));
        found.extend(wanted.cloned());
        self.next = self.next.map(|next| next + events.len() as u64);
    }
}

impl Watch {
    async fn next(&mut self) -> Result<Option<Arc<SignificantEvent>>, Refusal> {
        let mut grown = self.follower.grown();
        loop {
            if let Some(event) = self.found.pop_front() {
                return Ok(Some(event));
            }
            let (caller, watched, found) = (&self.caller, &mut self.watched, &mut self.found);
            let away = self.follower.now(|partitions, _| {
                let each = partitions.iter().zip(watched).enumerate();
                let mut away = each.filter_map(|(at, (figures, watched))| {
                    let events = &figures.significant.events;
                    let next = *watched.next.get_or_insert_with(|| events.number_near(watched.after));
                    match events.latest_from(next) {
                        Some(latest) => {
                            watched.take(caller, latest, found);
                            None
                        }
                        None => Some((at, next, events.look())),
                    }
                });
                away.next()
            });
            if let Some((at, next, look)) = away {
                if self.stop.is_requested() {
                    return Ok(None);
                }
                let events = self.follower.ledgers().reads().run(caller, move || look.from(next)).await??;
                self.watched[at].take(caller, &events, found);
            } else if found.is_empty() {
                tokio::select! {
                    biased;
                    () = self.stop.clone().requested() => return Ok(None),
                    changed = grown.changed() => match changed {
                        Ok(()) => {}
                        Err(_) => return Ok(None),
                    },
                }
            }
        }
    }
}

#[tonic::async_trait]
impl ReportService for ReportApi {
    async fn list_significant_events(
        &self,
        request: Request<wire::ListSignificantEventsRequest>,
    ) -> RpcResult<wire::ListSignificantEventsResponse> {
        Ok(Response::new(self.significant(&Caller::from_request(&request), request.get_ref()).await?))
    }

    type WatchSignificantEventsStream = BoxStream<wire::WatchSignificantEventsResponse>;

    async fn watch_significant_events(
        &self,
        request: Request<wire::WatchSignificantEventsRequest>,
    ) -> RpcResult<Self::WatchSignificantEventsStream> {
        let (follower, stop) = (self.follower.clone(), self.stop.clone());
        follower.ledgers().whole()?;
        let wire::WatchSignificantEventsRequest { after_position, after_positions } = request.get_ref();
        let after = [*after_position].into_iter().chain(after_positions.iter().copied()).chain(iter::repeat(0));
        let watched = follower.ledgers().all().zip(after).map(|(_, after)| Watched { after, next: None }).collect();
        let watch = Watch { caller: Caller::from_request(&request), follower, stop, watched, found: VecDeque::new() };
        let events = stream::try_unfold(watch, |mut watch| async {
            let event = watch.next().await?.map(Arc::unwrap_or_clone);
            Ok(event.map(|event| (wire::WatchSignificantEventsResponse { event: Some(event) }, watch)))
        });
        Ok(Response::new(Box::pin(events)))
    }

    async fn list_returns(&self, request: Request<wire::ListReturnsRequest>) -> RpcResult<wire::ListReturnsResponse> {
        let caller = Caller::from_request(&request);
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
        let wanted = ReturnFilter { game, operator, out_of_band_only, days };
        let found = self.follower.ledgers().reads().run(&caller, move || returns.report(&wanted)).await?;
        let ReturnList { levels: returns, totals } = found;
        Ok(Response::new(wire::ListReturnsResponse { returns, position, totals }))
    }

    async fn list_void_shares(
        &self,
        request: Request<wire::ListVoidSharesRequest>,
    ) -> RpcResult<wire::ListVoidSharesResponse> {
        let caller = Caller::from_request(&request);
        Ok(Response::new(void_shares::list(&self.follower, &caller, request.get_ref()).await?))
    }

    async fn get_pool_statement(
        &self,
        request: Request<wire::GetPoolStatementRequest>,
    ) -> RpcResult<wire::GetPoolStatementResponse> {
        Ok(Response::new(self.statement(request.get_ref()).await?))
    }

    async fn list_transactions(
        &self,
        request: Request<wire::ListTransactionsRequest>,
    ) -> RpcResult<wire::ListTransactionsResponse> {
        Ok(Response::new(transactions::list(&self.follower, &Caller::from_request(&request), request.get_ref()).await?))
    }

    async fn list_operator_rounds(
        &self,
        request: Request<wire::ListOperatorRoundsRequest>,
    ) -> RpcResult<wire::ListOperatorRoundsResponse> {
        let caller = Caller::from_request(&request);
        Ok(Response::new(operator_rounds::list(&self.follower, &caller, request.get_ref()).await?))
    }

    async fn list_refusals(
        &self,
        request: Request<wire::ListRefusalsRequest>,
    ) -> RpcResult<wire::ListRefusalsResponse> {
        Ok(Response::new(refused_calls::list(&Caller::from_request(&request), request.get_ref())?))
    }

    async fn list_revenue(&self, request: Request<wire::ListRevenueRequest>) -> RpcResult<wire::ListRevenueResponse> {
        Ok(Response::new(revenue::list(&self.follower, &Caller::from_request(&request), request.get_ref()).await?))
    }

    async fn get_round_page(
        &self,
        request: Request<wire::GetRoundPageRequest>,
    ) -> RpcResult<wire::GetRoundPageResponse> {
        Ok(Response::new(self.round_page(&Caller::from_request(&request), request.get_ref()).await?))
    }

    async fn get_identity(&self, request: Request<wire::GetIdentityRequest>) -> RpcResult<wire::GetIdentityResponse> {
        let caller = who(&Caller::from_request(&request));
        let identity = Arc::clone(&self.check.identity);
        let stated = tokio::task::spawn_blocking(move || identity.to_wire()).await;
        let stated = stated.map_err(|error| Refusal::new(Reason::Internal, error.to_string()))?;
        Ok(Response::new(wire::GetIdentityResponse { caller, ..stated }))
    }

    async fn get_service_status(
        &self,
        _: Request<wire::GetServiceStatusRequest>,
    ) -> RpcResult<wire::GetServiceStatusResponse> {
        Ok(Response::new(self.status.to_wire()))
    }

    async fn run_self_check(&self, _: Request<wire::RunSelfCheckRequest>) -> RpcResult<wire::RunSelfCheckResponse> {
        let time = Some(timestamp(self.follower.ledgers().now_ms()));
        let failures = self.check.check().await.to_vec();
        Ok(Response::new(wire::RunSelfCheckResponse { time, failures }))
    }
}
