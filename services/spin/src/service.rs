use crate::{answer::PlayedBytes, api::SpinApi, bet::Play, describe, jackpot_returns};
use motherlode_proto::{
    play_stream::{PlayStream, StreamAnswers},
    spin::v1::{
        self as wire, ChooseRequest, ChooseResponse, SpinRequest, SpinResponse, play_stream_request::Call as Asked,
        spin_service_server::SpinService,
    },
};
use motherlode_runtime::{Caller, Reason, Refusal, connections::Peer};
use motherlode_state::PoolStatus;
use std::{pin::Pin, sync::Arc};
use tokio_stream::Stream;
use tonic::{Request, Response, Status, Streaming};

#[tonic::async_trait]
impl PlayStream for SpinApi {
    async fn play_stream(
        &self,
        request: Request<Streaming<wire::PlayStreamRequest>>,
    ) -> Result<Response<StreamAnswers>, Status> {
        let peer = request.extensions().get::<Arc<Peer>>().cloned();
        Ok(Response::new(Box::pin(self.clone().play_all(Caller::from_request(&request), peer, request.into_inner()))))
    }
}

impl SpinApi {
    pub(crate) async fn answer(&self, request: Request<Asked>) -> Result<PlayedBytes, Refusal> {
        let caller = Caller::from_request(&request);
        let play = Play::parse(&caller, &self.ledgers, &self.ladders, request.get_ref())?;
        self.play(&play, request.metadata()).await
    }
}

#[tonic::async_trait]
impl SpinService for SpinApi {
    #[tracing::instrument(name = "spin", level = "debug", skip_all, err(Debug, level = "debug"))]
    async fn spin(&self, request: Request<SpinRequest>) -> Result<Response<SpinResponse>, Status> {
        let played = self.answer(request.map(Asked::Spin)).await?;
        Ok(Response::new(SpinResponse { played: Some(played.message()) }))
    }

    #[tracing::instrument(name = "choose", level = "debug", skip_all, err(Debug, level = "debug"))]
    async fn choose(&self, request: Request<ChooseRequest>) -> Result<Response<ChooseResponse>, Status> {
        let played = self.answer(request.map(Asked::Choose)).await?;
        Ok(Response::new(ChooseResponse { played: Some(played.message()) }))
    }

    type AutospinStream = Pin<Box<dyn Stream<Item = Result<wire::AutospinResponse, Status>> + Send>>;

    #[tracing::instrument(name = "autospin", level = "debug", skip_all, err(Debug, level = "debug"))]
    async fn autospin(
        &self,
        request: Request<wire::AutospinRequest>,
    ) -> Result<Response<Self::AutospinStream>, Status> {
        Ok(Response::new(Box::pin(self.autospin(&request)?)))
    }

    #[tracing::instrument(name = "open_session", level = "debug", skip_all, err(Debug, level = "debug"))]
    async fn open_session(
        &self,
        request: Request<wire::OpenSessionRequest>,
    ) -> Result<Response<wire::OpenSessionResponse>, Status> {
        Ok(Response::new(self.open_session(&Caller::from_request(&request), request.get_ref()).await?))
    }

    #[tracing::instrument(name = "acknowledge_reality_check", level = "debug", skip_all, err(Debug, level = "debug"))]
    async fn acknowledge_reality_check(
        &self,
        request: Request<wire::AcknowledgeRealityCheckRequest>,
    ) -> Result<Response<wire::AcknowledgeRealityCheckResponse>, Status> {
        Ok(Response::new(self.acknowledge(&Caller::from_request(&request), request.get_ref()).await?))
    }

    type KeepSessionStream = Pin<Box<dyn Stream<Item = Result<wire::KeepSessionResponse, Status>> + Send>>;

    #[tracing::instrument(name = "keep_session", level = "debug", skip_all, err(Debug, level = "debug"))]
    async fn keep_session(
        &self,
        request: Request<wire::KeepSessionRequest>,
    ) -> Result<Response<Self::KeepSessionStream>, Status> {
        Ok(Response::new(Box::pin(self.keep_session(&Caller::from_request(&request), request.get_ref())?)))
    }

