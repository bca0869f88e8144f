use super::{ALL, Browser, CONSOLE, Page, round, rounds, service};
use motherlode_tests::operators::{NEW_YEAR_MS, Service, operator};
use serde_json::{Value, json};
use std::sync::atomic::Ordering;

const JSON: (&str, &str) = ("content-type", "application/json");

async fn call(service: &Service, token: &str, path: &str, message: &Value) -> Page {
    let shown = format!("Bearer {token}");
    let headers = [JSON, ("authorization", shown.as_str())];
    Browser::new(service.server.console()).ask("POST", path, &headers, &message.to_string()).await
}

fn told(page: &Page) -> Value {
    serde_json::from_str(&page.body).unwrap_or_else(|error| panic!("{error}: {}", page.body))
}

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
    assert_eq!(
        told(&again)["played"]["position"],
        told(&first)["played"]["position"],
        "the repeated call has no second effect"
    );
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
    assert_eq!(
        (own.status, reason(&own).as_str()),
        (401, "TOKEN_MISSING"),
        "a cookie does not authenticate a JSON call"
    );
    assert_eq!(own.header("www-authenticate"), "Bearer");
    for media_type in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""] {
        let page = browser.ask("POST", spin, &[("content-type", media_type), shown], &body).await;
        assert_eq!((page.status, reason(&page).as_str()), (415, "CONTENT_TYPE_UNKNOWN"), "{media_type}");
    }
    for header in [("origin", "http://evil.example"), ("sec-fetch-site", "cross-site")] {
        let page = browser.ask("POST", spin, &[JSON, shown, header], &body).await;
        assert_eq!((page.status, reason(&page).as_str()), (403, "HTTP_REFUSED"), "{header:?}");
        assert!(page.header("access-control-allow-origin").is_empty());
    }
    let page = browser.ask("POST", spin, &[JSON, shown, ("host", "evil.example")], &body).await;
    assert_eq!((page.status, reason(&page).as_str()), (400, "HTTP_REFUSED"));
    for (method, path, status, allowed) in [
        ("OPTIONS", spin, 405, "POST"),
        ("GET", spin, 405, "POST"),
        ("PUT", spin, 405, "POST"),
        ("DELETE", "/openapi.json", 405, "GET,HEAD"),
        ("GET", "/v1/SpinService", 501, ""),
    ] {
        let page = browser.ask(method, path, &[JSON, shown], &body).await;
        assert_eq!((page.status, page.header("allow")), (status, allowed), "{method} {path}");
        assert_eq!(reason(&page), "HTTP_REFUSED", "{method} {path}");
    }
    let asked = json!({ "account": bet("")["account"], "requestId": "cross" });
    let became = call(&service, "acme-all", "/v1/LedgerService/GetRequest", &asked).await;
    assert_eq!(told(&became)["outcome"]["state"], "STATE_UNSEEN", "{}", became.body);
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_document_has_a_tag_by_which_a_client_keeps_its_copy() {
    let service = service().await;
    let mut browser = Browser::new(service.server.console());
    let document = browser.get("/openapi.json").await;
    let tag = document.header("etag").to_owned();
    assert!(document.status == 200 && tag.starts_with('"'), "{tag}");
    for (known, status) in [(tag.as_str(), 304), (&format!("\"other\", W/{tag}"), 304), ("*", 304), ("\"other\"", 200)]
    {
        let page = browser.ask("GET", "/openapi.json", &[("if-none-match", known)], "").await;
        assert_eq!((page.status, page.header("etag")), (status, tag.as_str()), "{known}");
        assert_eq!(page.body.is_empty(), status == 304, "{known}");
    }
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn zero_amounts_are_in_answers_in_json() {
    let service = service().await;
    let account = json!({ "operatorId": "acme", "playerId": "poor", "currencyCode": "EUR" });
    let open = json!({ "requestId": "open", "account": account });
    let opened = call(&service, "acme-all", "/v1/LedgerService/OpenAccount", &open).await;
    assert_eq!(told(&opened)["transaction"]["amount"]["amountMinor"], "0", "{}", opened.body);
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
