use super::{Browser, Page, service};
use motherlode_proto::{
    ledger::v1::ListRoundsRequest,
    round::v1::{Account, Round, RoundState},
    spin::v1::SkipRoundRequest,
};
use motherlode_tests::{EUR, Force, bet, operators::Service};

const ROUNDS: usize = 70;

async fn played(service: &Service) -> (Account, Vec<Round>) {
    let mut client = service.client("acme-all").await;
    let ben = client.fund("ben", EUR, 1_000_000).await;
    for number in 1..ROUNDS {
        let played = client.spin(bet(&format!("r{number}"), &ben, "0.01"), None).await.unwrap();
        if played.state() == RoundState::Open {
            let skip = SkipRoundRequest {
                request_id: format!("skip{number}"),
                round_id: played.round_id,
                ..Default::default()
            };
            client.spin.skip_round(skip).await.unwrap();
        }
    }
    client.spin(bet("open", &ben, "0.01"), Some(Force::Open)).await.unwrap();
    let request = ListRoundsRequest { account: Some(ben.clone()), page_size: 100, ..Default::default() };
    let rounds = client.ledger.list_rounds(request).await.unwrap().into_inner().rounds;
    assert_eq!(rounds.len(), ROUNDS);
    (ben, rounds)
}

fn listed(page: &Page) -> Vec<String> {
    assert_eq!(page.status, 200, "{}", page.body);
    let history = page.body.split("id=\"history\"").nth(1).unwrap();
    let table = history.split("<tbody>").nth(1).unwrap_or_default().split("</tbody>").next().unwrap();
    table
        .split("<th scope=\"row\"><a href=\"/round/")
        .skip(1)
        .map(|row| row.split('"').next().unwrap().to_owned())
        .collect()
}

fn link<'a>(page: &'a Page, text: &str) -> Option<&'a str> {
    let before = page.body.split(&format!(">{text}</a>")).next().filter(|before| before.len() < page.body.len())?;
    before.rsplit("href=\"").next()?.split('"').next()
}

