mod alike;
mod all_rounds;
mod apart;
pub mod browser;
mod calls;
mod ids;
mod limits;
mod lists;
mod matrix;
mod public;
mod reports;
mod stops;
mod work;

use browser::{Browser, Page, assert_well_formed};
use motherlode_proto::{
    ledger::v1::{GetRoundRequest, SetExchangeRateRequest},
    round::v1::{Account, Round, RoundState},
};
use motherlode_slots::latest_games;
use motherlode_tests::{
    Client, EUR, Force, account, bet, config,
    operators::{Certificates, NEW_YEAR_MS, Service, operator},
    play, smallest, stake_on, start_fresh,
};
use std::sync::{Arc, atomic::Ordering};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_rustls::{
    TlsConnector,
    rustls::{
        ClientConfig, RootCertStore,
        crypto::ring,
        pki_types::{CertificateDer, ServerName, pem::PemObject},
    },
};

const CONSOLE: &str = "[console]\nlisten = \"127.0.0.1:0\"\ncheck_url = \"https://check.example.com\"\n";
const ALL: &str = r#"["play", "wallet", "support", "audit", "admin"]"#;

/// Tokens are named `<operator>-<role>`; the token `<operator>-all` has every role.
async fn service() -> Service {
    let roles = ["play", "wallet", "support", "audit", "admin"];
    let of = |id: &str| {
        let single = roles.map(|role| (format!("{id}-{role}"), format!("[\"{role}\"]")));
        let all = [(format!("{id}-all"), ALL.to_owned()), (format!("{id}-two"), ALL.to_owned())];
        let tokens: Vec<_> = all.iter().chain(&single).map(|(token, roles)| (token.as_str(), roles.as_str())).collect();
        operator(id, &tokens)
    };
    Service::start(&(of("acme") + &of("bravo") + &of("platform") + CONSOLE)).await
}

async fn rounds(service: &Service) -> (Account, String, String) {
    let mut client = service.client("acme-all").await;
    let alice = client.fund("alice", EUR, 1_000_000).await;
    let over = client.spin(bet("a", &alice, "0.01"), Some(Force::Loss)).await.unwrap();
    let open = client.spin(bet("b", &alice, "0.01"), Some(Force::Open)).await.unwrap();
    (alice, over.round_id, open.round_id)
}

async fn round(service: &Service, round_id: &str) -> Round {
    let mut client = service.client("acme-all").await;
    let request = GetRoundRequest { round_id: round_id.to_owned() };
    client.ledger.get_round(request).await.unwrap().into_inner().round.unwrap()
}

fn text(page: &Page) -> String {
    let body = page.body.split("<main").nth(1).unwrap_or(&page.body);
    body.split('<').filter(|part| !part.starts_with("input")).collect::<Vec<_>>().join("<")
}

