use crate::{
    counters::Watch,
    payments::{in_the_way, payment},
    span, wire as message,
};
use motherlode_ledger::{
    AppendError, FetchError, Handle, Ledgers,
    changes::{self, Ask, ChangeOutcome},
    fields, fingerprint,
    known::{check_game, check_operator},
    offer,
};
use motherlode_proto::{
    RpcResult,
    jackpot::v1::{self as wire, jackpot_service_server::JackpotService},
};
use motherlode_runtime::{Caller, Reason, Refusal, Stop};
use motherlode_slots::Ladders;
use motherlode_state::{Award, Event, Minor, PoolState, Refused, StreamId, UnpaidAward};
use prost::Message;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};

const PAGE_SIZE: usize = 20;
const PAGE_SIZE_MAX: usize = 100;

#[derive(Clone)]
pub struct JackpotApi {
    ledgers: Ledgers,
    stop: Stop,
    ladders: Arc<Ladders>,
    changes: bool,
}

impl JackpotApi {
    #[must_use]
    pub fn new(ledgers: impl Into<Ledgers>, stop: Stop) -> Self {
        Self { ledgers: ledgers.into(), stop, ladders: offer::standard(), changes: true }
    }

    /// Disables changes of pools, which a process with the role `jackpot` must not propose (PL-44).
    #[must_use]
    pub fn without_changes(self) -> Self {
        Self { changes: false, ..self }
    }

    #[must_use]
    pub fn with_ladders(self, ladders: Arc<Ladders>) -> Self {
        Self { ladders, ..self }
    }

    fn shown(&self, pool_id: &str) -> Result<Option<wire::Pool>, Refusal> {
        let stream = StreamId::pool(pool_id);
        let Some((pool, position)) = self.ledgers.home().books(|books| {
            let waiting_hits = u32::try_from(books.pending_hits(pool_id).count()).unwrap_or(u32::MAX);
            books.pool(pool_id).map(|pool| {
                let shown = message::pool(pool, self.ledgers.count());
                (wire::Pool { waiting_hits, ..shown }, pool.head.position)
            })
        }) else {
            return Ok(None);
        };
        Ok(Some(wire::Pool { pending_partitions: self.ledgers.lacking(&stream, position)?, ..pool }))
    }

    fn pool<T>(&self, pool_id: &str, read: impl FnOnce(&PoolState) -> T) -> Result<T, Refusal> {
        let pool = fields::id("pool_id", pool_id)?;
        let found = self.ledgers.home().books(|books| books.pool(pool).map(read));
        found.ok_or_else(|| Refusal::new(Reason::PoolUnknown, "there is no such pool").with("pool_id", pool))
    }

    async fn change(
        &self,
        caller: &Caller,
        (method, request): (&str, &impl Message),
        request_id: &str,
        pool_id: &str,
        (change, reference): (Event, &str),
    ) -> Result<(Option<wire::Pool>, u64), Refusal> {
        if !self.changes {
            let message =
                "this process is not permitted to change pools: send the call to a process with the role ledger";
            return Err(Refusal::new(Reason::ChangeElsewhere, message));
        }
        let stream = StreamId::pool(fields::id("pool_id", pool_id)?);
        let fingerprint = fingerprint(method, request);
        let ask = Ask { stream: stream.clone(), request_id, fingerprint, change, reference };
        let asked = changes::ask(self.ledgers.home(), caller, ask).await?;
        if let ChangeOutcome::Made(position) = asked {
            self.ledgers.spread(&stream, position).await?;
        }
        Ok((self.shown(pool_id)?, asked.change_id()))
    }

    async fn open(&self, caller: &Caller, request: &wire::OpenPoolRequest) -> Result<wire::OpenPoolResponse, Refusal> {
        let terms = message::parse_terms(request.terms.as_ref(), 1)?;
        // A pool takes contributions only from the game of the same name (BW-11), and bets on a game without a jackpot
        // contribute nothing.
        if motherlode_slots::latest(&request.pool_id).is_some_and(|game| !game.info().jackpot) {
            return Err(Refusal::field("pool_id", "names a game that has no jackpot"));
        }
        span::check(&request.pool_id, &terms).await?;
        let change = Event::PoolOpened { pool: request.pool_id.clone().into(), terms };
        let (asked, id) = (("open_pool", request), &request.request_id);
        let (pool, change_id) = self.change(caller, asked, id, &request.pool_id, (change, "")).await?;
        Ok(wire::OpenPoolResponse { pool, change_id })
    }

