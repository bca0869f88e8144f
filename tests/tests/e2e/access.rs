use motherlode_ledger::Options;
use motherlode_proto::{
    FILE_DESCRIPTOR_SET,
    jackpot::v1::WatchCountersRequest,
    ledger::v1::{
        GetAccountRequest, GetLogStatusRequest, ListExchangeRatesRequest, ListRoundsRequest, ListSwitchesRequest,
        OpenAccountRequest, SetExchangeRateRequest, SetSwitchRequest, Switch, set_switch_request,
    },
    round::v1::Account,
    spin::v1::{
        AutospinRequest, CloseSessionRequest, KeepSessionRequest, ListGamesRequest, OpenSessionRequest,
        PlayStreamRequest, SpinRequest, play_stream_request::Call, play_stream_response::Answer,
    },
};
use motherlode_runtime::{
    Config, ConfigError,
    access::{CALLS, OPERATOR},
    connect::{ConnectError, Credentials, connect},
};
use motherlode_server::{ServeError, Server};
use motherlode_spin::Dealer;
use motherlode_tests::{
    Client, EUR, account, bet, config, fresh,
    operators::{Certificates, NEW_YEAR_MS, Service, operator, token},
    reason, whole,
};
use prost::Message;
use std::{collections::BTreeSet, sync::atomic::Ordering};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Status};
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};
use tonic_types::{StatusExt, pb};

fn neptune(request_id: &str, account: &Account) -> SpinRequest {
    SpinRequest { game: "neptune".to_owned(), witch: 0, ..bet(request_id, account, "0.01") }
}

fn refusal(status: &Status) -> (Code, String) {
    (status.code(), reason(status))
}

async fn log_status(client: &mut Client) -> Result<u64, Status> {
    Ok(client.ledger.get_log_status(GetLogStatusRequest {}).await?.into_inner().position)
}

