use super::{Browser, CONSOLE, Page, apart::Apart, round, rounds, service, text};
use motherlode_audit::verify;
use motherlode_proto::{
    convert::play::hex,
    ledger::v1::ListRoundsRequest,
    proof::v1::{GetPublicRoundRequest, proof_service_client::ProofServiceClient},
    round::v1::Account,
};
use motherlode_tests::{
    EUR, Force, bet,
    operators::{Service, operator},
    reason,
};
use std::collections::BTreeMap;

const PUBLIC: &str = "https://check.example.com";
const HOST: &[(&str, &str)] = &[("host", "check.example.com")];

async fn link(service: &Service, round_id: &str) -> String {
    let url = round(service, round_id).await.check_url;
    url.strip_prefix(PUBLIC).unwrap_or_else(|| panic!("{round_id} has the link {url:?}")).to_owned()
}

async fn visit(service: &Service, path: &str) -> Page {
    Browser::new(service.server.console()).ask("GET", path, HOST, "").await
}

fn with_ending(link: &str, ending: &str) -> String {
    link.replacen('?', &format!("{ending}?"), 1)
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_28_a_link_shows_its_finished_round_without_a_credential_and_without_balances() {
    let service = service().await;
    let (alice, over, open) = rounds(&service).await;
    let (link, told) = (link(&service, &over).await, round(&service, &over).await);
    assert_eq!(round(&service, &open).await.check_url, "", "an open round has no link");
    let request = ListRoundsRequest { account: Some(alice), ..ListRoundsRequest::default() };
    let listed = service.client("acme-support").await.ledger.list_rounds(request).await.unwrap().into_inner().rounds;
    let links: BTreeMap<_, _> = listed.into_iter().map(|round| (round.round_id, round.check_url)).collect();
    assert_eq!((&links[&over], &*links[&open]), (&told.check_url, ""));

    let page = visit(&service, &link).await;
    assert_eq!(page.status, 200, "{}", page.body);
    super::assert_well_formed(&page.body);
    let draw = told.steps[0].draw.clone().unwrap();
    for shown in [hex(&draw.seal), hex(&draw.dealt), hex(&draw.client_seed), hex(&told.steps[0].seed)] {
        assert!(page.body.contains(&shown), "{shown} in {}", page.body);
    }
    for part in ["<svg", "data-round=\"acme/alice/1\"", "motherlode verify", "noindex"] {
        assert!(page.body.contains(part), "{part} in {}", page.body);
    }
    let balances = [&told.balance_before, &told.balance_after].map(|money| money.as_ref().unwrap().amount_minor);
    for balance in balances {
        let shown = format!("{},{:03}.{:02}", balance / 100_000, balance / 100 % 1_000, balance % 100);
        assert!(!page.body.contains(&shown), "the page shows the balance {shown}");
    }
    for hidden in
        ["Balance", "Player", "Operator", "Added to the jackpot", "Exchange rate", "/login", "/find", "/round/"]
    {
        assert!(!page.body.contains(hidden), "{hidden} in {}", page.body);
    }
    assert!(!page.body.replace("acme/alice/1", "").contains("alice"), "the player is named only in the address");
    let headers = [("cache-control", "no-store"), ("referrer-policy", "no-referrer"), ("set-cookie", "")];
    for (name, value) in headers.into_iter().chain([("x-robots-tag", "noindex, nofollow"), ("x-frame-options", "DENY")])
    {
        assert_eq!(page.header(name), value, "{name}");
    }
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_28_the_proof_of_a_link_is_verified_like_any_other() {
    let service = service().await;
    let (_, over, _) = rounds(&service).await;
    let link = link(&service, &over).await;
    let page = visit(&service, &link).await;
    let key = page.body.split("name=\"key\" value=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    let file = visit(&service, &with_ending(&link, "/proof")).await;
    assert_eq!(file.status, 200, "{}", file.body);
    assert_eq!(file.header("content-disposition"), "attachment; filename=\"acme-alice-1.tlog-proof\"");
    assert_eq!((file.header("cache-control"), file.header("referrer-policy")), ("no-store", "no-referrer"));
    let proven = verify(&file.body.parse().unwrap(), &key.parse().unwrap(), None).unwrap();
    assert!(proven.replayed.matches());
    service.server.stop().await.unwrap();
}

fn shown(page: &Page) -> (u16, String, Vec<(String, String)>) {
    let headers = page.headers.iter().filter(|(name, _)| name != "date").cloned().collect();
    (page.status, page.body.clone(), headers)
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_27_without_its_link_every_round_gets_the_same_answer() {
    let service = service().await;
    let (_, over, open) = rounds(&service).await;
    let mut bravo = service.client("bravo-all").await;
    let bob = Account { operator_id: "bravo".into(), player_id: "bob".into(), currency_code: EUR.into() };
    bravo.fund_account(&bob, 1_000).await;
    let theirs = bravo.spin(bet("a", &bob, "0.01"), Some(Force::Loss)).await.unwrap().round_id;
    let own = link(&service, &over).await;
    let key = own.split_once("?key=").unwrap().1;
    let paths = [
        format!("/check/{over}"),
        format!("/check/{over}?key="),
        format!("/check/{over}?key={}{}", &key[..key.len() - 1], if key.ends_with('A') { "E" } else { "A" }),
        format!("/check/{over}?key={key}{key}"),
        format!("/check/{open}?key={key}"),
        format!("/check/acme/alice/99?key={key}"),
        format!("/check/acme/nobody/1?key={key}"),
        format!("/check/{theirs}?key={key}"),
        format!("/check/acme/alice/01?key={key}"),
        format!("/check/acme%2Falice/x/1?key={key}"),
        format!("/check/acme/%ff/1?key={key}"),
        "/check/a/b/c/d/e".to_owned(),
        "/check/".to_owned(),
        "/".to_owned(),
        "/login".to_owned(),
        format!("/round/{over}"),
        "/openapi.json".to_owned(),
    ];
    let first = visit(&service, &paths[0]).await;
    assert_eq!(first.status, 404);
    let proofs = paths[..4].iter().map(|path| with_ending(path, "/proof"));
    for path in paths.iter().cloned().chain(proofs.collect::<Vec<_>>()) {
        let page = visit(&service, &path).await;
        if path.starts_with("/check/") {
            assert_eq!(shown(&page), shown(&first), "{path}");
        } else {
            assert_eq!((page.status, &page.body), (404, &first.body), "{path}");
        }
    }
    let mut client = ProofServiceClient::connect(format!("http://{}", service.server.address())).await.unwrap();
    let mut refused = vec![];
    for (round_id, link_key) in [(&*over, ""), (&open, key), ("acme/nobody/1", key), ("no round", key)] {
        let request = GetPublicRoundRequest { round_id: round_id.into(), link_key: link_key.into(), with_proof: true };
        let status = client.get_public_round(request).await.unwrap_err();
        refused.push((status.code(), reason(&status), status.message().to_owned(), status.details().to_owned()));
    }
    refused.dedup();
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert_eq!(refused[0].1, "ROUND_UNKNOWN");
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_27_the_public_host_name_serves_only_pages_of_rounds() {
    let service = service().await;
    let mut browser = Browser::logged_in(service.server.console(), "acme-all").await;
    for (method, path) in [("GET", "/"), ("GET", "/login"), ("POST", "/login"), ("POST", "/v1/SpinService/ListGames")] {
        let page = browser.ask(method, path, HOST, "").await;
        assert_eq!(page.status, 404, "{method} {path}");
    }
    for path in ["/check.js", "/console.css", "/keys.js", "/icon.svg"] {
        assert_eq!(browser.ask("GET", path, HOST, "").await.status, 200, "{path}");
    }
    assert_eq!(browser.get("/games").await.status, 200, "the console's own name serves all pages");
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn uf_03_pages_of_an_address_are_bounded_and_the_console_goes_on() {
    let service = service().await;
    let (_, over, _) = rounds(&service).await;
    let link = link(&service, &over).await;
    let mut browser = Browser::logged_in(service.server.console(), "acme-all").await;
    let mut statuses = BTreeMap::<u16, u32>::new();
    for number in 0..200 {
        let path = if number % 2 == 0 { link.clone() } else { format!("/check/acme/alice/{number}?key=guess") };
        let page = visit(&service, &path).await;
        *statuses.entry(page.status).or_default() += 1;
        if page.status == 429 {
            assert!(!page.header("retry-after").is_empty() && text(&page).contains("Too many"), "{}", page.body);
            break;
        }
    }
    assert_eq!(statuses.get(&429), Some(&1), "{statuses:?}");
    assert!(statuses[&200] >= 20 && statuses[&404] >= 20, "{statuses:?}");
    assert_eq!(browser.get("/games").await.status, 200);
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_28_without_the_setting_there_are_no_links_and_no_pages() {
    let listen = CONSOLE.lines().take(2).collect::<Vec<_>>().join("\n");
    let service = Service::start(&(operator("acme", &[("acme-all", super::ALL)]) + &listen + "\n")).await;
    let (_, over, _) = rounds(&service).await;
    assert_eq!(round(&service, &over).await.check_url, "");
    let mut browser = Browser::new(service.server.console());
    for path in [format!("/check/{over}"), format!("/check/{over}/proof"), format!("/check/{over}?key=guess")] {
        let page = browser.get(&path).await;
        assert_eq!(page.status, 404, "{path}");
        assert!(page.body.contains("There is no such round"), "{}", page.body);
    }
    let mut client = ProofServiceClient::connect(format!("http://{}", service.server.address())).await.unwrap();
    let request = GetPublicRoundRequest { round_id: over, ..GetPublicRoundRequest::default() };
    assert_eq!(reason(&client.get_public_round(request).await.unwrap_err()), "ROUND_UNKNOWN");
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_28_a_console_of_its_own_serves_the_pages() {
    let service = service().await;
    let (_, over, _) = rounds(&service).await;
    let link = link(&service, &over).await;
    let target = format!("http://{}", service.server.address());
    let console = Apart::with(target.clone(), Some(PUBLIC.to_owned()));
    for path in [link.clone(), with_ending(&link, "/proof")] {
        let page = Browser::new(console.address).ask("GET", &path, HOST, "").await;
        assert_eq!(page.status, 200, "{path}: {}", page.body);
    }
    let without = Apart::with(target, None);
    assert_eq!(Browser::new(without.address).get(&link).await.status, 404);
    service.server.stop().await.unwrap();
}
