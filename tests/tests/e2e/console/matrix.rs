use super::{Browser, Page, round, rounds, service, text};
use motherlode_proto::round::v1::RoundState;
use motherlode_tests::operators::Service;
use std::collections::BTreeSet;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    Anybody,
    Any,
    Roles(&'static [&'static str]),
    Platform,
}

struct Row {
    route: &'static str,
    path: &'static str,
    who: Who,
    form: Option<&'static [(&'static str, &'static str)]>,
    own: bool,
}

const VIEW: Who = Who::Roles(&["play", "support", "audit"]);
const AUDIT: Who = Who::Roles(&["audit"]);
const SUPPORT: Who = Who::Roles(&["support"]);
const ADMIN: Who = Who::Roles(&["admin"]);

const fn page(route: &'static str, path: &'static str, who: Who) -> Row {
    Row { route, path, who, form: None, own: false }
}

const fn own(route: &'static str, path: &'static str, who: Who) -> Row {
    Row { route, path, who, form: None, own: true }
}

const fn act(
    route: &'static str,
    path: &'static str,
    who: Who,
    own: bool,
    form: &'static [(&'static str, &'static str)],
) -> Row {
    Row { route, path, who, form: Some(form), own }
}

const REASON: &[(&str, &str)] = &[("request", "matrix"), ("reason", "why"), ("actor", "")];

