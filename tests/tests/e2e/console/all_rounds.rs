use super::{Browser, Page, service};
use motherlode_proto::{
    ledger::v1::VoidRoundRequest,
    report::v1::ListRefusalsRequest,
    round::v1::{Account, Round, RoundState},
    spin::v1::SkipRoundRequest,
};
use motherlode_tests::{EUR, Force, bet, operators::Service};
use std::{collections::BTreeSet, sync::atomic::Ordering};

const MINUTE_MS: i64 = 60_000;

async fn played(service: &Service) -> Vec<Round> {
    let mut client = service.client("acme-all").await;
    let accounts = [client.fund("ben", EUR, 1_000_000).await, client.fund("carl", EUR, 1_000_000).await];
    let mut rounds = vec![];
    for number in 0..65 {
        service.clock.fetch_add(MINUTE_MS, Ordering::SeqCst);
        let spin = bet(&format!("r{number}"), &accounts[number % 2], "0.01");
        let played = client.spin(spin, None).await.unwrap();
        if played.state() == RoundState::Open {
            let (request_id, round_id) = (format!("skip{number}"), played.round_id.clone());
            client.spin.skip_round(SkipRoundRequest { request_id, round_id, ..Default::default() }).await.unwrap();
        }
        rounds.push(played.round_id);
    }
    service.clock.fetch_add(MINUTE_MS, Ordering::SeqCst);
    rounds.push(client.spin(bet("open", &accounts[0], "0.01"), Some(Force::Open)).await.unwrap().round_id);
    let mut all = vec![];
    for round_id in rounds.iter().rev() {
        all.push(super::round(service, round_id).await);
    }
    all
}

fn listed(page: &Page) -> Vec<String> {
    assert_eq!(page.status, 200, "{}", page.body);
    let rows = page.body.split("<th scope=\"row\"><a href=\"/round/").skip(1);
    rows.map(|row| row.split('"').next().unwrap().to_owned()).collect()
}

fn link(page: &Page, text: &str) -> Option<String> {
    let before = page.body.split(&format!(">{text}</a>")).next().filter(|before| before.len() < page.body.len())?;
    Some(before.rsplit("href=\"").next()?.split('"').next()?.replace("&amp;", "&"))
}

fn names<'a>(rounds: impl IntoIterator<Item = &'a Round>) -> Vec<String> {
    rounds.into_iter().map(|round| round.round_id.clone()).collect()
}

