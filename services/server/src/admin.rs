use crate::reload::{Reload, Reloader};
use motherlode_proto::admin::v1::{self as wire, admin_service_server::AdminService};
use motherlode_runtime::{Caller, Refusal};
use tonic::{Request, Response, Status};

pub(crate) struct AdminApi {
    pub(crate) reloader: Reloader,
}

#[tonic::async_trait]
impl AdminService for AdminApi {
    async fn reload_config(
        &self,
        request: Request<wire::ReloadConfigRequest>,
    ) -> Result<Response<wire::ReloadConfigResponse>, Status> {
        let actor = Caller::from_request(&request).signature();
        let Reload { change, position } = self.reloader.reload(&actor).await.map_err(Refusal::from)?;
        Ok(Response::new(wire::ReloadConfigResponse {
            configuration_sha256_before: change.before,
            configuration_sha256_after: change.after,
            keys: change.keys.into_iter().map(Into::into).collect(),
            key_count: change.key_count,
            position,
        }))
    }
}
