use super::{Browser, Page, rounds, service};
use motherlode_log::hash;
use motherlode_proto::convert::play::hex;
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
    tokio::time::timeout(std::time::Duration::from_secs(300), waiting).await.expect("it comes to that")
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
    assert!(theirs.body.contains("No record has this hash"), "{}", theirs.body);
    assert_eq!(super::text(&theirs).replace(&digits, ""), super::text(&none).replace(&"07".repeat(32), ""));
    let mut support = Browser::logged_in(service.server.console(), "acme-support").await;
    let page = support.get(&format!("/find?q={digits}")).await;
    assert_eq!((page.status, page.header("location")), (200, ""), "it needs the role: {}", page.body);
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
    assert!(found.body.contains("Audit 1") && found.body.contains("c0"), "who started it: {}", found.body);

    let version = motherlode_slots::latest("neptune").unwrap().rules_version();
    let game = format!("/games/neptune/{version}");
    let page = until(&mut browser, &game, "/jobs/simulation").await;
    let fields = [("game", "neptune"), ("version", version), ("rounds", "100000000")];
    let started = browser.submit(&page, "/jobs/simulation", &fields).await;
    assert_eq!((started.status, started.header("location")), (303, game.as_str()), "{}", started.body);
    let part = browser.get("/live/simulations/neptune").await;
    assert!(part.body.contains("<progress") && part.body.contains("hx-trigger=\"every 1s\""), "{}", part.body);
    let again = browser.submit(&page, "/jobs/simulation", &fields).await;
    assert_eq!(again.status, 303, "sent twice it has one effect");
    let page = browser.get(&game).await;
    let second = browser.submit(&page, "/jobs/simulation", &fields).await;
    assert_eq!(second.status, 429, "one at a time: {}", second.body);
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
    assert!(page.body.contains("<noscript>") && page.body.contains("/?every=5"), "there is a way without a script");
    let still = browser.get("/?live=off").await;
    assert!(!still.body.contains("hx-get") && still.body.contains("Resume live updates"), "what moves can be stopped");
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
        "15 minutes of nobody"
    );
    assert_eq!(browser.get("/").await.status, 303);
    let mut support = Browser::logged_in(service.server.console(), "acme-support").await;
    let part = support.get("/live/log").await;
    assert!(part.status == 403 && part.body.contains("not up to date"), "{}", part.body);
    service.server.stop().await.unwrap();
}