    async fn change_terms(
        &self,
        caller: &Caller,
        request: &wire::ChangePoolTermsRequest,
    ) -> Result<wire::ChangePoolTermsResponse, Refusal> {
        let id = fields::id("request_id", &request.request_id)?;
        let version = self.pool(&request.pool_id, PoolState::next_terms_version)?;
        let terms = message::parse_terms(request.terms.as_ref(), version)?;
        span::check(&request.pool_id, &terms).await?;
        let change = Event::PoolTermsChanged { terms };
        let asked = ("change_pool_terms", request);
        let (pool, change_id) = self.change(caller, asked, id, &request.pool_id, (change, "")).await?;
        Ok(wire::ChangePoolTermsResponse { pool, change_id })
    }

    async fn suspend(
        &self,
        caller: &Caller,
        request: &wire::SuspendPoolRequest,
    ) -> Result<wire::SuspendPoolResponse, Refusal> {
        let change = Event::PoolSuspended {
            reason: fields::reason("reason", &request.reason)?.to_owned(),
            actor: caller.signature(),
        };
        let reference = fields::reference("actor", &request.actor)?;
        self.pool(&request.pool_id, |_| ())?;
        let (asked, id) = (("suspend_pool", request), &request.request_id);
        let (pool, change_id) = self.change(caller, asked, id, &request.pool_id, (change, reference)).await?;
        Ok(wire::SuspendPoolResponse { pool, change_id })
    }

    async fn resume(
        &self,
        caller: &Caller,
        request: &wire::ResumePoolRequest,
    ) -> Result<wire::ResumePoolResponse, Refusal> {
        let reference = fields::reference("actor", &request.actor)?;
        let change = Event::PoolResumed { actor: caller.signature() };
        self.pool(&request.pool_id, |_| ())?;
        let (asked, id) = (("resume_pool", request), &request.request_id);
        let (pool, change_id) = self.change(caller, asked, id, &request.pool_id, (change, reference)).await?;
        Ok(wire::ResumePoolResponse { pool, change_id })
    }

    async fn retire(
        &self,
        caller: &Caller,
        request: &wire::RetirePoolRequest,
    ) -> Result<wire::RetirePoolResponse, Refusal> {
        let into = fields::id("into_pool_id", &request.into_pool_id)?;
        let reference = fields::reference("actor", &request.actor)?;
        self.pool(into, |_| ())?;
        let (increments, reserve) = self.pool(&request.pool_id, |pool| (pool.increments, pool.reserve))?;
        let (into, actor) = (into.to_owned(), caller.signature());
        let change = Event::PoolRetired { into: into.into(), increments, reserve, actor };
        let (asked, id) = (("retire_pool", request), &request.request_id);
        let (pool, change_id) = self.change(caller, asked, id, &request.pool_id, (change, reference)).await?;
        Ok(wire::RetirePoolResponse { pool, change_id })
    }

    async fn release_hits(
        &self,
        caller: &Caller,
        request: &wire::ReleaseHitsRequest,
    ) -> Result<wire::ReleaseHitsResponse, Refusal> {
        let reason = fields::reason("reason", &request.reason)?.to_owned();
        let reference = fields::reference("actor", &request.actor)?;
        let change = Event::HitsReleased { reason, actor: caller.signature() };
        self.pool(&request.pool_id, |_| ())?;
        let (asked, id) = (("release_hits", request), &request.request_id);
        let (pool, change_id) = self.change(caller, asked, id, &request.pool_id, (change, reference)).await?;
        Ok(wire::ReleaseHitsResponse { pool, change_id })
    }