fn around_steps(page: &str) -> usize {
    let (before, rest) = page.split_once("<section class=\"part").unwrap();
    let (_, last) = rest.rsplit_once("<section class=\"part").unwrap();
    let (_, after) = last.split_once("</section>").unwrap();
    before.len() + after.len()
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_27_each_page_is_for_the_roles_of_its_calls() {
    let service = service().await;
    let (_, over, _) = rounds(&service).await;
    let round = format!("/round/{over}");
    let view = ["play", "support", "audit", "all"];
    let (audit, any) = (["audit", "all"], ["play", "wallet", "support", "audit", "admin", "all"]);
    let pages: [(&str, &[&str]); 16] = [
        ("/", &any),
        ("/find", &any),
        (&round, &view),
        (&format!("{round}?frame=1"), &view),
        (&format!("{round}/json"), &view),
        (&format!("{round}/words"), &view),
        (&format!("{round}/proof"), &view),
        (&format!("{round}/check"), &view),
        ("/player/acme/alice", &["play", "wallet", "support", "audit", "all"]),
        ("/open/acme", &view),
        ("/jackpots", &any),
        ("/games", &any),
        ("/reports", &audit),
        ("/reports/revenue", &audit),
        ("/trust", &any),
        ("/log", &audit),
    ];
    for role in any {
        let mut browser = Browser::logged_in(service.server.console(), &format!("acme-{role}")).await;
        for (path, roles) in pages {
            let page = browser.get(path).await;
            let wanted = if roles.contains(&role) { 200 } else { 403 };
            assert_eq!(page.status, wanted, "{path} as {role}: {}", page.body);
            assert_eq!(page.body.contains("ROLE_MISSING"), wanted == 403, "{path} as {role}");
        }
        let page = browser.get("/reports/events.csv").await;
        assert_eq!(page.status, if audit.contains(&role) { 200 } else { 403 }, "events.csv as {role}");
    }
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_19_pages_are_well_formed_small_and_load_nothing() {
    let service = service().await;
    let (_, over, open) = rounds(&service).await;
    let mut client = service.client("acme-all").await;
    let position = round(&service, &over).await.steps[0].position;
    let mut paths = vec![format!("/log/0/{position}"), "/player/acme/alice?currency=EUR&game=bewitched".to_owned()];
    for (number, game) in latest_games().iter().copied().enumerate() {
        let ben = client.fund(&format!("ben{number}"), EUR, 100_000_000).await;
        let request = stake_on(game, "r", &ben, smallest(game));
        let steps = play(&mut client, game, request, number).await;
        paths.push(format!("/round/{}", steps[0].round_id));
        paths.push(format!("/round/{}?frame=1", steps[0].round_id));
        let of_game = format!("/games/{}/{}", game.name(), game.rules_version());
        paths.extend(["", "/par", "/reels", "/returns"].map(|end| format!("{of_game}{end}")));
    }
    paths.extend([over, open].map(|id| format!("/round/{id}")));
    let fixed = [
        "/",
        "/?every=5",
        "/find",
        "/find?q=what+is+this",
        "/jackpots",
        "/jackpots/bewitched",
        "/games",
        "/reports",
        "/reports/revenue",
        "/players",
        "/players?sort=rounds",
        "/rounds?operator=acme",
        "/refusals",
        "/runbook",
        "/trust",
    ];
    paths.extend(fixed.map(str::to_owned));
    paths.extend(["/log", "/log?partition=0&to=3", "/log/0/1", "/open/acme", "/login", "/nothing"].map(str::to_owned));
    for token in ["acme-all", "platform-all"] {
        let mut browser = Browser::logged_in(service.server.console(), token).await;
        for path in &paths {
            let mut page = browser.get(path).await;
            for _ in 0..5 {
                if page.status == 504 {
                    page = browser.get(path).await;
                }
            }
            let refused = token != "acme-all" && (path.starts_with("/round") || path.starts_with("/player/"));
            let refused = refused || path == if token == "acme-all" { "/log/0/1" } else { "/rounds?operator=acme" };
            let wanted = if refused || path == "/nothing" { 404 } else { 200 };
            assert_eq!(page.status, wanted, "{path} as {token}: {}", page.body);
            assert!(page.body.len() <= 100_000, "{path}: {} bytes", page.body.len());
            if path.starts_with("/round/") && page.status == 200 && !path.contains('?') {
                assert!(around_steps(&page.body) <= 6_700, "{path}: {} bytes", around_steps(&page.body));
            }
            assert_well_formed(&page.body);
            let own = ["htmx", "keys"].map(|name| format!("<script src=\"/{name}.js\" defer></script>"));
            let loaded = own.iter().fold(page.body, |body, script| body.replace(script, ""));
            assert!(!loaded.contains("http:") && !loaded.contains("https:") && !loaded.contains("<script"), "{path}");
        }
    }
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_27_what_is_anothers_is_refused_like_what_is_not_there() {
    let service = service().await;
    let (_, over, open) = rounds(&service).await;
    let mut own = Browser::logged_in(service.server.console(), "acme-all").await;
    let page = own.get(&format!("/round/{over}")).await;
    let (word, void) = (page.hidden("/logout", "word").unwrap(), format!("/round/{over}/void"));
    assert!(page.hidden(&void, "request").is_some(), "the operator's support can void the round");
    let mut bravo = Browser::logged_in(service.server.console(), "bravo-all").await;
    let mut pairs = vec![("/player/acme/alice".to_owned(), "/player/acme/nobody".to_owned())];
    pairs.extend(
        ["", "?frame=1", "/json", "/words", "/proof", "/check"]
            .map(|end| (format!("/round/{over}{end}"), format!("/round/acme/alice/99{end}"))),
    );
    pairs.push(("/find?q=acme%2Falice+deposit-EUR".to_owned(), "/find?q=acme%2Fnobody+deposit-EUR".to_owned()));
    for (theirs, none) in pairs {
        let (theirs, none) = (bravo.get(&theirs).await, bravo.get(&none).await);
        assert_eq!(theirs.status, none.status, "{}", theirs.body);
        let same =
            |page: &Page| text(page).replace("nobody", "alice").replace("alice/99", "alice/1").replace("XXX", "EUR");
        assert_eq!(same(&theirs), same(&none));
        assert!(!theirs.body.contains("10,000.00"), "the page shows another operator's balance: {}", theirs.body);
    }
    let bravos = bravo.get("/find").await.hidden("/logout", "word").unwrap();
    for path in [void.as_str(), &format!("/round/{open}/close")] {
        let fields = [("request", "x1"), ("reason", "none"), ("actor", "")];
        let with = |word| [("word", word)].into_iter().chain(fields).collect::<Vec<_>>();
        assert_eq!(bravo.post(path, &with(&bravos)).await.status, 404, "{path}");
        assert_eq!(bravo.post(path, &with(&word)).await.status, 403, "{path}");
    }
    assert_eq!(round(&service, &over).await.state(), RoundState::Settled);
    assert_eq!(round(&service, &open).await.state(), RoundState::Open);
    let mut client = service.client("platform-all").await;
    let (currency_code, eur_per_unit, source) = ("SEK".to_owned(), "0.09".to_owned(), "ECB".to_owned());
    let rate = SetExchangeRateRequest { request_id: "r".into(), currency_code, eur_per_unit, source };
    client.ledger.set_exchange_rate(rate).await.unwrap();
    let log = bravo.get("/log").await;
    assert!(!text(&log).contains("alice") && log.status == 200, "{}", log.body);
    let mut found = false;
    for partition in 0..8 {
        found |= own.get(&format!("/log?partition={partition}")).await.body.contains("/player/acme/alice");
    }
    assert!(found);
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_27_a_session_begins_with_a_known_token_and_ends_with_log_out_or_rest() {
    let service = service().await;
    let address = service.server.console();
    let mut browser = Browser::new(address);
    for path in ["/", "/player/acme/alice", "/log/0/1"] {
        let page = browser.get(path).await;
        assert_eq!(page.status, 303, "{path}");
        assert!(page.header("location").starts_with("/login?next=%2F"), "{}", page.header("location"));
    }
    assert_eq!(browser.post("/round/acme/alice/1/void", &[]).await.status, 303);
    for token in ["unknown", "", "acme-all\u{e9}"] {
        let page = browser.post("/login", &[("token", token)]).await;
        assert!(page.header("set-cookie").is_empty() && page.header("location") != "/", "{token:?}: {}", page.status);
    }
    let page = browser.post("/login", &[("token", "acme-support"), ("next", "/find?q=x")]).await;
    assert_eq!((page.status, page.header("location")), (303, "/find?q=x"));
    let cookie = page.header("set-cookie").to_owned();
    assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict"), "{cookie}");
    assert_eq!(cookie.split([';', '=']).nth(1).unwrap().len(), 64, "the cookie has 256 bits as hexadecimal digits");
    let page = browser.get("/find").await;
    assert!(
        page.body.contains("acme · c4") && !page.body.contains("acme-support"),
        "the page names the credential but does not show the token"
    );
    let before = browser.clone();
    browser.post("/login", &[("token", "acme-support")]).await;
    assert_ne!(before.cookie, browser.cookie);
    assert_eq!(before.clone().get("/find").await.status, 303);
    let page = browser.get("/find").await;
    let kept = browser.clone();
    let page = browser.submit(&page, "/logout", &[]).await;
    assert_eq!((page.status, page.header("location")), (303, "/login"));
    assert!(page.header("set-cookie").contains("Max-Age=0"));
    assert_eq!(kept.clone().get("/find").await.status, 303, "the cookie is invalid after the log-out");
    let mut resting = Browser::logged_in(address, "acme-support").await;
    service.clock.fetch_add(15 * 60_000 - 1, Ordering::SeqCst);
    assert_eq!(resting.get("/find").await.status, 200);
    service.clock.fetch_add(15 * 60_000, Ordering::SeqCst);
    assert_eq!(resting.get("/find").await.status, 303, "the session ends after 15 minutes without a request");
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_27_a_token_that_expires_ends_what_its_session_may() {
    let text = operator("acme", &[("acme-all", ALL)]) + "expires = 2027-01-01T00:00:00Z\n" + CONSOLE;
    let service = Service::start(&text).await;
    service.clock.store(NEW_YEAR_MS - 1_000, Ordering::SeqCst);
    let mut browser = Browser::logged_in(service.server.console(), "acme-all").await;
    assert_eq!(browser.get("/").await.status, 200);
    service.clock.store(NEW_YEAR_MS, Ordering::SeqCst);
    let page = browser.get("/").await;
    assert_eq!((page.status, page.header("location")), (303, "/login?why=TOKEN_EXPIRED"));
    assert!(browser.get("/login?why=TOKEN_EXPIRED").await.body.contains("The token has expired"));
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_27_a_form_changes_nothing_unless_it_comes_from_a_page_of_the_session() {
    let service = service().await;
    let (_, over, _) = rounds(&service).await;
    let (page_of, void) = (format!("/round/{over}"), format!("/round/{over}/void"));
    let mut browser = Browser::logged_in(service.server.console(), "acme-support").await;
    let mut other = Browser::logged_in(service.server.console(), "acme-support").await;
    let page = browser.get(&page_of).await;
    let word = page.hidden(&void, "word").unwrap();
    let others = other.get(&page_of).await.hidden(&void, "word").unwrap();
    let form = |word: &str| format!("word={word}&request=x&reason=stuck&actor=");
    let sent = |headers: &'static [(&'static str, &'static str)], body: String| {
        let (mut browser, void) = (browser.clone(), void.clone());
        async move { browser.ask("POST", &void, headers, &body).await.status }
    };
    assert_eq!(sent(&[], "request=x&reason=stuck".to_owned()).await, 403, "a form without its secret word is refused");
    assert_eq!(sent(&[], form(&others)).await, 403, "the secret word of another session is refused");
    assert_eq!(sent(&[("sec-fetch-site", "cross-site")], form(&word)).await, 403);
    assert_eq!(sent(&[("sec-fetch-site", "same-site")], form(&word)).await, 403);
    assert_eq!(sent(&[("origin", "http://evil.example")], form(&word)).await, 403);
    assert_eq!(sent(&[("origin", "null")], form(&word)).await, 403);
    assert_eq!(sent(&[], "x".repeat(20_000)).await, 413, "a long form is refused");
    let page = Browser::new(service.server.console()).post(&void, &[("word", &word)]).await;
    assert_eq!((page.status, page.header("location")), (303, "/login"), "no cookie");
    let mut cross = Browser::new(service.server.console());
    let page = cross.ask("POST", "/login", &[("origin", "http://evil.example")], "token=acme-support").await;
    assert_eq!((page.status, page.header("set-cookie")), (403, ""), "a page of another origin cannot log in");
    assert_eq!(round(&service, &over).await.state(), RoundState::Settled);
    let page = browser.get(&page_of).await;
    let own = [("reason", "reel 3 stuck"), ("actor", "T-7")];
    let done = browser.submit(&page, &void, &own).await;
    assert_eq!((done.status, done.header("location")), (303, page_of.as_str()), "{}", done.body);
    assert_eq!(browser.submit(&page, &void, &own).await.status, 303, "a form that is sent twice has one effect");
    let voided = round(&service, &over).await.void.unwrap();
    assert_eq!(
        (voided.reason.as_str(), voided.reference.as_str(), voided.actor.as_str()),
        ("reel 3 stuck", "T-7", "acme/c4")
    );
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_27_what_was_typed_is_text_wherever_it_is_shown() {
    const MARKUP: &str = "\"><script>alert(1)</script><img src=x onerror=alert(1)>'";
    let service = service().await;
    let (_, over, _) = rounds(&service).await;
    let mut browser = Browser::logged_in(service.server.console(), "acme-all").await;
    let path = format!("/round/{over}");
    let page = browser.get(&path).await;
    let done = browser.submit(&page, &format!("{path}/void"), &[("reason", MARKUP), ("actor", "<b>ann</b>")]).await;
    assert_eq!(done.status, 303, "{}", done.body);
    let mut switching = Browser::logged_in(service.server.console(), "platform-all").await;
    let page = switching.get("/switches?operator=*&game=neptune").await;
    let fields =
        [("state", "off"), ("confirmed", "neptune"), ("game", "neptune"), ("reason", MARKUP), ("actor", "<b>ann</b>")];
    let done = switching.submit(&page, "/switches", &fields).await;
    assert_eq!(done.status, 303, "{}", done.body);
    let typed = format!("/find?q={}&currency=%22%3E%3Cb%3E", "%22%3E%3Cscript%3Ealert(1)%3C%2Fscript%3E");
    let next = "/login?next=%2F%22%3E%3Cscript%3Ealert(1)%3C%2Fscript%3E&why=%3Cscript%3E";
    for path in [
        path.as_str(),
        "/reports",
        "/",
        "/trust",
        &typed,
        next,
        "/reports?kind=%3Cscript%3E&page=%3Cb%3E",
        "/reports/revenue?from=%22%3E%3Cscript%3E",
        "/reports/revenue?from=2999-01-01&game=%22%3E%3Cscript%3E",
        "/log",
        "/%3Cscript%3E",
    ] {
        let page = browser.get(path).await;
        assert!(
            !page.body.contains("<script>") && !page.body.contains("<img") && !page.body.contains("<b>ann"),
            "{path}"
        );
        if page.body.starts_with("<!DOCTYPE") {
            assert_well_formed(&page.body);
        }
    }
    let shown = "&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;";
    assert!(browser.get("/").await.body.contains(shown), "typed markup is shown as text");
    assert!(browser.get(&path).await.body.contains("&lt;img src=x onerror=alert(1)&gt;"));
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_27_every_answer_tells_the_browser_what_it_may_do() {
    let service = service().await;
    let (_, over, _) = rounds(&service).await;
    let mut browser = Browser::logged_in(service.server.console(), "acme-all").await;
    let policy = "default-src 'none'; style-src 'self'; img-src 'self' data:; script-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";
    let paths = [
        "/",
        "/login",
        "/nothing",
        "/console.css",
        "/check.js",
        "/htmx.js",
        "/round/acme/alice/99",
        "/reports/events.jsonl",
    ]
    .map(str::to_owned);
    for path in
        paths.into_iter().chain(["", "/json", "/words", "/proof", "/check"].map(|end| format!("/round/{over}{end}")))
    {
        let page = browser.get(&path).await;
        assert_eq!(page.header("content-security-policy"), policy, "{path}");
        assert_eq!(page.header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(page.header("x-frame-options"), "DENY", "{path}");
        assert_eq!(page.header("referrer-policy"), "same-origin", "{path}");
        let kept =
            if ["/console.css", "/check.js", "/htmx.js"].contains(&path.as_str()) { "max-age=300" } else { "no-store" };
        assert_eq!(page.header("cache-control"), kept, "{path}");
    }
    for host in ["evil.example", "evil.example:80", "127.0.0.1.evil.example", ""] {
        let page = browser.ask("GET", "/", &[("host", host)], "").await;
        assert_eq!(page.status, 400, "{host}");
        assert!(!page.body.contains("acme"), "{host}");
    }
    let port = service.server.console().port();
    assert_eq!(browser.ask("GET", "/", &[("host", &format!("localhost:{port}"))], "").await.status, 200);
    for method in ["PUT", "DELETE", "TRACE", "OPTIONS"] {
        assert_eq!(browser.ask(method, "/", &[], "").await.status, 405, "{method}");
    }
    for next in
        ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)", "/a\r\nset-cookie: x=y"]
    {
        let page = browser.post("/login", &[("token", "acme-all"), ("next", next)]).await;
        assert_eq!((page.status, page.header("location")), (303, "/"), "{next}");
    }
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_27_changes_are_proposed_by_one_and_approved_by_another_on_pages() {
    let service = service().await;
    let mut ann = Browser::logged_in(service.server.console(), "platform-all").await;
    let mut bob = Browser::logged_in(service.server.console(), "platform-two").await;
    let page = ann.get("/jackpots/bewitched").await;
    let done = ann.submit(&page, "/jackpots/bewitched/suspend", &[("reason", "audit"), ("actor", "T-1")]).await;
    assert_eq!(done.status, 303, "{}", done.body);
    let page = ann.get("/jackpots/bewitched").await;
    assert!(page.body.contains("suspended"));
    let done = ann.submit(&page, "/jackpots/bewitched/resume", &[("actor", "")]).await;
    assert_eq!(done.status, 303, "{}", done.body);
    let page = ann.get("/jackpots/bewitched").await;
    assert!(page.body.contains("suspended"), "it waits for a second actor");
    let approvals = |page: &Page| -> Vec<String> {
        let actions = page.body.split("action=\"").map(|part| part.split('"').next().unwrap());
        actions.filter(|action| action.ends_with("/approve")).map(str::to_owned).collect()
    };
    assert!(approvals(&page).is_empty() && page.body.contains("another actor must approve it"), "{}", page.body);
    let waiting = approvals(&bob.get("/trust").await);
    let [approve] = waiting.as_slice() else { panic!("one change waits: {waiting:?}") };
    let word = page.hidden("/logout", "word").unwrap();
    let refused = ann.post(approve, &[("word", &word), ("request", "own")]).await;
    assert!(refused.status == 403 && refused.body.contains("SAME_ACTOR"), "{}", refused.body);
    let mut acme = Browser::logged_in(service.server.console(), "acme-all").await;
    let page = acme.get("/trust").await;
    assert!(!page.body.contains(approve), "it is not acme's to see");
    let word = page.hidden("/logout", "word").unwrap();
    let unseen = acme.post(approve, &[("word", &word), ("request", "x")]).await;
    let none = acme.post("/changes/999999/approve", &[("word", &word), ("request", "y")]).await;
    assert_eq!((unseen.status, none.status), (404, 404));
    assert_eq!(text(&unseen), text(&none));
    let page = bob.get("/trust").await;
    let done = bob.submit(&page, approve, &[]).await;
    assert_eq!(done.status, 303, "{}", done.body);
    let page = ann.get("/jackpots/bewitched").await;
    assert!(page.body.contains("active") && page.hidden("/jackpots/bewitched/suspend", "word").is_some());
    let page = bob.get("/trust").await;
    let checked = bob.submit(&page, "/trust/check", &[]).await;
    assert!(
        checked.status == 200 && checked.body.contains("No faults were found in the program or the books"),
        "{}",
        checked.body
    );
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_20_support_finds_a_round_that_waits_and_closes_it_on_its_page() {
    let service = service().await;
    let (_, _, open) = rounds(&service).await;
    let mut browser = Browser::logged_in(service.server.console(), "acme-support").await;
    let path = format!("/round/{open}");
    assert!(browser.get("/open/acme").await.body.contains(&format!("href=\"{path}\"")));
    assert!(browser.get("/player/acme/alice").await.body.contains(&format!("href=\"{path}\"")));
    for (asked, found) in [
        (open.replace('/', "%2F"), path.as_str()),
        ("acme%2Falice".to_owned(), "/player/acme/alice"),
        ("2".to_owned(), "/log/0/2"),
    ] {
        let page = browser.get(&format!("/find?q={asked}")).await;
        assert_eq!((page.status, page.header("location")), (303, found), "{asked}");
    }
    let found = browser.get("/find?q=acme%2Falice+deposit-EUR&currency=EUR").await;
    assert!(found.body.contains("10,000.00 EUR") && found.body.contains("deposit"), "{}", found.body);
    let found = browser.get("/find?q=acme%2Falice+b").await;
    assert!(found.body.contains(&format!("href=\"{path}#step-1\"")), "{}", found.body);
    assert!(browser.get("/find?q=acme%2Falice+none").await.body.contains("The log does not contain the request."));
    let page = browser.get(&path).await;
    assert!(page.hidden(&format!("{path}/close"), "word").is_some());
    let refused = browser.submit(&page, &format!("{path}/close"), &[("reason", ""), ("actor", "")]).await;
    assert!(refused.status == 400 && refused.body.contains("INVALID_FIELD"), "{}", refused.body);
    let page = browser.get(&path).await;
    let done = browser.submit(&page, &format!("{path}/close"), &[("reason", "asked to"), ("actor", "T-9")]).await;
    assert_eq!(done.status, 303, "{}", done.body);
    assert_eq!(round(&service, &open).await.state(), RoundState::Settled);
    let page = browser.get(&path).await;
    assert!(
        page.body.contains("asked to") && page.body.contains("id=\"step-2\"") && page.body.contains("href=\"#step-2\"")
    );
    let json: serde_json::Value = serde_json::from_str(&browser.get(&format!("{path}/json")).await.body).unwrap();
    assert_eq!((json["round_id"].as_str(), json["state"].as_str()), (Some(open.as_str()), Some("ROUND_STATE_SETTLED")));
    let proof = browser.get(&format!("{path}/proof")).await;
    assert!(proof.body.starts_with("c2sp.org/tlog-proof@"), "{}", proof.body);
    assert!(proof.header("content-disposition").starts_with("attachment; filename=\"acme-alice-"));
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_27_without_operators_the_console_says_that_it_is_open() {
    let data = tempfile::tempdir().unwrap();
    let mut open = config(data.path());
    open.console.listen = Some(([127, 0, 0, 1], 0).into());
    let server = start_fresh(&open).await;
    let mut client = Client::connect(server.address()).await;
    client.fund_account(&account("alice", EUR), 5_000).await;
    let mut browser = Browser::new(server.console());
    assert_eq!(browser.get("/").await.status, 303);
    let page = browser.get("/login").await;
    assert!(page.body.contains("anyone who can reach this address has all permissions"), "{}", page.body);
    browser.post("/login", &[]).await;
    let page = browser.get("/player/acme/alice").await;
    assert!(
        page.status == 200
            && page.body.contains("No access control: everyone has all permissions")
            && page.body.contains("50.00 EUR")
    );
    assert_eq!(browser.post("/trust/check", &[]).await.status, 403, "forms need their secret word in open mode too");
    server.stop().await.unwrap();
    open.console.listen = Some(([0, 0, 0, 0], 0).into());
    open.allow_beyond_loopback.anyone = true;
    open.allow_beyond_loopback.plaintext = true;
    let refused = open.check_exposure().unwrap_err().to_string();
    assert!(refused.contains("console") && refused.contains("without operators"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn at_b4_pl_27_over_tls_the_cookie_is_for_tls_alone_and_plain_http_gets_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let certificates = Certificates::make(folder.path());
    let tls = Certificates::section(folder.path());
    let service = Service::start(&(operator("acme", &[("acme-all", ALL)]) + &tls + CONSOLE)).await;
    let address = service.server.console();
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(certificates.root.as_bytes()).unwrap()).unwrap();
    let client = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let connector = TlsConnector::from(Arc::new(client));
    let name = ServerName::try_from("localhost").unwrap();
    let stream = TcpStream::connect(address).await.unwrap();
    let mut stream = connector.connect(name, stream).await.unwrap();
    let body = "token=acme-all";
    let request = format!(
        "POST /login HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer).await;
    assert!(answer.starts_with("HTTP/1.1 303 "), "{answer}");
    let (_, cookie) = answer.split_once("set-cookie: ").unwrap();
    assert!(cookie.starts_with("__Host-motherlode_console="), "{answer}");
    assert!(cookie.contains("; Path=/; HttpOnly; SameSite=Strict; Secure\r\n"), "{answer}");
    assert!(answer.contains("strict-transport-security: max-age=31536000\r\n"), "{answer}");
    let mut plain = TcpStream::connect(address).await.unwrap();
    plain.write_all(b"GET /login HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    let mut answer = vec![];
    let _ = plain.read_to_end(&mut answer).await;
    assert!(!answer.starts_with(b"HTTP"), "the TLS port answers nothing in plain HTTP");
    service.server.stop().await.unwrap();
}
