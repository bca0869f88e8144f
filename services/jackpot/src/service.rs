//! The jackpot service over gRPC.

use crate::{counters::Watch, wire as message};
use motherlode_books::{Award, Event, PoolState, StreamId};
use motherlode_ledger::{Handle, Proposal, fields, fingerprint};
use motherlode_proto::jackpot::v1::{self as wire, jackpot_service_server::JackpotService};
use motherlode_runtime::{Caller, Refusal, Stop};
use prost::Message;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};

/// Awards a page, unless the caller says otherwise.
const PAGE_SIZE: usize = 20;
/// Most awards a page.
const PAGE_SIZE_MAX: usize = 100;
/// Awards that a page looks at, however few of them are the caller's.
const LOOK_MAX: usize = 1000;

/// The service.
#[derive(Clone)]
pub struct JackpotApi {
    ledger: Handle,
    stop: Stop,
}

impl JackpotApi {
    /// Serves the pools of a ledger; at the stop the counters' streams end.
    #[must_use]
    pub fn new(ledger: Handle, stop: Stop) -> Self {
        Self { ledger, stop }
    }

    fn pool<T>(&self, pool_id: &str, read: impl FnOnce(&PoolState) -> T) -> Result<T, Refusal> {
        let pool = fields::id("pool_id", pool_id)?;
        let found = self.ledger.books(|books| books.pool(pool).map(read));
        found.ok_or_else(|| Refusal::not_found("POOL_UNKNOWN", "no such pool").with("pool_id", pool))
    }

    /// Appends one decision about a pool and answers with the pool as it is then.
    async fn decide(
        &self,
        method: &str,
        request: &impl Message,
        request_id: &str,
        pool_id: &str,
        event: Event,
    ) -> Result<Option<wire::Pool>, Refusal> {
        let proposal = Proposal {
            stream: StreamId::pool(fields::id("pool_id", pool_id)?),
            expected_version: None,
            request_id: fields::id("request_id", request_id)?.to_owned(),
            fingerprint: fingerprint(method, request),
            events: vec![event],
        };
        self.ledger.append(proposal).await?;
        self.pool(pool_id, message::pool).map(Some)
    }

    async fn open(&self, request: wire::OpenPoolRequest) -> Result<wire::OpenPoolResponse, Refusal> {
        let terms = message::parse_terms(request.terms.as_ref(), 1)?;
        // A bet adds to the pool of its game's name: with one, a game without a jackpot could not be played (BW-11).
        if motherlode_slots::latest(&request.pool_id).is_some_and(|game| !game.info().jackpot) {
            return Err(Refusal::field("pool_id", "must not name a game without a jackpot"));
        }
        let event = Event::PoolOpened { pool: request.pool_id.clone(), terms };
        let pool = self.decide("open_pool", &request, &request.request_id, &request.pool_id, event).await?;
        Ok(wire::OpenPoolResponse { pool })
    }

    async fn change_terms(
        &self,
        request: wire::ChangePoolTermsRequest,
    ) -> Result<wire::ChangePoolTermsResponse, Refusal> {
        let id = fields::id("request_id", &request.request_id)?;
        let version = self.pool(&request.pool_id, PoolState::next_terms_version)?;
        let terms = message::parse_terms(request.terms.as_ref(), version)?;
        let event = Event::PoolTermsChanged { terms };
        let pool = self.decide("change_pool_terms", &request, id, &request.pool_id, event).await?;
        Ok(wire::ChangePoolTermsResponse { pool })
    }

    async fn suspend(&self, request: wire::SuspendPoolRequest) -> Result<wire::SuspendPoolResponse, Refusal> {
        let event = Event::PoolSuspended {
            reason: fields::text("reason", &request.reason, 256)?.to_owned(),
            actor: fields::text("actor", &request.actor, 64)?.to_owned(),
        };
        self.pool(&request.pool_id, |_| ())?;
        let pool = self.decide("suspend_pool", &request, &request.request_id, &request.pool_id, event).await?;
        Ok(wire::SuspendPoolResponse { pool })
    }

    async fn resume(&self, request: wire::ResumePoolRequest) -> Result<wire::ResumePoolResponse, Refusal> {
        let event = Event::PoolResumed { actor: fields::text("actor", &request.actor, 64)?.to_owned() };
        self.pool(&request.pool_id, |_| ())?;
        let pool = self.decide("resume_pool", &request, &request.request_id, &request.pool_id, event).await?;
        Ok(wire::ResumePoolResponse { pool })
    }