    async fn declare_incident(
        &self,
        caller: &Caller,
        request: &wire::DeclareIncidentRequest,
    ) -> Result<wire::DeclareIncidentResponse, Refusal> {
        let incident = message::parse_incident(request.incident.as_ref(), caller.signature())?;
        let reference = fields::reference("actor", &request.actor)?;
        self.pool(&request.pool_id, |_| ())?;
        check_game(&incident.game, &incident.rules_version)?;
        check_operator(&self.ledgers, &incident.operator)?;
        let change = Event::IncidentDeclared(incident.into());
        let (asked, id) = (("declare_incident", request), &request.request_id);
        let (pool, change_id) = self.change(caller, asked, id, &request.pool_id, (change, reference)).await?;
        Ok(wire::DeclareIncidentResponse { pool, change_id })
    }

    fn incidents(
        &self,
        caller: &Caller,
        request: &wire::ListIncidentsRequest,
    ) -> Result<wire::ListIncidentsResponse, Refusal> {
        let incidents = self.pool(&request.pool_id, |pool| {
            let own = pool.incidents().filter(|incident| caller.sees(&incident.operator));
            own.map(message::incident).collect()
        })?;
        let pool = &request.pool_id;
        let not_returned = self.ledgers.home().books(|books| {
            let own = books.voids_not_returned(pool).into_iter().filter(|(operator, _)| caller.sees(operator));
            let shown = own.map(|(operator, sum)| wire::VoidsNotReturned {
                operator_id: operator.to_string(),
                voids: sum.voids,
                contributions_eur: sum.amount().to_string(),
            });
            shown.collect()
        });
        Ok(wire::ListIncidentsResponse { incidents, not_returned })
    }