fn win(round: &Round) -> i64 {
    round.win.as_ref().map_or(0, |win| win.amount_minor)
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_34_rounds_of_all_players_have_filters_pages_totals_and_files() {
    let service = service().await;
    let rounds = played(&service).await;
    let mut browser = Browser::logged_in(service.server.console(), "acme-support").await;
    let mut page = browser.get("/rounds").await;
    let mut all = listed(&page);
    assert_eq!(all.len(), 50);
    while let Some(next) = link(&page, "Earlier") {
        page = browser.get(&next).await;
        all.extend(listed(&page));
    }
    assert_eq!(all, names(&rounds), "each round once, the latest bet first");

    let void = VoidRoundRequest {
        request_id: "v".into(),
        round_id: rounds[9].round_id.clone(),
        reason: "reel 3 stuck".into(),
        ..Default::default()
    };
    service.client("acme-all").await.ledger.void_round(void).await.unwrap();
    let most = rounds.iter().map(win).max().unwrap();
    let least = format!("{}.{:02}", most / 100, most % 100);
    let minute = |at: usize| rounds[at].start_time.unwrap().to_string()[..16].to_owned();
    for (filter, wanted) in [
        ("won=0".to_owned(), names(rounds.iter().filter(|round| win(round) > 0).take(50))),
        (format!("won={least}"), names(rounds.iter().filter(|round| win(round) == most))),
        ("state=open".to_owned(), names(&rounds[..1])),
        ("state=void".to_owned(), names(&rounds[9..10])),
        ("free=yes".to_owned(), vec![]),
        ("game=neptune".to_owned(), vec![]),
        ("currency=SEK".to_owned(), vec![]),
        (format!("from={}&to={}", minute(20), minute(11)), names(&rounds[11..=20])),
        ("to=2026-12-30".to_owned(), vec![]),
    ] {
        let page = browser.get(&format!("/rounds?{filter}")).await;
        assert_eq!(listed(&page), wanted, "{filter}");
    }
    let sorted = listed(&browser.get("/rounds?sort=win").await);
    let wins = sorted.iter().map(|name| win(rounds.iter().find(|round| round.round_id == *name).unwrap()));
    assert!(sorted.len() == rounds.len() && wins.is_sorted_by(|one, next| one >= next), "the highest win first");
    for wrong in ["won=much", "from=yesterday", "to=2026-12-31T25:00", "page=x"] {
        assert_eq!(browser.get(&format!("/rounds?{wrong}")).await.status, 400, "{wrong}");
    }

    let page = browser.get("/rounds?won=0").await;
    let file = browser.get(&link(&page, "Download rounds as CSV").unwrap()).await;
    let column = |at: usize| file.body.lines().skip(1).map(move |line| line.split(',').nth(at).unwrap().to_owned());
    assert_eq!(column(0).collect::<Vec<_>>(), listed(&page), "exactly the shown rows: {}", file.body);
    let sum: i64 = column(6).map(|minor| minor.parse::<i64>().unwrap()).sum();
    let total = page.body.split("<tfoot>").nth(1).unwrap();
    assert!(total.contains(&format!("{}.{:02} EUR", sum / 100, sum % 100)), "{sum}: {total}");
    let mut bravo = Browser::logged_in(service.server.console(), "bravo-all").await;
    assert_eq!(listed(&bravo.get("/rounds").await), [] as [String; 0]);
    assert_eq!(bravo.get("/rounds?operator=acme").await.status, 404);
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_12_refused_calls_are_listed_for_their_operator_with_the_meaning_of_the_reason() {
    let service = service().await;
    let mut client = service.client("acme-all").await;
    let ben = client.fund("ben", EUR, 1).await;
    client.spin(bet("too-dear", &ben, "0.01"), None).await.unwrap_err();
    let mut bravo_client = service.client("bravo-all").await;
    let gina = Account { operator_id: "bravo".into(), player_id: "gina".into(), currency_code: "EUR".into() };
    bravo_client.spin(bet("bravos-own", &gina, "0.01"), None).await.unwrap_err();
    let mut browser = Browser::logged_in(service.server.console(), "acme-all").await;
    let front = browser.get("/").await;
    assert!(front.body.contains("href=\"/refusals\""), "{}", front.body);
    let page = browser.get("/refusals").await;
    for told in [
        "<a href=\"#INSUFFICIENT_FUNDS\">INSUFFICIENT_FUNDS</a>",
        "<td>Spin</td>",
        "href=\"/player/acme/ben\"",
        "href=\"/find?q=acme%2Fben+too-dear\"",
        "<section id=\"INSUFFICIENT_FUNDS\">",
    ] {
        assert!(page.body.contains(told), "{told}: {}", page.body);
    }
    let file = browser.get(&link(&page, "Download refusals as CSV").unwrap()).await;
    let rows = |text: &str| text.matches("too-dear").count();
    assert_eq!(rows(&file.body), 1, "{}", file.body);
    assert_eq!(rows(&browser.get("/refusals?reason=LOSS_LIMIT").await.body), 0);
    assert_eq!(browser.get("/refusals?reason=x").await.status, 400);
    let mut bravo = Browser::logged_in(service.server.console(), "bravo-all").await;
    for path in ["/refusals", "/refusals?operator=acme", "/refusals.csv?operator=acme", "/refusals.jsonl"] {
        let page = bravo.get(path).await;
        assert!(page.status == 200 && rows(&page.body) == 0 && !page.body.contains("ben"), "{path}: {}", page.body);
    }
    let mut platform = service.client("platform-all").await;
    let calls = platform.report.list_refusals(ListRefusalsRequest::default()).await.unwrap().into_inner().calls;
    let operators: BTreeSet<_> = calls.iter().map(|of| of.operator_id.as_str()).collect();
    assert!(operators.is_superset(&["acme", "bravo"].into()), "{operators:?}");
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_20_open_rounds_and_the_log_have_their_shown_rows_as_files() {
    let service = service().await;
    let rounds = played(&service).await;
    let mut browser = Browser::logged_in(service.server.console(), "acme-all").await;
    let page = browser.get("/open/acme?sort=bet").await;
    assert_eq!(listed(&page), names(&rounds[..1]));
    let file = browser.get(&link(&page, "Download open rounds as CSV").unwrap()).await;
    assert_eq!(file.body.lines().count(), 2, "{}", file.body);
    assert!(file.body.contains(&rounds[0].round_id), "{}", file.body);
    let partition = service.server.ledger_of("ben").partition();
    for filter in [String::new(), "&kind=deposited".to_owned()] {
        let page = browser.get(&format!("/log?partition={partition}{filter}")).await;
        let file = browser.get(&link(&page, "Download records as CSV").unwrap()).await;
        let rows = page.body.matches("<th scope=\"row\"").count();
        assert!(rows > 0 && file.body.lines().count() == rows + 1, "{filter}: {}", file.body);
    }
    let page = browser.get("/players?day=2026-12-31&sort=balance").await;
    assert!(page.body.contains("Balance after ↓") && page.body.contains("sort=rounds"), "{}", page.body);
    let file = browser.get("/jackpots/bewitched/awards.csv").await;
    assert!(file.status == 200 && file.body.starts_with("round_id,time,"), "{}", file.body);
    service.server.stop().await.unwrap();
}
