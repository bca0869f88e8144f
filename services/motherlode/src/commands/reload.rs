use super::{Failure, say};
use crate::{client::explain, target::Target};
use motherlode_proto::admin::v1::{
    ReloadConfigRequest, ReloadConfigResponse, admin_service_client::AdminServiceClient,
};
use std::time::Duration;
use tonic::Request;

const ANSWER_MAX: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::found)?;
    runtime.block_on(async {
        let mut client = AdminServiceClient::new(args.target.connect().await?);
        let mut request = Request::new(ReloadConfigRequest {});
        request.set_timeout(ANSWER_MAX);
        let answer = client.reload_config(request).await.map_err(|status| explain(&status))?;
        say(&text(&answer.into_inner()))
    })
}

fn text(reload: &ReloadConfigResponse) -> String {
    let ReloadConfigResponse {
        configuration_sha256_before: before,
        configuration_sha256_after: after,
        keys,
        key_count,
        position,
    } = reload;
    let keys: String = keys.iter().map(|key| format!("applied {key}\n")).collect();
    let omitted = (*key_count as usize).saturating_sub(reload.keys.len());
    let omitted = if omitted > 0 {
        format!("applied {omitted} more configuration keys (the service lists only the first ones)\n")
    } else {
        String::new()
    };
    let keys = if *key_count == 0 { "no configuration key has changed\n".to_owned() } else { keys + &omitted };
    format!(
        "{keys}configuration_sha256 before {before}\nconfiguration_sha256 after  {after}\nlogged at position {position}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pl_27_the_text_names_the_applied_keys_and_the_number_of_omitted_ones() {
        let unchanged = ReloadConfigResponse {
            configuration_sha256_before: "aa".into(),
            configuration_sha256_after: "bb".into(),
            position: 7,
            ..ReloadConfigResponse::default()
        };
        let end = "configuration_sha256 before aa\nconfiguration_sha256 after  bb\nlogged at position 7\n";
        assert_eq!(text(&unchanged), format!("no configuration key has changed\n{end}"));
        let changed = ReloadConfigResponse { keys: vec!["operators.acme.weight".into()], key_count: 3, ..unchanged };
        assert_eq!(
            text(&changed),
            format!(
                "applied operators.acme.weight\napplied 2 more configuration keys (the service lists only the first ones)\n{end}"
            )
        );
    }
}