#[test]
fn pl_27_every_call_has_its_roles_and_no_other_is_in_the_table() {
    let files = prost_types::FileDescriptorSet::decode(FILE_DESCRIPTOR_SET).unwrap().file;
    let mut served = BTreeSet::new();
    for file in files.iter().filter(|file| file.package() != "motherlode.wallet.v1") {
        for service in &file.service {
            let name = format!("{}.{}", file.package(), service.name());
            served.extend(service.method.iter().map(|method| format!("/{name}/{}", method.name())));
        }
    }
    let listed: BTreeSet<_> = CALLS.iter().map(|call| call.path.to_owned()).collect();
    assert_eq!(listed.len(), CALLS.len(), "each call is listed once");
    assert_eq!(listed, served);
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_27_a_call_needs_a_credential_that_is_known() {
    let service = Service::start(&operator("acme", &[("right", r#"["audit"]"#)])).await;
    let before = service.server.ends();
    let mut nobody = service.with(&Credentials::default()).await;
    let status = nobody.ledger.list_exchange_rates(ListExchangeRatesRequest {}).await.unwrap_err();
    assert_eq!(refusal(&status), (Code::Unauthenticated, "TOKEN_MISSING".into()));
    for wrong in ["wrong", "righ", "right1", ""] {
        let status = log_status(&mut service.client(wrong).await).await.unwrap_err();
        assert_eq!(refusal(&status), (Code::Unauthenticated, "TOKEN_UNKNOWN".into()), "{wrong}");
    }
    let digest = motherlode_runtime::access::digest(b"right").to_string();
    assert_eq!(reason(&log_status(&mut service.client(&digest).await).await.unwrap_err()), "TOKEN_UNKNOWN");
    assert_eq!(log_status(&mut service.client("right").await).await.unwrap(), before[0]);
    let target = format!("http://{}", service.server.address());
    let mut health = HealthClient::new(connect(&target, &Credentials::default(), None).await.unwrap());
    health.check(HealthCheckRequest::default()).await.unwrap();
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_27_tokens_are_replaced_without_a_gap() {
    let both = operator("acme", &[("old", r#"["audit"]"#), ("new", r#"["audit"]"#)]);
    let both = both.replacen("roles", "expires = 2027-01-01T00:00:00Z\nroles", 1);
    let service = Service::start(&both).await;
    let (mut old, mut new) = (service.client("old").await, service.client("new").await);
    for client in [&mut old, &mut new] {
        log_status(client).await.unwrap();
    }
    service.clock.store(NEW_YEAR_MS - 1, Ordering::SeqCst);
    log_status(&mut old).await.unwrap();
    service.clock.store(NEW_YEAR_MS, Ordering::SeqCst);
    let status = log_status(&mut old).await.unwrap_err();
    assert_eq!(refusal(&status), (Code::Unauthenticated, "TOKEN_EXPIRED".into()));
    assert_eq!(status.get_error_details().error_info().unwrap().metadata["credential"], "c0");
    log_status(&mut new).await.unwrap();
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_27_a_role_allows_its_calls_and_the_platforms_are_for_the_platform() {
    let text = operator("acme", &[("wallet", r#"["wallet"]"#), ("admin", r#"["admin", "play", "wallet"]"#)])
        + &operator("platform", &[("platform", r#"["admin"]"#), ("reader", r#"["audit"]"#)]);
    let service = Service::start(&text).await;
    let mut wallet = service.client("wallet").await;
    let alice = wallet.fund("alice", EUR, 1000).await;
    let status = wallet.spin(bet("b", &alice, "0.01"), None).await.unwrap_err();
    assert_eq!(refusal(&status), (Code::PermissionDenied, "ROLE_MISSING".into()));
    assert_eq!(status.get_error_details().error_info().unwrap().metadata["roles"], "play");
    let set = || SetExchangeRateRequest {
        request_id: "r".into(),
        currency_code: "SEK".into(),
        eur_per_unit: "0.09".into(),
        source: "test".into(),
    };
    for not_the_platforms_admin in ["admin", "reader"] {
        let mut client = service.client(not_the_platforms_admin).await;
        let status = client.ledger.set_exchange_rate(set()).await.unwrap_err();
        assert_eq!(refusal(&status), (Code::PermissionDenied, "ROLE_MISSING".into()));
        assert_eq!(status.get_error_details().error_info().unwrap().metadata["operator"], "platform");
    }
    service.client("platform").await.ledger.set_exchange_rate(set()).await.unwrap();
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_27_an_operators_calls_and_messages_are_held_to_its_rate() {
    let limited = "calls_per_second_max = 10\ncalls_burst_max = 5\n[[operators.credentials]]";
    let text = operator("acme", &[("a", r#"["play", "wallet"]"#)]).replacen("[[operators.credentials]]", limited, 1)
        + &operator("other", &[("b", r#"["play"]"#)]);
    let service = Service::start(&text).await;
    let mut client = service.client("a").await;
    let alice = client.fund("alice", EUR, 1000).await;
    let (sender, receiver) = mpsc::channel(8);
    let mut answers = client.spin.play_stream(ReceiverStream::new(receiver)).await.unwrap().into_inner();
    let call = |tag: u64| {
        let call = Some(Call::Spin(bet(&format!("s{tag}"), &alice, "99")));
        PlayStreamRequest { tag, call }
    };
    let mut codes = vec![];
    for tag in 0..3 {
        sender.send(call(tag)).await.unwrap();
        let Some(Answer::Error(error)) = answers.message().await.unwrap().unwrap().answer else { panic!() };
        codes.push(Code::from(error.code));
    }
    assert_eq!(codes, [Code::InvalidArgument, Code::InvalidArgument, Code::ResourceExhausted]);
    let status = client.spin.list_games(ListGamesRequest {}).await.unwrap_err();
    assert_eq!(refusal(&status), (Code::ResourceExhausted, "RATE_LIMITED".into()));
    let wait = status.get_error_details().retry_info().unwrap().retry_delay.unwrap();
    assert_eq!(wait.as_millis(), 100);
    service.client("b").await.spin.list_games(ListGamesRequest {}).await.unwrap();
    service.clock.fetch_add(100, Ordering::SeqCst);
    client.spin.list_games(ListGamesRequest {}).await.unwrap();
    drop(sender);
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_27_a_stream_ends_when_its_token_expires() {
    let roles = r#"["play", "wallet"]"#;
    let text =
        operator("acme", &[("a", roles), ("b", roles)]).replacen("roles", "expires = 2027-01-01T00:00:00Z\nroles", 1);
    let service = Service::start(&text).await;
    let mut client = service.client("a").await;
    let alice = client.fund("alice", EUR, 100_000).await;
    service.clock.store(NEW_YEAR_MS - 50, Ordering::SeqCst);
    let request =
        WatchCountersRequest { pool_id: "bewitched".into(), coin_values: vec![], currency_code: String::new() };
    let mut counters = client.jackpot.watch_counters(request).await.unwrap().into_inner();
    counters.message().await.unwrap().unwrap();
    let (sender, receiver) = mpsc::channel(8);
    let mut answers = client.spin.play_stream(ReceiverStream::new(receiver)).await.unwrap().into_inner();
    let call = |id: &str| PlayStreamRequest { tag: 1, call: Some(Call::Spin(neptune(id, &alice))) };
    sender.send(call("s1")).await.unwrap();
    assert!(matches!(answers.message().await.unwrap().unwrap().answer, Some(Answer::Played(_))));
    let open = OpenSessionRequest {
        request_id: "o".into(),
        account: Some(alice.clone()),
        game: "bewitched".into(),
        ..OpenSessionRequest::default()
    };
    let session_id = client.spin.open_session(open).await.unwrap().into_inner().session_id;
    let mut kept = client.spin.keep_session(KeepSessionRequest { session_id }).await.unwrap().into_inner();
    kept.message().await.unwrap().unwrap();

    service.clock.store(NEW_YEAR_MS, Ordering::SeqCst);
    let expired = (Code::Unauthenticated, "TOKEN_EXPIRED".to_owned());
    assert_eq!(refusal(&kept.message().await.unwrap_err()), expired);
    assert_eq!(refusal(&answers.message().await.unwrap_err()), expired);
    let status = loop {
        if let Err(status) = counters.message().await {
            break status;
        }
    };
    assert_eq!(refusal(&status), expired);
    let _ = sender.send(call("s2")).await;
    assert_eq!(refusal(&client.spin(neptune("s2", &alice), None).await.unwrap_err()), expired);
    let request = ListRoundsRequest { account: Some(alice), ..ListRoundsRequest::default() };
    let rounds = service.client("b").await.ledger.list_rounds(request).await.unwrap().into_inner().rounds;
    assert_eq!(rounds.len(), 1);
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_27_a_session_is_there_for_its_own_operator_only() {
    let all = r#"["play", "wallet"]"#;
    let service = Service::start(&(operator("acme", &[("a", all)]) + &operator("other", &[("b", all)]))).await;
    let (mut client, mut other) = (service.client("a").await, service.client("b").await);
    let alice = client.fund("alice", EUR, 1000).await;
    let open = OpenSessionRequest {
        request_id: "o".into(),
        account: Some(alice.clone()),
        game: "bewitched".into(),
        ..OpenSessionRequest::default()
    };
    let status = other.spin.open_session(open.clone()).await.unwrap_err();
    assert_eq!(refusal(&status), (Code::NotFound, "ACCOUNT_UNKNOWN".into()));
    let session_id = client.spin.open_session(open).await.unwrap().into_inner().session_id;
    let keep = KeepSessionRequest { session_id: session_id.clone() };
    let unknown = KeepSessionRequest { session_id: "0".repeat(32) };
    let of_other = other.spin.keep_session(keep.clone()).await.unwrap_err();
    let of_nobody = other.spin.keep_session(unknown).await.unwrap_err();
    assert_eq!(refusal(&of_other), (Code::FailedPrecondition, "SESSION_EXPIRED".into()));
    assert_eq!((of_other.code(), of_other.details()), (of_nobody.code(), of_nobody.details()));
    other.spin.close_session(CloseSessionRequest { session_id: session_id.clone() }).await.unwrap();
    let mut kept = client.spin.keep_session(keep).await.unwrap().into_inner();
    kept.message().await.unwrap().unwrap();
    client.spin.close_session(CloseSessionRequest { session_id }).await.unwrap();
    assert!(kept.message().await.unwrap().is_none());
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_27_streams_show_and_play_nothing_of_another_operators() {
    let all = r#"["play", "wallet"]"#;
    let service = Service::start(&(operator("acme", &[("a", all)]) + &operator("other", &[("b", all)]))).await;
    let (mut client, mut other) = (service.client("a").await, service.client("b").await);
    let alice = client.fund("alice", EUR, 10_000).await;
    let played = client.play_out(neptune("same", &alice)).await.unwrap();
    let before = service.server.ends();
    let call = PlayStreamRequest { tag: 7, call: Some(Call::Spin(neptune("same", &alice))) };
    let mut answers = other.spin.play_stream(tokio_stream::iter([call])).await.unwrap().into_inner();
    let Some(Answer::Error(error)) = answers.message().await.unwrap().unwrap().answer else { panic!() };
    assert_eq!(error.code, pb::Status { code: Code::NotFound.into(), ..pb::Status::default() }.code);
    assert!(answers.message().await.unwrap().is_none());
    let series = AutospinRequest {
        request_id: "series".into(),
        account: Some(alice.clone()),
        game: "neptune".into(),
        stake: neptune("x", &alice).stake,
        spins: 1,
        ..AutospinRequest::default()
    };
    let status = other.autospin(series, None).await.unwrap_err();
    assert_eq!(refusal(&status), (Code::NotFound, "ACCOUNT_UNKNOWN".into()));
    assert_eq!(service.server.ends(), before);
    assert_eq!(client.play_out(neptune("same", &alice)).await.unwrap(), played);
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_27_what_is_switched_off_is_shown_to_whom_it_concerns() {
    let any = r#"["admin", "audit"]"#;
    let two = [("p", any), ("q", any)];
    let text = operator("acme", &[("a", any)]) + &operator("other", &[("b", any)]) + &operator("platform", &two);
    let service = Service::start(&text).await;
    let off = |request_id: &str, operator_id: &str, game: &str| SetSwitchRequest {
        request_id: request_id.to_owned(),
        switch: Some(Switch { operator_id: operator_id.to_owned(), game: game.to_owned(), ..Switch::default() }),
        state: set_switch_request::State::Off.into(),
        reason: "test".into(),
        actor: "ann".into(),
        preview: false,
    };
    let mut platform = service.client("p").await;
    for switch in [off("1", "acme", ""), off("2", "", "neptune")] {
        assert_eq!(platform.ledger.set_switch(switch).await.unwrap().into_inner().change_id, 0);
    }
    for (caller, codes) in [("a", 2), ("b", 1), ("p", 2)] {
        let mut client = service.client(caller).await;
        let listed = client.ledger.list_switches(ListSwitchesRequest {}).await.unwrap().into_inner().switched_off;
        assert_eq!(listed.len(), codes, "{caller}");
    }
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_27_with_tls_a_client_is_known_by_its_certificate_or_its_token() {
    let folder = tempfile::tempdir().unwrap();
    let certificates = Certificates::make(folder.path());
    let credential = format!(
        "[[operators.credentials]]\nname = \"machine\"\ncertificate_sha256 = \"{}\"\nroles = [\"audit\"]\n",
        certificates.client_sha256
    );
    let text = Certificates::section(folder.path()) + &operator("acme", &[("right", r#"["audit"]"#)]) + &credential;
    let service = Service::start(&text).await;
    let target = format!("https://localhost:{}", service.server.address().port());
    let pem =
        |(certificate, key): &(String, String)| Some((certificate.clone().into_bytes(), key.clone().into_bytes()));
    let rooted = Credentials { ca: Some(certificates.root.clone().into_bytes()), ..Credentials::default() };
    let asked = async |credentials: Credentials| {
        let connection = connect(&target, &credentials, None).await.unwrap();
        log_status(&mut Client::on(connection)).await.map_err(|status| reason(&status))
    };
    let with = |identity| Credentials { identity, ..rooted.clone() };
    assert!(asked(with(pem(&certificates.client))).await.is_ok());
    assert!(asked(Credentials { token: Some("right".into()), ..rooted.clone() }).await.is_ok());
    assert_eq!(asked(rooted.clone()).await, Err("TOKEN_MISSING".to_owned()));
    assert_eq!(asked(with(pem(&certificates.stranger))).await, Err("CERTIFICATE_UNKNOWN".to_owned()));
    let wrong = Credentials { token: Some("wrong".into()), ..with(pem(&certificates.client)) };
    assert_eq!(asked(wrong).await, Err("TOKEN_UNKNOWN".to_owned()));

    let elsewhere = tempfile::tempdir().unwrap();
    let foreign = Certificates::make(elsewhere.path());
    let misled = Credentials { ca: Some(foreign.root.clone().into_bytes()), ..token("right") };
    assert!(matches!(connect(&target, &misled, None).await, Err(ConnectError::Nobody { .. })));
    let plain = format!("http://localhost:{}", service.server.address().port());
    let status = match connect(&plain, &token("right"), None).await {
        Ok(connection) => log_status(&mut Client::on(connection)).await.unwrap_err(),
        Err(error) => Status::unavailable(error.to_string()),
    };
    assert_ne!(status.code(), Code::Unauthenticated, "plain HTTP must not reach the TLS service");
    let forged = with(pem(&foreign.client));
    let status = match connect(&target, &forged, None).await {
        Ok(connection) => log_status(&mut Client::on(connection)).await.unwrap_err(),
        Err(error) => Status::unavailable(error.to_string()),
    };
    assert!(reason(&status).is_empty(), "the forged certificate passed the TLS handshake: {status:?}");
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_27_without_operators_a_service_is_open_and_only_on_loopback() {
    let data = tempfile::tempdir().unwrap();
    let start = async |config: &Config| {
        Server::start(config, whole(config, fresh(config)), Options::default(), Dealer::from_master([7; 32])).await
    };
    let server = start(&config(data.path())).await.unwrap();
    let mut client = Client::connect(server.address()).await;
    log_status(&mut client).await.unwrap();
    let open = OpenAccountRequest { request_id: "o".into(), account: Some(account("alice", EUR)) };
    client.ledger.open_account(open).await.unwrap();
    client.ledger.get_account(GetAccountRequest { account: Some(account("alice", EUR)) }).await.unwrap();
    server.stop().await.unwrap();
    let exposed = Config { listen: ([0, 0, 0, 0], 0).into(), ..config(data.path()) };
    let Err(error) = start(&exposed).await else {
        panic!("a service without operators serves callers beyond loopback")
    };
    assert!(matches!(error, ServeError::Config(ConfigError::Exposed { .. })), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_27_a_credential_serves_further_operators_that_the_call_names() {
    let roles = r#"["play", "wallet"]"#;
    let brand = operator("brand", &[("brand", roles)]).replace("\"c0\"", "\"gateway\"");
    let text = brand + "operators = [\"acme\"]\n" + &operator("acme", &[("acme", roles)]) + &operator("other", &[]);
    let service = Service::start(&text).await;
    let mut acme = service.client("acme").await;
    let alice = acme.fund("alice", EUR, 1_000).await;
    let mut gateway = service.client("brand").await;
    let request = || GetAccountRequest { account: Some(alice.clone()) };
    let named = |operator: &'static str| {
        let mut request = tonic::Request::new(request());
        request.metadata_mut().insert(OPERATOR, operator.parse().unwrap());
        request
    };
    let expected = acme.ledger.get_account(request()).await.unwrap().into_inner();
    assert_eq!(gateway.ledger.get_account(named("acme")).await.unwrap().into_inner(), expected);
    let unknown = Account { player_id: "nobody".into(), operator_id: "brand".into(), ..alice.clone() };
    let unknown = gateway.ledger.get_account(GetAccountRequest { account: Some(unknown) }).await.unwrap_err();
    for request in [tonic::Request::new(request()), named("brand")] {
        let refused = gateway.ledger.get_account(request).await.unwrap_err();
        assert_eq!(refusal(&refused), refusal(&unknown), "without its header, a served operator's player is unknown");
    }
    for operator in ["other", "none", "platform"] {
        let refused = gateway.ledger.get_account(named(operator)).await.unwrap_err();
        assert_eq!(refusal(&refused), (Code::PermissionDenied, "OPERATOR_NOT_SERVED".into()), "{operator}");
    }
    let refused = acme.ledger.get_account(named("brand")).await.unwrap_err();
    assert_eq!(reason(&refused), "OPERATOR_NOT_SERVED", "the operator that is served does not serve the other");
    service.server.stop().await.unwrap();
}
