//! Calls in JSON: what they answer, and which requests of browsers are none. That each refuses what it must is the matrix's.

use super::{ALL, Browser, CONSOLE, Page, round, rounds, service};
use motherlode_proto::{
    round::v1::{Account, Stake},
    spin::v1::SpinRequest,
};
use motherlode_runtime::connect::Credentials;
use motherlode_tests::{
    account,
    operators::{NEW_YEAR_MS, Service, operator},
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::atomic::Ordering};
use tonic::Status;
use tonic_types::StatusExt;

const JSON: (&str, &str) = ("content-type", "application/json");

async fn call(service: &Service, token: &str, path: &str, message: &Value) -> Page {
    let shown = format!("Bearer {token}");
    let headers = [JSON, ("authorization", shown.as_str())];
    Browser::new(service.server.console()).ask("POST", path, &headers, &message.to_string()).await
}

fn told(page: &Page) -> Value {
    serde_json::from_str(&page.body).unwrap_or_else(|error| panic!("{error}: {}", page.body))
}

/// The lines of an answer that came in chunks.
fn lines(page: &Page) -> Vec<Value> {
    let lines = page.body.lines().filter(|line| line.starts_with('{'));
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn bet(request_id: &str) -> Value {
    let account = json!({ "operatorId": "acme", "playerId": "alice", "currencyCode": "EUR" });
    let stake = json!({ "coinValue": "0.01", "lines": 1, "coinsPerLine": 25 });
    json!({ "requestId": request_id, "account": account, "game": "dwarf-mine", "stake": stake })
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_11_a_round_is_played_in_json_once_and_is_in_the_log_as_any_other() {
    let service = service().await;
    rounds(&service).await;
    let first = call(&service, "acme-play", "/v1/SpinService/Spin", &bet("json")).await;
    assert_eq!((first.status, first.header("content-type")), (200, "application/json"), "{}", first.body);
    let round_id = told(&first)["played"]["roundId"].as_str().unwrap_or_else(|| panic!("{}", first.body)).to_owned();
    let logged = round(&service, &round_id).await;
    assert_eq!((logged.game.as_str(), logged.bet.unwrap().amount_minor), ("dwarf-mine", 25));
    let again = call(&service, "acme-play", "/v1/SpinService/Spin", &bet("json")).await;
    assert!(told(&first)["played"]["position"].is_string(), "{}", first.body);
    assert_eq!(told(&again)["played"]["position"], told(&first)["played"]["position"], "one effect, one answer");
    // Numbers of 64 bits are strings, names are those of canonical JSON.
    let balance = json!({ "account": bet("")["account"] });
    let balance = told(&call(&service, "acme-wallet", "/v1/LedgerService/GetAccount", &balance).await);
    assert!(balance.to_string().contains("\"amountMinor\":\""), "{balance}");
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_with_many_answers_answers_lines_and_says_in_the_last_why_it_ended() {
    let text = operator("acme", &[("acme-all", ALL)]) + "expires = 2027-01-01T00:00:00Z\n" + CONSOLE;
    let service = Service::start(&text).await;
    rounds(&service).await;
    let mut series = bet("series");
    series["spins"] = 3.into();
    let page = call(&service, "acme-all", "/v1/SpinService/Autospin", &series).await;
    assert_eq!((page.status, page.header("content-type")), (200, "application/jsonl"), "{}", page.body);
    let answers = lines(&page);
    assert!(!answers.is_empty() && answers.iter().all(|line| line["result"].is_object()), "{}", page.body);
    // One that has no end is ended with the credential.
    let bewitched = json!({ "poolId": "bewitched" });
    let watching = call(&service, "acme-all", "/v1/JackpotService/WatchCounters", &bewitched);
    let expiring = async {
        service.clock.store(NEW_YEAR_MS, Ordering::SeqCst);
    };
    let (page, ()) = tokio::join!(watching, expiring);
    let last = lines(&page).pop().unwrap_or_default();
    let refusal = if page.status == 200 { last["error"].clone() } else { told(&page) };
    assert_eq!(refusal["details"][0]["reason"], "TOKEN_EXPIRED", "{}", page.body);
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_27_what_a_page_of_another_site_can_send_is_no_call() {
    let service = service().await;
    rounds(&service).await;
    let mut browser = Browser::logged_in(service.server.console(), "acme-all").await;
    let body = bet("cross").to_string();
    let shown = ("authorization", "Bearer acme-all");
    let spin = "/v1/SpinService/Spin";
    let reason = |page: &Page| told(page)["details"][0]["reason"].as_str().unwrap_or_default().to_owned();
    let own = browser.ask("POST", spin, &[JSON], &body).await;
    assert_eq!((own.status, reason(&own).as_str()), (401, "TOKEN_MISSING"), "a cookie is no credential here");
    assert_eq!(own.header("www-authenticate"), "Bearer");
    for media_type in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""] {
        let page = browser.ask("POST", spin, &[("content-type", media_type), shown], &body).await;
        assert_eq!((page.status, reason(&page).as_str()), (400, "CONTENT_TYPE_UNKNOWN"), "{media_type}");
    }
    for header in [("origin", "http://evil.example"), ("sec-fetch-site", "cross-site")] {
        let page = browser.ask("POST", spin, &[JSON, shown, header], &body).await;
        assert_eq!((page.status, reason(&page).as_str()), (403, "HTTP_REFUSED"), "{header:?}");
        assert!(page.header("access-control-allow-origin").is_empty());
    }
    let page = browser.ask("POST", spin, &[JSON, shown, ("host", "evil.example")], &body).await;
    assert_eq!((page.status, reason(&page).as_str()), (400, "HTTP_REFUSED"));
    for (method, path) in [("OPTIONS", spin), ("GET", spin), ("GET", "/v1/SpinService"), ("PUT", spin)] {
        let page = browser.ask(method, path, &[JSON, shown], &body).await;
        assert!((400..=501).contains(&page.status), "{method} {path}: {}", page.status);
        assert_eq!(reason(&page), "HTTP_REFUSED", "{method} {path}");
    }
    let asked = json!({ "account": bet("")["account"], "requestId": "cross" });
    let became = call(&service, "acme-all", "/v1/LedgerService/GetRequest", &asked).await;
    assert_eq!(told(&became)["outcome"]["state"], "STATE_UNSEEN", "{}", became.body);
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn mf_c5_c6_an_ambiguous_call_in_json_is_refused_and_moves_no_money() {
    let service = service().await;
    rounds(&service).await;
    let account = bet("")["account"].clone();
    let deposit =
        format!(r#"{{"requestId": "twice", "account": {account}, "amountMinor": "1", "amount_minor": "1000"}}"#);
    let shown = ("authorization", "Bearer acme-all");
    let mut browser = Browser::new(service.server.console());
    let page = browser.ask("POST", "/v1/LedgerService/Deposit", &[JSON, shown], &deposit).await;
    assert_eq!(told(&page)["details"][0]["reason"], "MESSAGE_MALFORMED", "{}", page.body);
    assert!(page.body.contains("amount_minor"), "{}", page.body);
    let look_up = json!({ "account": account, "requestId": "twice" }).to_string();
    let get_request = "/v1/LedgerService/GetRequest";
    for (headers, reason) in [
        (vec![JSON, shown, ("authorization", "Bearer acme-play")], "TOKEN_AMBIGUOUS"),
        (vec![JSON, ("authorization", "Bearer ")], "TOKEN_MISSING"),
        (vec![JSON, shown, ("grpc-timeout", "soon")], "TIMEOUT_MALFORMED"),
        (vec![JSON, shown, ("grpc-timeout", "5S"), ("grpc-timeout", "6S")], "TIMEOUT_MALFORMED"),
    ] {
        let page = browser.ask("POST", get_request, &headers, &look_up).await;
        assert_eq!(told(&page)["details"][0]["reason"], reason, "{}", page.body);
    }
    let page = browser.ask("POST", get_request, &[JSON, shown], &look_up).await;
    assert_eq!(told(&page)["outcome"]["state"], "STATE_UNSEEN", "{}", page.body);
    service.server.stop().await.unwrap();
}

/// A refusal as both paths state it: code, message, reason, metadata, and whether it states a time for a retry.
type Refusal = (i32, String, String, BTreeMap<String, String>, bool);

fn over_grpc(status: &Status) -> Refusal {
    let details = status.get_error_details();
    let info = details.error_info().unwrap_or_else(|| panic!("{status:?}")).clone();
    let metadata = info.metadata.into_iter().collect();
    (status.code().into(), status.message().to_owned(), info.reason, metadata, details.retry_info().is_some())
}

fn in_json(page: &Page) -> Refusal {
    let status = told(page);
    let details = status["details"].as_array().unwrap_or_else(|| panic!("{}", page.body)).clone();
    let of = |kind: &str| details.iter().find(|detail| detail["@type"].as_str().unwrap().ends_with(kind));
    let info = of("ErrorInfo").unwrap_or_else(|| panic!("{}", page.body));
    let metadata = info["metadata"].as_object().into_iter().flatten();
    let metadata = metadata.map(|(key, value)| (key.clone(), value.as_str().unwrap().to_owned())).collect();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let code = i32::try_from(status["code"].as_i64().unwrap()).unwrap();
    (code, text(&status["message"]), text(&info["reason"]), metadata, of("RetryInfo").is_some())
}

#[tokio::test(flavor = "multi_thread")]
async fn at_c1_the_direct_path_and_the_layers_refuse_alike() {
    let expired = operator("old", &[("old-play", ALL)]) + "expires = 2026-01-01T00:00:00Z\n";
    let rate = "id = \"slow\"\ncalls_per_second_max = 1\ncalls_burst_max = 1\n";
    let slow = operator("slow", &[("slow-all", ALL)]).replace("id = \"slow\"\n", rate);
    let text = operator("acme", &[("acme-all", ALL), ("acme-audit", r#"["audit"]"#)]) + &slow + &expired + CONSOLE;
    let service = Service::start(&text).await;
    let mut client = service.client("acme-all").await;
    client.fund_account(&Account { operator_id: "acme".into(), ..account("alice", "EUR") }, 1_000).await;
    client.fund_account(&Account { operator_id: "acme".into(), ..account("poor", "EUR") }, 1).await;
    client.spin(spin("taken", "alice", |_| {}), None).await.unwrap();
    // The rate's only call of this second.
    let _ = service.client("slow-all").await.spin(spin("first", "alice", |_| {}), None).await;

    let both = async |token: &str, headers: &[(&'static str, &str)], request: SpinRequest| {
        let shown = format!("Bearer {token}");
        let token = (!token.is_empty()).then_some(("authorization", shown.as_str()));
        let headers: Vec<_> = token.into_iter().chain(headers.iter().copied()).collect();
        let ask = async || {
            let mut call = tonic::Request::new(request.clone());
            for (name, value) in &headers {
                call.metadata_mut().append(*name, value.parse().unwrap());
            }
            service.with(&Credentials::default()).await.spin.spin(call).await.unwrap_err()
        };
        let mut direct = ask().await;
        // The client keeps the deadline too, and on a busy machine gives up before it reads the answer.
        for _ in 0..100 {
            if direct.get_error_details().error_info().is_some() {
                break;
            }
            direct = ask().await;
        }
        let message = json!({
            "requestId": request.request_id,
            "account": request.account.map(|account| json!({
                "operatorId": account.operator_id, "playerId": account.player_id, "currencyCode": account.currency_code,
            })),
            "game": request.game,
            "rulesVersion": request.rules_version,
            "stake": request.stake.map(|stake| json!({
                "coinValue": stake.coin_value, "lines": stake.lines, "coinsPerLine": stake.coins_per_line,
            })),
            "sessionId": request.session_id,
            "campaignId": request.campaign_id,
        });
        let headers: Vec<_> = headers.into_iter().chain([JSON]).collect();
        let mut browser = Browser::new(service.server.console());
        let layered = browser.ask("POST", "/v1/SpinService/Spin", &headers, &message.to_string()).await;
        (over_grpc(&direct), in_json(&layered))
    };
    let fine = || spin("r", "alice", |_| {});
    type Case<'a> = (&'a str, &'a str, &'a [(&'static str, &'a str)], SpinRequest);
    let cases: Vec<Case<'_>> = vec![
        ("TOKEN_MISSING", "", &[], fine()),
        ("TOKEN_UNKNOWN", "nobody", &[], fine()),
        ("TOKEN_AMBIGUOUS", "acme-all", &[("authorization", "Bearer acme-audit")], fine()),
        ("TOKEN_EXPIRED", "old-play", &[], fine()),
        ("RATE_LIMITED", "slow-all", &[], fine()),
        ("ROLE_MISSING", "acme-audit", &[], fine()),
        ("TIMEOUT_MALFORMED", "acme-all", &[("grpc-timeout", "soon")], fine()),
        ("DEADLINE_EXCEEDED", "acme-all", &[("grpc-timeout", "1n")], fine()),
        ("INVALID_FIELD", "acme-all", &[], spin("", "alice", |_| {})),
        ("GAME_UNKNOWN", "acme-all", &[], spin("r", "alice", |spin| spin.game = "chess".into())),
        ("INVALID_STAKE", "acme-all", &[], spin("r", "alice", |spin| spin.stake.as_mut().unwrap().lines = 99)),
        ("ACCOUNT_UNKNOWN", "acme-all", &[], spin("r", "nobody", |_| {})),
        (
            "CAMPAIGN_UNKNOWN",
            "acme-all",
            &[],
            spin("r", "alice", |spin| {
                spin.campaign_id = "none".into();
                spin.stake = None;
            }),
        ),
        ("SESSION_EXPIRED", "acme-all", &[], spin("r", "alice", |spin| spin.session_id = "0123456789abcdef".repeat(2))),
        ("INSUFFICIENT_FUNDS", "acme-all", &[], spin("r", "poor", |_| {})),
        (
            "REQUEST_ID_REUSED",
            "acme-all",
            &[],
            spin("taken", "alice", |spin| spin.stake.as_mut().unwrap().coin_value = "0.02".into()),
        ),
    ];
    for (reason, token, headers, request) in cases {
        let (direct, layered) = both(token, headers, request).await;
        assert_eq!(direct.2, reason, "{direct:?}");
        assert_eq!(direct, layered, "{reason}");
    }
    service.server.stop().await.unwrap();
}

fn spin(request_id: &str, player: &str, change: impl FnOnce(&mut SpinRequest)) -> SpinRequest {
    let account = Account { operator_id: "acme".to_owned(), ..account(player, "EUR") };
    let stake = Stake { coin_value: "0.01".to_owned(), lines: 1, coins_per_line: 25, buy_feature: false };
    let mut spin = SpinRequest {
        request_id: request_id.to_owned(),
        account: Some(account),
        game: "dwarf-mine".to_owned(),
        stake: Some(stake),
        ..SpinRequest::default()
    };
    change(&mut spin);
    spin
}