const ROWS: &[Row] = &[
    page("/", "/", Who::Any),
    page("/find", "/find?q=acme%2Falice", Who::Any),
    own("/round/{operator}/{player}/{number}", "/round/{round}", VIEW),
    own("/round/{operator}/{player}/{number}/json", "/round/{round}/json", VIEW),
    own("/round/{operator}/{player}/{number}/words", "/round/{round}/words", VIEW),
    own("/round/{operator}/{player}/{number}/proof", "/round/{round}/proof", VIEW),
    own("/round/{operator}/{player}/{number}/check", "/round/{round}/check", VIEW),
    act("/round/{operator}/{player}/{number}/void", "/round/{round}/void", SUPPORT, true, REASON),
    act("/round/{operator}/{player}/{number}/close", "/round/{open}/close", SUPPORT, true, REASON),
    own("/players", "/players?operator=acme", Who::Roles(&["wallet", "support", "audit"])),
    own("/players.{form}", "/players.csv?operator=acme", Who::Roles(&["wallet", "support", "audit"])),
    own("/players.{form}", "/players.parquet?operator=acme", Who::Roles(&["wallet", "support", "audit"])),
    own("/player/{operator}/{player}", "/player/acme/alice", Who::Roles(&["play", "wallet", "support", "audit"])),
    own(
        "/player/{operator}/{player}/statement",
        "/player/acme/alice/statement",
        Who::Roles(&["wallet", "support", "audit"]),
    ),
    own(
        "/player/{operator}/{player}/statement.{form}",
        "/player/acme/alice/statement.csv",
        Who::Roles(&["wallet", "support", "audit"]),
    ),
    own(
        "/player/{operator}/{player}/statement.{form}",
        "/player/acme/alice/statement.parquet",
        Who::Roles(&["wallet", "support", "audit"]),
    ),
    own(
        "/player/{operator}/{player}/rounds.{form}",
        "/player/acme/alice/rounds.csv",
        Who::Roles(&["play", "support", "audit"]),
    ),
    own(
        "/player/{operator}/{player}/rounds.{form}",
        "/player/acme/alice/rounds.parquet",
        Who::Roles(&["play", "support", "audit"]),
    ),
    page("/open/{operator}", "/open/acme", VIEW),
    page("/open/{operator}/rounds.{form}", "/open/acme/rounds.csv", VIEW),
    page("/open/{operator}/rounds.{form}", "/open/acme/rounds.parquet", VIEW),
    own("/rounds", "/rounds?operator=acme", Who::Roles(&["support", "audit"])),
    own("/rounds.{form}", "/rounds.csv?operator=acme", Who::Roles(&["support", "audit"])),
    own("/rounds.{form}", "/rounds.parquet?operator=acme", Who::Roles(&["support", "audit"])),
    page("/refusals", "/refusals", Who::Roles(&["support", "audit", "admin"])),
    page("/refusals", "/refusals?operator=acme", Who::Roles(&["support", "audit", "admin"])),
    page("/refusals.{form}", "/refusals.csv?operator=acme", Who::Roles(&["support", "audit", "admin"])),
    page("/refusals.{form}", "/refusals.parquet", Who::Roles(&["support", "audit", "admin"])),
    page("/jackpots", "/jackpots", Who::Any),
    page("/jackpots/{pool}", "/jackpots/bewitched", Who::Any),
    page(
        "/jackpots/{pool}/awards.{form}",
        "/jackpots/bewitched/awards.csv",
        Who::Roles(&["play", "support", "audit", "admin"]),
    ),
    page(
        "/jackpots/{pool}/awards.{form}",
        "/jackpots/bewitched/awards.parquet",
        Who::Roles(&["play", "support", "audit", "admin"]),
    ),
    act(
        "/jackpots/{pool}/incident",
        "/jackpots/bewitched/incident",
        Who::Platform,
        false,
        &[
            ("request", "incident"),
            ("incident", "i-1"),
            ("operator", "acme"),
            ("version", "1.6.1"),
            ("from", "2026-11-26T10:00:00Z"),
            ("until", "2026-11-26T11:00:00Z"),
            ("reason", "test"),
        ],
    ),
    act("/jackpots/{pool}/suspend", "/jackpots/bewitched/suspend", Who::Platform, false, REASON),
    act("/jackpots/{pool}/resume", "/jackpots/bewitched/resume", Who::Platform, false, &[("request", "again")]),
    act("/changes/{id}/approve", "/changes/1/approve", ADMIN, true, &[("request", "approve")]),
    act("/changes/{id}/reject", "/changes/1/reject", ADMIN, true, REASON),
    page("/switches", "/switches?operator=acme&game=neptune", ADMIN),
    act(
        "/switches",
        "/switches",
        ADMIN,
        false,
        &[
            ("request", "off"),
            ("state", "off"),
            ("confirmed", "neptune of acme"),
            ("operator", "acme"),
            ("game", "neptune"),
            ("version", ""),
            ("reason", "why"),
            ("actor", ""),
        ],
    ),
    page("/art/{game}/{version}", "/art/neptune/{version}", Who::Anybody),
    page("/games", "/games", Who::Any),
    page("/games/{game}/{version}", "/games/neptune/{version}", Who::Any),
    page("/games/{game}/{version}/par", "/games/neptune/{version}/par", Who::Any),
    page("/games/{game}/{version}/reels", "/games/neptune/{version}/reels", Who::Any),
    page("/games/{game}/{version}/returns", "/games/neptune/{version}/returns", Who::Any),
    act("/jobs/audit", "/jobs/audit", Who::Platform, false, &[("request", "audit")]),
    act(
        "/jobs/simulation",
        "/jobs/simulation",
        Who::Platform,
        false,
        &[("request", "simulation"), ("game", "neptune"), ("version", ""), ("rounds", "1000")],
    ),
    act("/jobs/{id}/cancel", "/jobs/1/cancel", Who::Platform, false, &[]),
    page("/reports", "/reports", AUDIT),
    page("/reports/events.{form}", "/reports/events.csv", AUDIT),
    page("/reports/events.{form}", "/reports/events.parquet", AUDIT),
    page("/reports/returns.{form}", "/reports/returns.jsonl", AUDIT),
    page("/reports/returns.{form}", "/reports/returns.parquet", AUDIT),
    page("/reports/reconciliation", "/reports/reconciliation", Who::Platform),
    page("/reports/reconciliation.{form}", "/reports/reconciliation.csv", Who::Platform),
    page("/reports/reconciliation.{form}", "/reports/reconciliation.parquet", Who::Platform),
    page("/reports/revenue", "/reports/revenue", AUDIT),
    page("/reports/revenue.{form}", "/reports/revenue.csv", AUDIT),
    page("/reports/revenue.{form}", "/reports/revenue.parquet", AUDIT),
    page("/runbook", "/runbook", Who::Any),
    page("/trust", "/trust", Who::Any),
    act("/trust/check", "/trust/check", Who::Platform, false, &[]),
    page("/log", "/log", AUDIT),
    page("/log.{form}", "/log.csv", AUDIT),
    page("/log.{form}", "/log.parquet", AUDIT),
    own("/log/{partition}/{position}", "/log/{record}", AUDIT),
    page("/login", "/login", Who::Anybody),
    act("/logout", "/logout", Who::Any, false, &[]),
    act("/v1/{service}/{method}", "", Who::Anybody, false, &[]),
    page("/live/now", "/live/now", Who::Any),
    page("/live/jackpots", "/live/jackpots", Who::Any),
    page("/live/jackpots/{pool}", "/live/jackpots/bewitched", Who::Any),
    page("/live/log", "/live/log", AUDIT),
    page("/live/suggestions", "/live/suggestions?q=a", Who::Roles(&["wallet", "support", "audit"])),
    page("/live/audits", "/live/audits", Who::Platform),
    page("/live/simulations/{game}", "/live/simulations/neptune", Who::Platform),
    page("/openapi.json", "/openapi.json", Who::Anybody),
    page("/check/{operator}/{player}/{number}", "{page}", Who::Anybody),
    page("/check/{operator}/{player}/{number}/proof", "{proof}", Who::Anybody),
    page("/console.css", "/console.css", Who::Anybody),
    page("/check.js", "/check.js", Who::Anybody),
    page("/htmx.js", "/htmx.js", Who::Anybody),
    page("/keys.js", "/keys.js", Who::Anybody),
    page("/icon.svg", "/icon.svg", Who::Anybody),
];

