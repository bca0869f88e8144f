use crate::PROGRAM;
use motherlode_proto::{
    jackpot::v1::WatchCountersRequest, report::v1::GetIdentityRequest, round::v1::Account, spin::v1::ListGamesRequest,
};
use motherlode_runtime::connect::connect;
use motherlode_tests::{
    Client, EUR, Process,
    hostile::Target,
    operators::{Certificates, operator, token},
    reason, until,
};
use std::fs;
use tonic::Code;

const ROLES: &str = r#"["play", "wallet"]"#;
pub const APPLIED: &str = "the changed configuration was applied";
pub const REFUSED: &str = "the changed configuration was refused: the previous configuration stays in force";

pub async fn client(process: &Process, shown: &str) -> Client {
    Client::on(connect(&format!("http://{}", process.address), &token(shown), None).await.unwrap())
}

pub async fn reload(process: &Process, says: &str) -> String {
    let before = process.log_lines(says).len();
    process.reload();
    until(says, async || process.log_lines(says).len() > before).await;
    process.log_line(says).unwrap()
}

async fn configuration(client: &mut Client) -> String {
    client.report.get_identity(GetIdentityRequest {}).await.unwrap().into_inner().configuration_sha256
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_27_a_reload_replaces_credentials_and_ends_the_streams_of_removed_ones_only() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("serve.toml");
    let with = |tokens: &[&str]| operator("acme", &tokens.iter().map(|token| (*token, ROLES)).collect::<Vec<_>>());
    fs::write(&file, with(&["stays", "goes"])).unwrap();
    let process = Process::start(PROGRAM, &folder.path().join("data"), Some(&file));
    let (mut stays, mut goes) = (client(&process, "stays").await, client(&process, "goes").await);
    let before = configuration(&mut stays).await;
    let watch = || WatchCountersRequest { pool_id: "bewitched".into(), ..WatchCountersRequest::default() };
    let mut kept = stays.jackpot.watch_counters(watch()).await.unwrap().into_inner();
    let mut ended = goes.jackpot.watch_counters(watch()).await.unwrap().into_inner();

    let bravo = operator("bravo", &[("new", ROLES)]);
    fs::write(&file, with(&["stays", "comes"]) + &bravo).unwrap();
    let line = reload(&process, APPLIED).await;
    let after = configuration(&mut stays).await;
    assert!(after != before && line.contains(&before) && line.contains(&after), "{line}");
    let mut comes = client(&process, "comes").await;
    comes.fund("alice", EUR, 1_000).await;
    let account = Account { operator_id: "bravo".into(), player_id: "gina".into(), currency_code: EUR.into() };
    client(&process, "new").await.fund_account(&account, 1_000).await;
    let refused = goes.spin.list_games(ListGamesRequest {}).await.unwrap_err();
    assert_eq!((refused.code(), reason(&refused).as_str()), (Code::Unauthenticated, "TOKEN_UNKNOWN"));
    let status = loop {
        if let Err(status) = ended.message().await {
            break status;
        }
    };
    assert_eq!((status.code(), reason(&status).as_str()), (Code::Unauthenticated, "TOKEN_UNKNOWN"));
    for _ in 0..3 {
        kept.message().await.unwrap().unwrap();
    }

    for (text, named) in [
        (with(&["stays"]) + &bravo + "[limits]\nqueue_length_max = 77\n", "limits.queue_length_max"),
        ("partitions = 2\n".to_owned() + &with(&["stays"]) + &bravo, "partitions"),
        ("[[operators]".to_owned(), "serve.toml"),
    ] {
        fs::write(&file, text).unwrap();
        let line = reload(&process, REFUSED).await;
        assert!(line.contains(named), "{line}");
        comes.spin.list_games(ListGamesRequest {}).await.unwrap();
        assert_eq!(configuration(&mut stays).await, after);
    }
    assert_eq!(process.terminate().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn uf_02_a_reload_reads_the_certificates_again_for_new_connections() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("serve.toml");
    let old = Certificates::make(folder.path());
    fs::write(&file, Certificates::section(folder.path()) + &operator("acme", &[("a", ROLES)])).unwrap();
    let process = Process::start(PROGRAM, &folder.path().join("data"), Some(&file));
    let connected = async |root: &str| {
        let (url, credentials) = Target::tls(process.address, root).with("a").honest();
        connect(&url, &credentials, None).await.map(Client::on)
    };
    let mut open = connected(&old.root).await.unwrap();
    open.spin.list_games(ListGamesRequest {}).await.unwrap();

    let new = Certificates::make(folder.path());
    reload(&process, APPLIED).await;
    connected(&new.root).await.unwrap().spin.list_games(ListGamesRequest {}).await.unwrap();
    assert!(connected(&old.root).await.is_err(), "the old certificate is not served");
    open.spin.list_games(ListGamesRequest {}).await.unwrap();

    fs::write(folder.path().join("service.key"), "no key").unwrap();
    let line = reload(&process, REFUSED).await;
    assert!(line.contains("service.key"), "{line}");
    connected(&new.root).await.unwrap().spin.list_games(ListGamesRequest {}).await.unwrap();
    assert_eq!(process.terminate().await, Some(0));
}