    async fn retire(&self, request: wire::RetirePoolRequest) -> Result<wire::RetirePoolResponse, Refusal> {
        let into = fields::id("into_pool_id", &request.into_pool_id)?;
        let actor = fields::text("actor", &request.actor, 64)?;
        self.pool(into, |_| ())?;
        let proposal = |increments, reserve| Event::PoolRetired {
            into: into.to_owned(),
            increments,
            reserve,
            actor: actor.to_owned(),
        };
        let pool = loop {
            let (increments, reserve) = self.pool(&request.pool_id, |pool| (pool.increments, pool.reserve))?;
            let event = proposal(increments, reserve);
            match self.decide("retire_pool", &request, &request.request_id, &request.pool_id, event).await {
                // A contribution was pooled between the reading and the writing: what there is now is moved.
                Err(refusal) if refusal.reason() == "POOL_FIGURE_STALE" => {}
                decided => break decided?,
            }
        };
        Ok(wire::RetirePoolResponse { pool })
    }

    fn awards(&self, caller: &Caller, request: &wire::ListAwardsRequest) -> Result<wire::ListAwardsResponse, Refusal> {
        self.pool(&request.pool_id, |_| ())?;
        let size = match usize::try_from(request.page_size) {
            Ok(0) => PAGE_SIZE,
            Ok(size) => size.min(PAGE_SIZE_MAX),
            Err(_) => return Err(Refusal::field("page_size", "must not be negative")),
        };
        let before = match request.page_token.as_str() {
            "" => u64::MAX,
            token => token.parse().map_err(|_| Refusal::field("page_token", "is not one that was handed out"))?,
        };
        let stream = StreamId::pool(request.pool_id.as_str());
        let mut page = wire::ListAwardsResponse::default();
        let mut last = before;
        for (looked, position) in self.ledger.awards_before(&stream, before, LOOK_MAX + 1)?.into_iter().enumerate() {
            if page.awards.len() == size || looked == LOOK_MAX {
                page.next_page_token = last.to_string();
                break;
            }
            let logged = self.ledger.fetch(position)?;
            page.awards.extend(logged.commit.events.iter().filter_map(|event| match event {
                Event::JackpotAwarded(award) if is_shown(caller, award) => Some(message::award(&logged, award)),
                _ => None,
            }));
            last = position;
        }
        Ok(page)
    }
}

/// Whether a caller may see an award: its own players', the platform all of them (PL-27).
fn is_shown(caller: &Caller, award: &Award) -> bool {
    matches!(&award.stream, StreamId::Player { operator, .. } if caller.sees(operator))
}

#[tonic::async_trait]
impl JackpotService for JackpotApi {
    async fn get_pool(
        &self,
        request: Request<wire::GetPoolRequest>,
    ) -> Result<Response<wire::GetPoolResponse>, Status> {
        let pool = self.pool(&request.get_ref().pool_id, message::pool)?;
        Ok(Response::new(wire::GetPoolResponse { pool: Some(pool) }))
    }

    type WatchCountersStream = ReceiverStream<Result<wire::WatchCountersResponse, Status>>;

    async fn watch_counters(
        &self,
        request: Request<wire::WatchCountersRequest>,
    ) -> Result<Response<Self::WatchCountersStream>, Status> {
        let watch = Watch::parse(&self.ledger, request.get_ref())?;
        let (sender, receiver) = mpsc::channel(1);
        let (ledger, stop) = (self.ledger.clone(), self.stop.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = watch.run(ledger, sender) => {}
                () = stop.requested() => {}
            }
        });
        Ok(Response::new(ReceiverStream::new(receiver)))
    }

    async fn list_awards(
        &self,
        request: Request<wire::ListAwardsRequest>,
    ) -> Result<Response<wire::ListAwardsResponse>, Status> {
        Ok(Response::new(self.awards(&Caller::of(&request), request.get_ref())?))
    }

    async fn open_pool(
        &self,
        request: Request<wire::OpenPoolRequest>,
    ) -> Result<Response<wire::OpenPoolResponse>, Status> {
        Ok(Response::new(self.open(request.into_inner()).await?))
    }

    async fn change_pool_terms(
        &self,
        request: Request<wire::ChangePoolTermsRequest>,
    ) -> Result<Response<wire::ChangePoolTermsResponse>, Status> {
        Ok(Response::new(self.change_terms(request.into_inner()).await?))
    }

    async fn suspend_pool(
        &self,
        request: Request<wire::SuspendPoolRequest>,
    ) -> Result<Response<wire::SuspendPoolResponse>, Status> {
        Ok(Response::new(self.suspend(request.into_inner()).await?))
    }

    async fn resume_pool(
        &self,
        request: Request<wire::ResumePoolRequest>,
    ) -> Result<Response<wire::ResumePoolResponse>, Status> {
        Ok(Response::new(self.resume(request.into_inner()).await?))
    }

    async fn retire_pool(
        &self,
        request: Request<wire::RetirePoolRequest>,
    ) -> Result<Response<wire::RetirePoolResponse>, Status> {
        Ok(Response::new(self.retire(request.into_inner()).await?))
    }
}
