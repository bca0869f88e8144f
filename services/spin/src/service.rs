use crate::{answer::PlayedBytes, api::SpinApi, bet::Play, describe, jackpot_returns};
use motherlode_proto::{
    RpcResult,
    play_stream::{PlayStream, StreamAnswers},
    spin::v1::{
        self as wire, ChooseRequest, ChooseResponse, SpinRequest, SpinResponse, play_stream_request::Call as Asked,
        spin_service_server::SpinService,
    },
};
use motherlode_runtime::{Caller, Reason, Refusal, connections::Peer};
use motherlode_state::PoolStatus;
use std::sync::Arc;
use tonic::{Request, Response, Streaming, codegen::BoxStream};

#[tonic::async_trait]
impl PlayStream for SpinApi {
    async fn play_stream(&self, request: Request<Streaming<wire::PlayStreamRequest>>) -> RpcResult<StreamAnswers> {
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
    async fn spin(&self, request: Request<SpinRequest>) -> RpcResult<SpinResponse> {
        let played = self.answer(request.map(Asked::Spin)).await?;
        Ok(Response::new(SpinResponse { played: Some(played.message()) }))
    }

    #[tracing::instrument(name = "choose", level = "debug", skip_all, err(Debug, level = "debug"))]
    async fn choose(&self, request: Request<ChooseRequest>) -> RpcResult<ChooseResponse> {
        let played = self.answer(request.map(Asked::Choose)).await?;
        Ok(Response::new(ChooseResponse { played: Some(played.message()) }))
    }

    type AutospinStream = BoxStream<wire::AutospinResponse>;

    #[tracing::instrument(name = "autospin", level = "debug", skip_all, err(Debug, level = "debug"))]
    async fn autospin(&self, request: Request<wire::AutospinRequest>) -> RpcResult<Self::AutospinStream> {
        Ok(Response::new(Box::pin(self.autospin(&request)?)))
    }

    #[tracing::instrument(name = "open_session", level = "debug", skip_all, err(Debug, level = "debug"))]
    async fn open_session(&self, request: Request<wire::OpenSessionRequest>) -> RpcResult<wire::OpenSessionResponse> {
        Ok(Response::new(self.open_session(&Caller::from_request(&request), request.get_ref()).await?))
    }

    #[tracing::instrument(name = "acknowledge_reality_check", level = "debug", skip_all, err(Debug, level = "debug"))]
    async fn acknowledge_reality_check(
        &self,
        request: Request<wire::AcknowledgeRealityCheckRequest>,
    ) -> RpcResult<wire::AcknowledgeRealityCheckResponse> {
        Ok(Response::new(self.acknowledge(&Caller::from_request(&request), request.get_ref()).await?))
    }

    type KeepSessionStream = BoxStream<wire::KeepSessionResponse>;

    #[tracing::instrument(name = "keep_session", level = "debug", skip_all, err(Debug, level = "debug"))]
    async fn keep_session(&self, request: Request<wire::KeepSessionRequest>) -> RpcResult<Self::KeepSessionStream> {
        Ok(Response::new(Box::pin(self.keep_session(&Caller::from_request(&request), request.get_ref())?)))
    }

    #[tracing::instrument(name = "close_session", level = "debug", skip_all, err(Debug, level = "debug"))]
    async fn close_session(
        &self,
        request: Request<wire::CloseSessionRequest>,
    ) -> RpcResult<wire::CloseSessionResponse> {
        self.close_session(&Caller::from_request(&request), request.get_ref()).await?;
        Ok(Response::new(wire::CloseSessionResponse {}))
    }

    #[tracing::instrument(name = "skip_round", level = "debug", skip_all, err(Debug, level = "debug"))]
    async fn skip_round(&self, request: Request<wire::SkipRoundRequest>) -> RpcResult<wire::SkipRoundResponse> {
        Ok(Response::new(wire::SkipRoundResponse {
            steps: self.skip_round(&Caller::from_request(&request), request.get_ref()).await?,
        }))
    }

    #[tracing::instrument(name = "close_round", level = "debug", skip_all, err(Debug, level = "debug"))]
    async fn close_round(&self, request: Request<wire::CloseRoundRequest>) -> RpcResult<wire::CloseRoundResponse> {
        Ok(Response::new(wire::CloseRoundResponse {
            steps: self.close_round(&Caller::from_request(&request), request.get_ref()).await?,
        }))
    }

    async fn list_open_rounds(
        &self,
        request: Request<wire::ListOpenRoundsRequest>,
    ) -> RpcResult<wire::ListOpenRoundsResponse> {
        Ok(Response::new(self.list_open_rounds(&Caller::from_request(&request), request.get_ref()).await?))
    }

    #[tracing::instrument(name = "grant_campaign", level = "debug", skip_all, err(Debug, level = "debug"))]
    async fn grant_campaign(
        &self,
        request: Request<wire::GrantCampaignRequest>,
    ) -> RpcResult<wire::GrantCampaignResponse> {
        Ok(Response::new(self.grant_campaign(&Caller::from_request(&request), request.get_ref()).await?))
    }

    #[tracing::instrument(name = "grant_campaigns", level = "debug", skip_all, err(Debug, level = "debug"))]
    async fn grant_campaigns(
        &self,
        request: Request<wire::GrantCampaignsRequest>,
    ) -> RpcResult<wire::GrantCampaignsResponse> {
        Ok(Response::new(self.grant_campaigns(&Caller::from_request(&request), request.get_ref()).await?))
    }

    async fn list_campaigns(
        &self,
        request: Request<wire::ListCampaignsRequest>,
    ) -> RpcResult<wire::ListCampaignsResponse> {
        Ok(Response::new(self.list_campaigns(&Caller::from_request(&request), request.get_ref()).await?))
    }

    #[tracing::instrument(name = "cancel_campaign", level = "debug", skip_all, err(Debug, level = "debug"))]
    async fn cancel_campaign(
        &self,
        request: Request<wire::CancelCampaignRequest>,
    ) -> RpcResult<wire::CancelCampaignResponse> {
        Ok(Response::new(self.cancel_campaign(&Caller::from_request(&request), request.get_ref()).await?))
    }

    async fn list_games(&self, _: Request<wire::ListGamesRequest>) -> RpcResult<wire::ListGamesResponse> {
        Ok(Response::new(describe::all()))
    }

    async fn get_game(&self, request: Request<wire::GetGameRequest>) -> RpcResult<wire::GetGameResponse> {
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