struct Names {
    over: String,
    open: String,
    record: String,
    link: String,
}

impl Names {
    async fn new(service: &Service) -> Self {
        let (_, over, open) = rounds(service).await;
        let told = round(service, &over).await;
        let position = told.steps[0].position;
        let link = told.check_url.replace("https://check.example.com", "");
        let ledger = service.server.ledgers().for_stream(&motherlode_state::StreamId::player("acme", "alice")).unwrap();
        let record = format!("{}/{position}", ledger.partition());
        Self { over, open, record, link }
    }

    fn path(&self, path: &str) -> String {
        let version = motherlode_slots::latest("neptune").unwrap().rules_version();
        let named = path.replace("{round}", &self.over).replace("{open}", &self.open);
        let named = named.replace("{page}", &self.link).replace("{proof}", &self.link.replacen('?', "/proof?", 1));
        named.replace("{record}", &self.record).replace("{version}", version)
    }
}

async fn ask(browser: &mut Browser, row: &Row, path: &str, word: &str) -> Page {
    match row.form {
        None => browser.get(path).await,
        Some(fields) => browser.post(path, &[&[("word", word)], fields].concat()).await,
    }
}

#[test]
fn pl_27_every_route_of_the_console_has_its_row() {
    let source = include_str!("../../../../services/console/src/routes.rs");
    let routes: BTreeSet<_> = source.split(".route(\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    assert_eq!(routes, ROWS.iter().map(|row| row.route).collect());
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_27_every_page_and_every_action_is_for_its_roles() {
    let service = service().await;
    let names = Names::new(&service).await;
    for row in ROWS.iter().filter(|row| !row.path.is_empty()) {
        let path = names.path(row.path);
        let mut nobody = Browser::new(service.server.console());
        let page = ask(&mut nobody, row, &path, "").await;
        match row.who {
            Who::Anybody => assert_eq!(page.status, 200, "{path} to nobody"),
            _ if path.starts_with("/live/") => {
                assert_eq!((page.status, page.header("hx-redirect")), (200, "/login"), "{path} to nobody");
                assert!(page.body.is_empty(), "{path} shows nothing without a log-in");
            }
            _ => assert_eq!(page.status, 303, "{path} to nobody"),
        }
        for role in ["play", "wallet", "support", "audit", "admin"] {
            let may = match row.who {
                Who::Anybody | Who::Any => true,
                Who::Roles(roles) => roles.contains(&role),
                Who::Platform => false,
            };
            if row.form.is_some() && may {
                continue;
            }
            let mut browser = Browser::logged_in(service.server.console(), &format!("acme-{role}")).await;
            let word = browser.get("/find").await.hidden("/logout", "word").unwrap();
            let page = ask(&mut browser, row, &path, &word).await;
            let wanted = if may { 200 } else { 403 };
            let found = path.starts_with("/find") && page.status == 303;
            assert!(page.status == wanted || found, "{path} as {role}: {} {}", page.status, page.body);
        }
    }
    assert_eq!(round(&service, &names.over).await.state(), RoundState::Settled);
    assert_eq!(round(&service, &names.open).await.state(), RoundState::Open);
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_27_no_action_is_done_without_the_word_of_its_session_or_for_another_site() {
    let service = service().await;
    let names = Names::new(&service).await;
    for row in ROWS.iter().filter(|row| row.form.is_some() && !row.path.is_empty()) {
        let token = if row.who == Who::Platform { "platform-all" } else { "acme-all" };
        let mut browser = Browser::logged_in(service.server.console(), token).await;
        let mut other = Browser::logged_in(service.server.console(), token).await;
        let words = [browser.get("/find").await, other.get("/find").await].map(|page| page.hidden("/logout", "word"));
        let [own, others] = words.map(Option::unwrap);
        let path = names.path(row.path);
        for word in ["", "guessed", &others] {
            assert_eq!(ask(&mut browser, row, &path, word).await.status, 403, "{path} with {word:?}");
        }
        for headers in [[("sec-fetch-site", "cross-site")], [("origin", "http://evil.example")]] {
            assert_eq!(browser.ask("POST", &path, &headers, &format!("word={own}")).await.status, 403, "{path}");
        }
    }
    assert_eq!(round(&service, &names.over).await.state(), RoundState::Settled);
    assert_eq!(round(&service, &names.open).await.state(), RoundState::Open);
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_27_a_part_that_is_shared_is_for_those_with_the_same_rights_and_a_token_that_is_good() {
    let service = service().await;
    rounds(&service).await;
    let path = &format!("/live/log?partition={}", service.server.ledger_of("alice").partition());
    let mut acme = Browser::logged_in(service.server.console(), "acme-all").await;
    let mut same = Browser::logged_in(service.server.console(), "acme-two").await;
    let mut bravo = Browser::logged_in(service.server.console(), "bravo-all").await;
    let mut support = Browser::logged_in(service.server.console(), "acme-support").await;
    let own = acme.get(path).await.body;
    assert!(own.contains("alice"), "{own}");
    assert!(same.get(path).await.body.contains("alice"), "both browsers see the page");
    assert!(!bravo.get(path).await.body.contains("alice"));
    assert_eq!(support.get(path).await.status, 403);
    let word = same.get("/find").await.hidden("/logout", "word").unwrap();
    assert_eq!(same.post("/logout", &[("word", &word)]).await.status, 303);
    let page = same.get(path).await;
    assert_eq!((page.header("hx-redirect"), page.body.as_str()), ("/login", ""), "a logged-out browser sees nothing");
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_27_another_operators_things_are_to_every_page_and_action_what_is_not_there() {
    let service = service().await;
    let names = Names::new(&service).await;
    let nobodys = Names {
        over: "acme/nobody/1".into(),
        open: "acme/nobody/1".into(),
        record: "0/999999".into(),
        link: String::new(),
    };
    for row in ROWS.iter().filter(|row| row.own) {
        let mut bravo = Browser::logged_in(service.server.console(), "bravo-all").await;
        let word = bravo.get("/find").await.hidden("/logout", "word").unwrap();
        let there = ask(&mut bravo, row, &names.path(row.path), &word).await;
        let nothing = ask(&mut bravo, row, &nobodys.path(row.path).replace("acme/alice", "acme/nobody"), &word).await;
        assert_eq!(there.status, 404, "{}: {}", row.route, there.body);
        assert_eq!((there.status, text(&there)), (nothing.status, text(&nothing)), "{}", row.route);
        if row.form.is_some() {
            let mut acme = Browser::logged_in(service.server.console(), "acme-all").await;
            let word = acme.get("/find").await.hidden("/logout", "word").unwrap();
            assert_eq!(ask(&mut bravo, row, &names.path(row.path), &word).await.status, 403, "{}", row.route);
        }
    }
    // The page of refused calls may show bravo the name alice, because bravo's own calls contained the name.
    let shared = ROWS.iter().filter(|row| !row.own && row.form.is_none() && !row.route.starts_with("/refusals"));
    for row in shared.filter(|row| row.who != Who::Platform) {
        let mut bravo = Browser::logged_in(service.server.console(), "bravo-all").await;
        let page = bravo.get(&names.path(row.path)).await;
        let told = text(&page).replace("q=acme%2Falice", "").replace("acme/alice", "");
        assert!(!told.contains("alice"), "{}: {}", row.route, page.body);
    }
    assert_eq!(round(&service, &names.over).await.state(), RoundState::Settled);
    assert_eq!(round(&service, &names.open).await.state(), RoundState::Open);
    service.server.stop().await.unwrap();
}
