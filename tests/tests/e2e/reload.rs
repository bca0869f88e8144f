use crate::PROGRAM;
use motherlode_proto::{
    admin::v1::{ReloadConfigRequest, ReloadConfigResponse, admin_service_client::AdminServiceClient},
    jackpot::v1::WatchCountersRequest,
    report::v1::{GetIdentityRequest, ListSignificantEventsRequest, SignificantEvent, SignificantKind},
    round::v1::Account,
    spin::v1::{ListGamesRequest, OpenSessionRequest},
};
use motherlode_runtime::{access::OPERATOR, connect::connect};
use motherlode_tests::{
    Client, EUR, Process,
    hostile::Target,
    operators::{Certificates, operator, token},
    reason, until,
};
use std::{fs, process::Command};
use tonic::{Code, Request};
use tonic_types::StatusExt;

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
async fn pl_27_a_reload_adds_and_removes_brands_of_a_credential() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("serve.toml");
    let with = |brands: &str| {
        let acme = operator("acme", &[("a", ROLES)]) + &format!("operators = [{brands}]\n");
        acme + &operator("brand", &[]) + &operator("other", &[])
    };
    fs::write(&file, with("'brand'")).unwrap();
    let process = Process::start(PROGRAM, &folder.path().join("data"), Some(&file));
    let mut client = client(&process, "a").await;
    let named = |brand: &'static str| {
        let mut request = Request::new(WatchCountersRequest { pool_id: "bewitched".into(), ..Default::default() });
        request.metadata_mut().insert(OPERATOR, brand.parse().unwrap());
        request
    };
    let mut kept = client.jackpot.watch_counters(named("acme")).await.unwrap().into_inner();
    let mut ended = client.jackpot.watch_counters(named("brand")).await.unwrap().into_inner();
    let refused = client.jackpot.watch_counters(named("other")).await.unwrap_err();
    assert_eq!((refused.code(), reason(&refused).as_str()), (Code::PermissionDenied, "OPERATOR_NOT_SERVED"));

    fs::write(&file, with("'other', 'brand'")).unwrap();
    let line = reload(&process, APPLIED).await;
    assert!(line.contains("operators.acme.credentials"), "{line}");
    client.jackpot.watch_counters(named("other")).await.unwrap();
    for stream in [&mut kept, &mut ended] {
        stream.message().await.unwrap().unwrap();
    }

    fs::write(&file, with("'other'")).unwrap();
    reload(&process, APPLIED).await;
    let status = loop {
        if let Err(status) = ended.message().await {
            break status;
        }
    };
    assert_eq!(reason(&status), "OPERATOR_NOT_SERVED");
    let refused = client.jackpot.watch_counters(named("brand")).await.unwrap_err();
    assert_eq!(reason(&refused), "OPERATOR_NOT_SERVED");
    client.jackpot.watch_counters(named("other")).await.unwrap();
    for _ in 0..3 {
        kept.message().await.unwrap().unwrap();
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

const ADMINS: &str = r#"["admin", "audit"]"#;

async fn called(process: &Process, shown: &str) -> Result<ReloadConfigResponse, tonic::Status> {
    let connection = connect(&format!("http://{}", process.address), &token(shown), None).await.unwrap();
    Ok(AdminServiceClient::new(connection).reload_config(ReloadConfigRequest {}).await?.into_inner())
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_26_a_reload_adds_a_jurisdiction_for_new_sessions() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("serve.toml");
    let acme = operator("acme", &[("a", ROLES)]);
    fs::write(&file, &acme).unwrap();
    let process = Process::start(PROGRAM, &folder.path().join("data"), Some(&file));
    let mut client = client(&process, "a").await;
    let account = Some(client.fund("alice", EUR, 1_000).await);
    let open = |request_id: &str| {
        let (request_id, account) = (request_id.to_owned(), account.clone());
        let (game, jurisdiction) = ("neptune".to_owned(), "mga".to_owned());
        OpenSessionRequest { request_id, account, game, jurisdiction, ..OpenSessionRequest::default() }
    };
    let refused = client.spin.open_session(open("before")).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);

    fs::write(&file, acme + "[jurisdictions]\nprofiles.mga = { autoplay = false, round_ms_min = 1_500 }\n").unwrap();
    reload(&process, APPLIED).await;
    let opened = client.spin.open_session(open("after")).await.unwrap().into_inner();
    let profile = opened.profile.unwrap();
    assert_eq!((profile.autoplay, profile.round_ms_min), (false, 1_500));
    assert_eq!(process.terminate().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_27_a_reload_replaces_the_log_filter() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("serve.toml");
    let platform = operator("platform", &[("admin", ADMINS)]);
    fs::write(&file, &platform).unwrap();
    let process = Process::start(PROGRAM, &folder.path().join("data"), Some(&file));
    let quiet = "[telemetry]\nfilter = 'warn'\n";
    let acme = operator("acme", &[]);
    for (text, key) in [
        (platform.clone() + quiet, "telemetry.filter"),
        (platform.clone() + &acme + quiet, "operators.acme"),
        (platform.clone() + &acme, "telemetry.filter"),
    ] {
        fs::write(&file, text).unwrap();
        assert_eq!(called(&process, "admin").await.unwrap().keys, [key]);
    }
    until(APPLIED, async || !process.log_lines(APPLIED).is_empty()).await;
    assert_eq!(process.log_lines(APPLIED).len(), 1, "only the last reload is logged at level info");
    assert_eq!(process.terminate().await, Some(0));
}

async fn reloads(client: &mut Client) -> Vec<SignificantEvent> {
    let kinds = vec![SignificantKind::ConfigurationReloaded.into()];
    let request = ListSignificantEventsRequest { kinds, ..ListSignificantEventsRequest::default() };
    client.report.list_significant_events(request).await.unwrap().into_inner().events
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_22_pl_27_a_reload_by_call_or_signal_is_logged_with_its_digests_keys_and_actor() {
    let folder = tempfile::tempdir().unwrap();
    let (file, data) = (folder.path().join("serve.toml"), folder.path().join("data"));
    let platform = operator("platform", &[("admin", ADMINS)]);
    let acme = operator("acme", &[("acme", r#"["play", "admin", "audit"]"#)]);
    let with = |weight: u32| platform.clone() + &acme.replacen("]]\n", &format!("]]\nweight = {weight}\n"), 1);
    fs::write(&file, with(1)).unwrap();
    let process = Process::start(PROGRAM, &data, Some(&file));
    let (mut admin, mut acme) = (client(&process, "admin").await, client(&process, "acme").await);
    let first = configuration(&mut admin).await;

    fs::write(&file, with(2)).unwrap();
    let answer = called(&process, "admin").await.unwrap();
    let second = configuration(&mut admin).await;
    assert_eq!([&answer.configuration_sha256_before, &answer.configuration_sha256_after], [&first, &second]);
    assert_ne!(first, second);
    assert_eq!((answer.keys.as_slice(), answer.key_count), (&["operators.acme.weight".to_owned()][..], 1));

    fs::write(&file, with(3) + &operator("bravo", &[])).unwrap();
    reload(&process, APPLIED).await;
    let third = configuration(&mut admin).await;
    until("both events", async || reloads(&mut client(&process, "admin").await).await.len() == 2).await;
    let events = reloads(&mut admin).await;
    let figures = |event: &SignificantEvent| {
        [&event.before, &event.after, &event.actor, &event.reason, &event.operator_id].map(String::clone)
    };
    let expected = [
        [&*second, &third, "(signal)", "operators.acme.weight, operators.bravo", "platform"],
        [&*first, &second, "c0", "operators.acme.weight", "platform"],
    ];
    assert_eq!(events.iter().map(figures).collect::<Vec<_>>(), expected.map(|row| row.map(str::to_owned)));
    assert_eq!(events[1].position, answer.position);
    assert_eq!(reloads(&mut acme).await, [], "another operator's keys are not shown");

    for (text, code, keys) in [
        ("partitions = 2\n".to_owned() + &with(1), "RESTART_REQUIRED", "partitions"),
        (platform.clone() + "[[operators]", "CONFIGURATION_INVALID", ""),
    ] {
        fs::write(&file, text).unwrap();
        let refused = called(&process, "admin").await.unwrap_err();
        assert_eq!((refused.code(), reason(&refused).as_str()), (Code::FailedPrecondition, code));
        let details = refused.get_error_details();
        assert_eq!(details.error_info().unwrap().metadata.get("keys").map_or("", String::as_str), keys);
        assert_eq!(configuration(&mut admin).await, third);
    }
    let refused = called(&process, "acme").await.unwrap_err();
    assert_eq!((refused.code(), reason(&refused).as_str()), (Code::PermissionDenied, "ROLE_MISSING"));
    assert_eq!(reloads(&mut admin).await.len(), 2, "a refused reload is not logged");
    assert_eq!(process.terminate().await, Some(0));

    let shown =
        Command::new(PROGRAM).args(["log", "show"]).arg(&data).arg(answer.position.to_string()).output().unwrap();
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("ConfigurationReloaded") && shown.contains(&second), "{shown}");
    assert!(shown.contains("\nconfiguration reloaded\n"), "{shown}");
    let audit = Command::new(PROGRAM).arg("audit").arg(&data).status().unwrap();
    assert!(audit.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_27_the_reload_command_prints_the_applied_keys_and_a_refusal() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("serve.toml");
    fs::write(folder.path().join("token"), "admin").unwrap();
    let platform = operator("platform", &[("admin", ADMINS)]);
    fs::write(&file, &platform).unwrap();
    let process = Process::start(PROGRAM, &folder.path().join("data"), Some(&file));
    let run = || {
        let mut command = Command::new(PROGRAM);
        command.args(["reload", "--target", &format!("http://{}", process.address), "--token-file"]);
        let output = command.arg(folder.path().join("token")).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    fs::write(&file, platform.clone() + &operator("acme", &[])).unwrap();
    let (code, text, _) = run();
    assert_eq!(code, Some(0));
    assert!(text.starts_with("applied operators.acme\nconfiguration_sha256 before "), "{text}");
    fs::write(&file, "partitions = 2\n".to_owned() + &platform).unwrap();
    let (code, _, text) = run();
    assert_eq!(code, Some(1));
    assert!(text.contains("RESTART_REQUIRED") && text.contains("partitions"), "{text}");
    assert_eq!(process.terminate().await, Some(0));
}
