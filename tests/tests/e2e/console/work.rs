use super::{Browser, Page, rounds, service};
use motherlode_log::hash;
use motherlode_proto::{convert::play::hex, ledger::v1::GetAccountRequest};
use std::sync::atomic::Ordering;

async fn until(browser: &mut Browser, path: &str, says: &str) -> Page {
    let waiting = async {
        loop {
            let page = browser.get(path).await;
            assert_eq!(page.status, 200, "{path}: {}", page.body);
            if page.body.contains(says) {
                return page;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(300), waiting)
        .await
        .expect("the page shows the expected text in time")
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_30_a_record_is_found_by_its_hash_by_whom_it_concerns() {
    let service = service().await;
    let (_, over, _) = rounds(&service).await;
    let position = super::round(&service, &over).await.steps[0].position;
    let ledger = service.server.ledgers().for_stream(&motherlode_state::StreamId::player("acme", "alice")).unwrap();
    let record = ledger.records(position, 1, usize::MAX).unwrap();
    let digits = hex(&hash(&record[0].bytes));
    let mut own = Browser::logged_in(service.server.console(), "acme-audit").await;
    for digits in [digits.clone(), digits.to_uppercase()] {
        let page = own.get(&format!("/find?q={digits}")).await;
        let place = format!("/log/{}/{position}", ledger.partition());
        assert_eq!((page.status, page.header("location")), (303, place.as_str()), "{}", page.body);
    }
    let mut bravo = Browser::logged_in(service.server.console(), "bravo-audit").await;
    let (theirs, none) =
        (bravo.get(&format!("/find?q={digits}")).await, bravo.get(&format!("/find?q={}", "07".repeat(32))).await);
    assert_eq!(theirs.status, 200);
    assert!(theirs.body.contains("There is no record with this hash"), "{}", theirs.body);
    assert_eq!(super::text(&theirs).replace(&digits, ""), super::text(&none).replace(&"07".repeat(32), ""));
    let mut support = Browser::logged_in(service.server.console(), "acme-support").await;
    let page = support.get(&format!("/find?q={digits}")).await;
    assert_eq!(
        (page.status, page.header("location")),
        (200, ""),
        "the search page is shown, but without a result for this role: {}",
        page.body
    );
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_19_a_statement_explains_the_balance_by_each_transaction() {
    let service = service().await;
    let (alice, over, _) = rounds(&service).await;
    let mut browser = Browser::logged_in(service.server.console(), "acme-all").await;
    let page = browser.get("/player/acme/alice").await;
    assert!(page.body.contains("href=\"/player/acme/alice/statement?currency=EUR\""), "{}", page.body);
    let page = browser.get("/player/acme/alice/statement?currency=EUR").await;
    assert_eq!(page.status, 200, "{}", page.body);
    let cells = page.body.split("<td class=\"n\">").skip(1).map(|rest| rest.split('<').next().unwrap());
    let cells = cells.filter(|text| text.ends_with(" EUR"));
    let minor = |shown: &str| -> i64 {
        let digits: String = shown.chars().filter(|letter| letter.is_ascii_digit() || "-−".contains(*letter)).collect();
        digits.replace('−', "-").parse().unwrap()
    };
    let figures: Vec<_> = cells.map(minor).collect();
    let (rows, rest) = figures.as_chunks::<2>();
    assert!(rest.is_empty() && rows.len() >= 3, "the statement has a deposit and two bets: {rows:?}");
    for (later, before) in rows.iter().zip(&rows[1..]) {
        assert_eq!(later[1], before[1] + later[0], "{rows:?}");
    }
    let mut client = service.client("acme-all").await;
    let request = GetAccountRequest { account: Some(alice) };
    let balance = client.ledger.get_account(request).await.unwrap().into_inner().balance.unwrap();
    assert_eq!(rows[0][1], balance.amount_minor);
    assert!(page.body.contains(&format!("href=\"/round/{over}\"")) && page.body.contains("deposit"));
    let file = browser.get("/player/acme/alice/statement.csv?currency=EUR").await;
    let told: Vec<Vec<_>> = file.body.lines().skip(1).map(|line| line.split(',').collect()).collect();
    let told: Vec<_> = told.iter().map(|row| [row[3], row[4]].map(|minor| minor.parse::<i64>().unwrap())).collect();
    assert_eq!(told, rows, "the file has the rows of the page: {}", file.body);
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_act_is_confirmed_once_and_a_refused_form_comes_back_with_its_input() {
    let service = service().await;
    let (_, over, _) = rounds(&service).await;
    let mut browser = Browser::logged_in(service.server.console(), "acme-all").await;
    let (page_of, void) = (format!("/round/{over}"), format!("/round/{over}/void"));
    let page = browser.get(&page_of).await;
    let refused = browser.submit(&page, &void, &[("reason", "reel 3 stuck"), ("actor", &"T".repeat(65))]).await;
    assert_eq!(refused.status, 400, "{}", refused.body);
    for kept in ["value=\"reel 3 stuck\"", "INVALID_FIELD", "action=\"/find\"", "href=\"/\""] {
        assert!(refused.body.contains(kept), "{kept}: {}", refused.body);
    }
    let done = browser.submit(&refused, &void, &[("reason", "reel 3 stuck"), ("actor", "T-7")]).await;
    assert_eq!(done.status, 303, "{}", done.body);
    let (page, again) = (browser.get(&page_of).await, browser.get(&page_of).await);
    let notice = "Voided: 0.15 EUR refunded, 0.00 EUR taken back.";
    assert!(page.body.contains(notice), "{}", page.body);
    assert!(!again.body.contains(notice), "once");
    let mut play = Browser::logged_in(service.server.console(), "acme-play").await;
    let missing = play.get("/log").await;
    assert!(missing.status == 403 && missing.body.contains("Needed: audit"), "{}", missing.body);
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_20_names_of_the_own_operator_and_addresses_of_pages_are_found() {
    let service = service().await;
    let (_, over, _) = rounds(&service).await;
    let number = over.rsplit('/').next().unwrap();
    let mut own = Browser::logged_in(service.server.console(), "acme-all").await;
    let pasted = format!("https%3A%2F%2Fconsole.example%2Fround%2F{}", over.replace('/', "%2F"));
    for (typed, place) in [
        ("alice".to_owned(), "/player/acme/alice".to_owned()),
        (format!("alice%2F{number}"), format!("/round/{over}")),
        (pasted.clone(), format!("/round/{over}")),
    ] {
        let page = own.get(&format!("/find?q={typed}")).await;
        assert_eq!((page.status, page.header("location")), (303, place.as_str()), "{}", page.body);
    }
    let page = own.get("/find").await;
    assert!(page.body.contains("<option value=\"alice\">"), "recent searches are offered: {}", page.body);
    let mut bravo = Browser::logged_in(service.server.console(), "bravo-all").await;
    let page = bravo.get("/find").await;
    assert!(!page.body.contains("alice"), "{}", page.body);
    let page = bravo.get("/find?q=alice").await;
    assert!(page.status == 200 && page.body.contains("that you may see has this id"), "{}", page.body);
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_21_pl_23_audits_and_simulations_are_started_and_watched_on_pages() {
    let service = service().await;
    rounds(&service).await;
    let mut browser = Browser::logged_in(service.server.console(), "platform-all").await;
    let page = browser.get("/trust").await;
    let started = browser.submit(&page, "/jobs/audit", &[]).await;
    assert_eq!((started.status, started.header("location")), (303, "/trust"), "{}", started.body);
    let found = until(&mut browser, "/live/audits", "It failed").await;
    assert!(found.body.contains("no such folder") && !found.body.contains("hx-get"), "{}", found.body);
    assert!(
        found.body.contains("Audit 1") && found.body.contains("c0"),
        "the list names the credential that started the audit: {}",
        found.body
    );

    let version = motherlode_slots::latest("neptune").unwrap().rules_version();
    let game = format!("/games/neptune/{version}");
    let page = until(&mut browser, &game, "/jobs/simulation").await;
    let fields = [("game", "neptune"), ("version", version), ("rounds", "100000000")];
    let started = browser.submit(&page, "/jobs/simulation", &fields).await;
    assert_eq!((started.status, started.header("location")), (303, game.as_str()), "{}", started.body);
    let part = browser.get("/live/simulations/neptune").await;
    assert!(part.body.contains("<progress") && part.body.contains("hx-trigger=\"every 1s\""), "{}", part.body);
    let again = browser.submit(&page, "/jobs/simulation", &fields).await;
    assert_eq!(again.status, 303, "a form that is sent twice has one effect");
    let page = browser.get(&game).await;
    let second = browser.submit(&page, "/jobs/simulation", &fields).await;
    assert_eq!(second.status, 429, "a second simulation is refused while one runs: {}", second.body);
    let cancelled = browser.submit(&page, "/jobs/2/cancel", &[]).await;
    assert_eq!((cancelled.status, cancelled.header("location")), (303, game.as_str()), "{}", cancelled.body);
    until(&mut browser, "/live/simulations/neptune", "Cancelled").await;

    let page = browser.get(&game).await;
    let started = browser
        .submit(&page, "/jobs/simulation", &[("game", "neptune"), ("version", version), ("rounds", "1000")])
        .await;
    assert_eq!(started.status, 303, "{}", started.body);
    let done = until(&mut browser, "/live/simulations/neptune", "1,000 rounds: each figure").await;
    assert!(done.body.contains("hit frequency") && done.body.contains("motherlode simulate neptune"), "{}", done.body);
    let page = browser.get(&game).await;
    let odd = [("game", "neptune"), ("version", version), ("rounds", "1000"), ("lines", "x")];
    assert_eq!(browser.submit(&page, "/jobs/simulation", &odd).await.status, 400);
    let none = [("game", "../../x"), ("version", version), ("rounds", "1000")];
    assert_eq!(browser.submit(&page, "/jobs/simulation", &none).await.status, 400);
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_27_parts_that_are_asked_for_by_themselves_keep_no_session_and_say_who_is_logged_out() {
    let service = service().await;
    let mut browser = Browser::logged_in(service.server.console(), "acme-all").await;
    let page = browser.get("/").await;
    assert!(page.body.contains("hx-get=\"/live/now\" hx-trigger=\"every 3s\""), "{}", page.body);
    assert!(
        page.body.contains("<noscript>") && page.body.contains("/?every=5"),
        "the page also refreshes without scripts"
    );
    let still = browser.get("/?live=off").await;
    assert!(!still.body.contains("hx-get") && still.body.contains("Resume live updates"), "live updates can be paused");
    let again = browser.get("/?every=5").await;
    assert_eq!(again.header("refresh"), "5");
    for minutes in [5, 5, 4] {
        service.clock.fetch_add(minutes * 60_000, Ordering::SeqCst);
        let part = browser.get("/live/now").await;
        assert!(part.status == 200 && part.body.contains("bewitched"), "{}", part.body);
    }
    service.clock.fetch_add(60_000, Ordering::SeqCst);
    let part = browser.get("/live/now").await;
    assert_eq!(
        (part.status, part.header("hx-redirect"), part.body.as_str()),
        (200, "/login", ""),
        "after 15 minutes without a user, live updates end the session"
    );
    assert_eq!(browser.get("/").await.status, 303);
    let mut support = Browser::logged_in(service.server.console(), "acme-support").await;
    let part = support.get("/live/log").await;
    assert!(part.status == 403 && part.body.contains("not up to date"), "{}", part.body);
    service.server.stop().await.unwrap();
}