    #[tracing::instrument(name = "close_session", level = "debug", skip_all, err(Debug, level = "debug"))]
    async fn close_session(
        &self,
        request: Request<wire::CloseSessionRequest>,
    ) -> Result<Response<wire::CloseSessionResponse>, Status> {
        self.close_session(&Caller::from_request(&request), request.get_ref()).await?;
        Ok(Response::new(wire::CloseSessionResponse {}))
    }

    #[tracing::instrument(name = "skip_round", level = "debug", skip_all, err(Debug, level = "debug"))]
    async fn skip_round(
        &self,
        request: Request<wire::SkipRoundRequest>,
    ) -> Result<Response<wire::SkipRoundResponse>, Status> {
        Ok(Response::new(wire::SkipRoundResponse {
            steps: self.skip_round(&Caller::from_request(&request), request.get_ref()).await?,
        }))
    }

    #[tracing::instrument(name = "close_round", level = "debug", skip_all, err(Debug, level = "debug"))]
    async fn close_round(
        &self,
        request: Request<wire::CloseRoundRequest>,
    ) -> Result<Response<wire::CloseRoundResponse>, Status> {
        Ok(Response::new(wire::CloseRoundResponse {
            steps: self.close_round(&Caller::from_request(&request), request.get_ref()).await?,
        }))
    }

    async fn list_open_rounds(
        &self,
        request: Request<wire::ListOpenRoundsRequest>,
    ) -> Result<Response<wire::ListOpenRoundsResponse>, Status> {
        Ok(Response::new(self.list_open_rounds(&Caller::from_request(&request), request.get_ref()).await?))
    }

    #[tracing::instrument(name = "grant_campaign", level = "debug", skip_all, err(Debug, level = "debug"))]
    async fn grant_campaign(
        &self,
        request: Request<wire::GrantCampaignRequest>,
    ) -> Result<Response<wire::GrantCampaignResponse>, Status> {
        Ok(Response::new(self.grant_campaign(&Caller::from_request(&request), request.get_ref()).await?))
    }

    #[tracing::instrument(name = "grant_campaigns", level = "debug", skip_all, err(Debug, level = "debug"))]
    async fn grant_campaigns(
        &self,
        request: Request<wire::GrantCampaignsRequest>,
    ) -> Result<Response<wire::GrantCampaignsResponse>, Status> {
        Ok(Response::new(self.grant_campaigns(&Caller::from_request(&request), request.get_ref()).await?))
    }

    async fn list_campaigns(
        &self,
        request: Request<wire::ListCampaignsRequest>,
    ) -> Result<Response<wire::ListCampaignsResponse>, Status> {
        Ok(Response::new(self.list_campaigns(&Caller::from_request(&request), request.get_ref()).await?))
    }

    #[tracing::instrument(name = "cancel_campaign", level = "debug", skip_all, err(Debug, level = "debug"))]
    async fn cancel_campaign(
        &self,
        request: Request<wire::CancelCampaignRequest>,
    ) -> Result<Response<wire::CancelCampaignResponse>, Status> {
        Ok(Response::new(self.cancel_campaign(&Caller::from_request(&request), request.get_ref()).await?))
    }

    async fn list_games(
        &self,
        _: Request<wire::ListGamesRequest>,
    ) -> Result<Response<wire::ListGamesResponse>, Status> {
        Ok(Response::new(describe::all()))
    }

    async fn get_game(
        &self,
        request: Request<wire::GetGameRequest>,
    ) -> Result<Response<wire::GetGameResponse>, Status> {
        let request = request.into_inner();
        let ledgers = self.ledgers.clone();
        let now = move |pool: &str, currency| {
            ledgers.home().books(|books| {
                let pool = books.pool(pool);
                jackpot_returns::Now {
                    suspended: pool.is_some_and(|pool| pool.status != PoolStatus::Active),
                    terms: pool.map(|pool| jackpot_returns::terms_of(&pool.terms)),
                    rate: books.rate(currency),
                }
            })
        };
        let ladders = Arc::clone(&self.ladders);
        // The first call computes the game's mathematics, which would block a thread that serves calls.
        let described = tokio::task::spawn_blocking(move || describe::one(&request, &ladders, now)).await;
        Ok(Response::new(described.map_err(|error| Refusal::new(Reason::Internal, error.to_string()))??))
    }
}