fn names<'a>(rounds: impl IntoIterator<Item = &'a Round>) -> Vec<String> {
    rounds.into_iter().map(|round| round.round_id.clone()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn dm_20_a_list_of_rounds_keeps_its_filters_skips_nothing_and_has_its_rows_as_a_file() {
    let service = service().await;
    let (_, rounds) = played(&service).await;
    let mut browser = Browser::logged_in(service.server.console(), "acme-support").await;
    let path = "/player/acme/ben?currency=EUR";
    let mut page = browser.get(path).await;
    let mut all = listed(&page);
    assert!(all.len() < ROUNDS, "it has pages");
    while let Some(next) = link(&page, "Earlier") {
        let next = next.replace("&amp;", "&").replace("#history", "");
        page = browser.get(&next).await;
        all.extend(listed(&page));
    }
    assert_eq!(all, names(&rounds), "each round once, the latest first");

    let win = |round: &Round| round.win.as_ref().map_or(0, |win| win.amount_minor);
    let most = rounds.iter().map(win).max().unwrap();
    let least = format!("{}.{:02}", most / 100, most % 100);
    let date = rounds[0].start_time.unwrap().to_string()[..10].to_owned();
    for (filter, wanted) in [
        ("&won=0".to_owned(), names(rounds.iter().filter(|round| win(round) > 0))),
        (format!("&won={least}"), names(rounds.iter().filter(|round| win(round) == most))),
        ("&state=open".to_owned(), names(&rounds[..1])),
        ("&state=void".to_owned(), vec![]),
        ("&free=yes".to_owned(), vec![]),
        (format!("&from={date}&to={date}&state=open"), names(&rounds[..1])),
        ("&from=2001-01-01&to=2001-01-02".to_owned(), vec![]),
        ("&game=neptune".to_owned(), vec![]),
    ] {
        let page = browser.get(&format!("{path}{filter}")).await;
        assert_eq!(listed(&page), wanted, "{filter}");
    }
    let sorted = listed(&browser.get(&format!("{path}&sort=win")).await);
    let wins = sorted.iter().map(|name| win(rounds.iter().find(|round| round.round_id == *name).unwrap()));
    assert!(sorted.len() == ROUNDS && wins.is_sorted_by(|one, next| one >= next), "the highest win first");
    for wrong in ["&won=much", "&from=yesterday"] {
        assert_eq!(browser.get(&format!("{path}{wrong}")).await.status, 400, "{wrong}");
    }

    let page = browser.get(&format!("{path}&won=0")).await;
    let file = browser.get(&link(&page, "Download rounds as CSV").unwrap().replace("&amp;", "&")).await;
    let column = |at: usize| file.body.lines().skip(1).map(move |line| line.split(',').nth(at).unwrap().to_owned());
    assert_eq!(column(0).collect::<Vec<_>>(), listed(&page), "exactly the shown rows: {}", file.body);
    let sum: i64 = column(6).map(|minor| minor.parse::<i64>().unwrap()).sum();
    let total = page.body.split("<tfoot>").nth(1).unwrap();
    assert!(total.contains(&format!("{}.{:02} EUR", sum / 100, sum % 100)), "{sum}: {total}");
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_34_players_of_a_day_are_listed_by_prefix_and_an_unknown_name_has_its_neighbours() {
    let service = service().await;
    let (ben, rounds) = played(&service).await;
    let mut client = service.client("acme-all").await;
    client.fund("benedict", EUR, 500).await;
    client.fund("carl", EUR, 500).await;
    let mut browser = Browser::logged_in(service.server.console(), "acme-support").await;
    let page = browser.get("/players?prefix=ben&sort=active").await;
    assert!(page.body.contains(">ben</a>") && page.body.contains(">benedict</a>"), "{}", page.body);
    assert!(!page.body.contains(">carl</a>"), "{}", page.body);
    let net = client.balance(&ben).await - 1_000_000;
    let file = browser.get("/players.csv?prefix=ben&sort=active").await;
    let rows: Vec<Vec<_>> = file.body.lines().skip(1).map(|line| line.split(',').collect()).collect();
    let row = rows.iter().find(|row| row[0] == "ben").unwrap();
    assert_eq!((row[3], row[4]), (&*rounds.len().to_string(), &*net.to_string()), "{rows:?}");
    assert_eq!(browser.get("/players?day=today").await.status, 400);

    let page = browser.get("/player/acme/bene").await;
    assert!(page.status == 404 && page.body.contains("href=\"/player/acme/benedict\""), "{}", page.body);
    let mut bravo = Browser::logged_in(service.server.console(), "bravo-all").await;
    for path in ["/player/acme/bene", "/player/bravo/bene", "/players?prefix=ben"] {
        let page = bravo.get(path).await;
        assert!(!page.body.contains("benedict"), "{path}: {}", page.body);
    }
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_20_all_players_are_listed_page_by_page_and_suggested_by_prefix() {
    let service = service().await;
    let mut client = service.client("acme-all").await;
    for player in 0..60 {
        client.fund(&format!("q{player:02}"), EUR, 500).await;
    }
    let mut browser = Browser::logged_in(service.server.console(), "acme-support").await;
    let names = |page: &Page| -> Vec<String> {
        let links = page.body.split("href=\"/player/acme/").skip(1);
        links.map(|link| link.split('"').next().unwrap().to_owned()).collect()
    };
    let first = browser.get("/players?prefix=q").await;
    assert_eq!(names(&first), (0..50).map(|player| format!("q{player:02}")).collect::<Vec<_>>());
    let next = browser.get(&link(&first, "Next players").unwrap().replace("&amp;", "&")).await;
    assert_eq!(names(&next), (50..60).map(|player| format!("q{player:02}")).collect::<Vec<_>>());
    assert!(link(&next, "Next players").is_none() && link(&next, "First players").is_some());
    let file = browser.get(&link(&next, "Download players as CSV").unwrap().replace("&amp;", "&")).await;
    assert_eq!(file.body.lines().nth(1), Some("q50,EUR,500,0,,0"), "exactly the shown rows: {}", file.body);
    assert_eq!(file.body.lines().count(), 11);
    let options = "<option value=\"q50\"></option>";
    for asked in ["q50", "acme%2Fq50"] {
        assert_eq!(browser.get(&format!("/live/suggestions?q={asked}")).await.body, options, "{asked}");
    }
    assert_eq!(browser.get("/live/suggestions?q=q").await.body.matches("<option").count(), 8);
    let page = browser.get("/player/acme/q5x").await;
    assert!(page.status == 404 && page.body.contains("href=\"/player/acme/q59\""), "{}", page.body);
    let mut bravo = Browser::logged_in(service.server.console(), "bravo-all").await;
    for path in ["/live/suggestions?q=q", "/live/suggestions?q=acme%2Fq", "/players?prefix=q", "/player/bravo/q5x"] {
        let page = bravo.get(path).await;
        let told = page.body.replace("q5x", "");
        assert!(!told.contains("q5"), "{path}: {told}");
    }
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_30_records_are_searched_by_stream_and_kind_and_shown_in_words() {
    let service = service().await;
    let (_, rounds) = played(&service).await;
    let ledger = service.server.ledger_of("ben");
    let mut browser = Browser::logged_in(service.server.console(), "acme-audit").await;
    let path = format!("/log?partition={}", ledger.partition());
    let page = browser.get(&format!("{path}&stream=player%2Facme%2Fben&kind=deposited")).await;
    assert_eq!(page.body.matches("<th scope=\"row\"").count(), 1, "{}", page.body);
    assert!(page.body.contains("currency EUR, amount 10,000.00 EUR"), "{}", page.body);
    let page = browser.get(&format!("{path}&stream=nobody")).await;
    assert!(page.status == 200 && page.body.contains("No matching record"), "{}", page.body);
    let position = rounds[1].steps[0].position;
    let page = browser.get(&format!("/log/{}/{position}", ledger.partition())).await;
    for told in ["Round started", "bet", "0.15 EUR", "Earlier records of the same stream", "<summary>Raw</summary>"] {
        assert!(page.body.contains(told), "{told}: {}", page.body);
    }
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_19_a_sheet_that_the_browser_has_is_not_sent_again() {
    let service = service().await;
    let version = motherlode_slots::latest("neptune").unwrap().rules_version();
    let mut browser = Browser::logged_in(service.server.console(), "acme-support").await;
    let mut bravo = Browser::logged_in(service.server.console(), "bravo-all").await;
    for part in ["par", "reels"] {
        let path = format!("/games/neptune/{version}/{part}");
        let first = browser.get(&path).await;
        let tag = first.header("etag").to_owned();
        assert!(first.status == 200 && first.body.len() > 2_000 && tag.starts_with("W/\""), "{part}: {tag}");
        assert_eq!(first.header("cache-control"), "private, no-cache");
        let again = browser.ask("GET", &path, &[("if-none-match", &tag)], "").await;
        assert_eq!((again.status, again.body.as_str(), again.header("etag")), (304, "", &*tag));
        let other = browser.ask("GET", &path, &[("if-none-match", "W/\"0\"")], "").await;
        assert_eq!((other.status, &other.body), (200, &first.body));
        let others = bravo.ask("GET", &path, &[("if-none-match", &tag)], "").await;
        assert_eq!(others.status, 200, "the page of another session");
        let mut unknown = Browser::new(service.server.console());
        assert_eq!(unknown.ask("GET", &path, &[("if-none-match", &tag)], "").await.status, 303);
    }
    service.server.stop().await.unwrap();
}