    async fn resolve(
        &self,
        caller: &Caller,
        request: &wire::ResolveAwardsRequest,
    ) -> Result<wire::ResolveAwardsResponse, Refusal> {
        let reference = fields::reference("reference", &request.reference)?;
        self.pool(&request.pool_id, |_| ())?;
        let mut answer = wire::ResolveAwardsResponse::default();
        for ledger in self.ledgers.all() {
            let left = PAGE_SIZE_MAX - answer.paid.len() - answer.waiting.len();
            for (partition, hit, award) in self.set_aside(caller, ledger, &request.pool_id, left) {
                let shown = message::set_aside(partition, hit, &award);
                let acted = fields::acted_by(caller, reference);
                match ledger.append(payment(partition, hit, &award, Some(acted))).await {
                    Ok(_) => answer.paid.push(shown),
                    Err(AppendError::Refused(Refused::Money(_))) => {
                        let in_the_way = Minor(ledger.books_of(&award.stream, |books| in_the_way(books, &award))?);
                        let in_the_way = Some(fields::money(in_the_way, award.currency));
                        answer.waiting.push(wire::SetAsideAward { in_the_way, ..shown });
                    }
                    Err(AppendError::Refused(Refused::AwardHeld { .. })) => answer.waiting.push(shown),
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(answer)
    }

    fn set_aside(&self, caller: &Caller, ledger: &Handle, pool: &str, most: usize) -> Vec<(u32, u64, UnpaidAward)> {
        let is_shown = |stream: &StreamId| matches!(stream, StreamId::Player { operator, .. } if caller.sees(operator));
        ledger.books(|books| {
            let waiting = books.unpaid_awards().filter(|(.., award)| award.set_aside && &*award.pool == pool);
            let shown = waiting.filter(|(.., award)| is_shown(&award.stream)).take(most);
            shown.map(|(partition, hit, award)| (partition, hit, award.clone())).collect()
        })
    }

    async fn awards(
        &self,
        caller: &Caller,
        request: &wire::ListAwardsRequest,
    ) -> Result<wire::ListAwardsResponse, Refusal> {
        self.pool(&request.pool_id, |_| ())?;
        let size = match usize::try_from(request.page_size) {
            Ok(0) => PAGE_SIZE,
            Ok(size) => size.min(PAGE_SIZE_MAX),
            Err(_) => return Err(Refusal::field("page_size", "must not be negative")),
        };
        let before = fields::page_number(&request.page_token)?.unwrap_or(u64::MAX);
        let (stream, ledger) = (StreamId::pool(request.pool_id.as_str()), self.ledgers.home().clone());
        let reader = caller.clone();
        let read = move || {
            let mut page = wire::ListAwardsResponse::default();
            let mut last = before;
            for position in ledger.awards_before(&stream, reader.own(), before, size + 1)? {
                if page.awards.len() >= size {
                    page.next_page_token = last.to_string();
                    break;
                }
                let logged = ledger.fetch(position)?;
                page.awards.extend(logged.commit.events.iter().filter_map(|event| match event {
                    Event::JackpotAwarded(award) if is_shown(&reader, award) => Some(message::award(&logged, award)),
                    _ => None,
                }));
                last = position;
            }
            Ok::<_, FetchError>(page)
        };
        Ok(self.ledgers.reads().run(caller, read).await??)
    }
}

fn is_shown(caller: &Caller, award: &Award) -> bool {
    matches!(&award.stream, StreamId::Player { operator, .. } if caller.sees(operator))
}

#[tonic::async_trait]
impl JackpotService for JackpotApi {
    async fn get_pool(&self, request: Request<wire::GetPoolRequest>) -> RpcResult<wire::GetPoolResponse> {
        let pool_id = &request.get_ref().pool_id;
        self.pool(pool_id, |_| ())?;
        Ok(Response::new(wire::GetPoolResponse { pool: self.shown(pool_id)? }))
    }

    type WatchCountersStream = ReceiverStream<Result<wire::WatchCountersResponse, Status>>;

    async fn watch_counters(
        &self,
        request: Request<wire::WatchCountersRequest>,
    ) -> RpcResult<Self::WatchCountersStream> {
        let watch = Watch::parse(self.ledgers.home(), &self.ladders, request.get_ref())?;
        let (sender, receiver) = mpsc::channel(1);
        let (ledger, stop) = (self.ledgers.home().clone(), self.stop.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = watch.run(ledger, sender) => {}
                () = stop.requested() => {}
            }
        });
        Ok(Response::new(ReceiverStream::new(receiver)))
    }

    async fn list_awards(&self, request: Request<wire::ListAwardsRequest>) -> RpcResult<wire::ListAwardsResponse> {
        Ok(Response::new(self.awards(&Caller::from_request(&request), request.get_ref()).await?))
    }

    async fn resolve_awards(
        &self,
        request: Request<wire::ResolveAwardsRequest>,
    ) -> RpcResult<wire::ResolveAwardsResponse> {
        Ok(Response::new(self.resolve(&Caller::from_request(&request), request.get_ref()).await?))
    }

    async fn open_pool(&self, request: Request<wire::OpenPoolRequest>) -> RpcResult<wire::OpenPoolResponse> {
        Ok(Response::new(self.open(&Caller::from_request(&request), request.get_ref()).await?))
    }

    async fn change_pool_terms(
        &self,
        request: Request<wire::ChangePoolTermsRequest>,
    ) -> RpcResult<wire::ChangePoolTermsResponse> {
        Ok(Response::new(self.change_terms(&Caller::from_request(&request), request.get_ref()).await?))
    }

    async fn suspend_pool(&self, request: Request<wire::SuspendPoolRequest>) -> RpcResult<wire::SuspendPoolResponse> {
        Ok(Response::new(self.suspend(&Caller::from_request(&request), request.get_ref()).await?))
    }

    async fn resume_pool(&self, request: Request<wire::ResumePoolRequest>) -> RpcResult<wire::ResumePoolResponse> {
        Ok(Response::new(self.resume(&Caller::from_request(&request), request.get_ref()).await?))
    }

    async fn release_hits(&self, request: Request<wire::ReleaseHitsRequest>) -> RpcResult<wire::ReleaseHitsResponse> {
        Ok(Response::new(self.release_hits(&Caller::from_request(&request), request.get_ref()).await?))
    }

    async fn declare_incident(
        &self,
        request: Request<wire::DeclareIncidentRequest>,
    ) -> RpcResult<wire::DeclareIncidentResponse> {
        Ok(Response::new(self.declare_incident(&Caller::from_request(&request), request.get_ref()).await?))
    }

    async fn list_incidents(
        &self,
        request: Request<wire::ListIncidentsRequest>,
    ) -> RpcResult<wire::ListIncidentsResponse> {
        Ok(Response::new(self.incidents(&Caller::from_request(&request), request.get_ref())?))
    }

    async fn retire_pool(&self, request: Request<wire::RetirePoolRequest>) -> RpcResult<wire::RetirePoolResponse> {
        Ok(Response::new(self.retire(&Caller::from_request(&request), request.get_ref()).await?))
    }
}
