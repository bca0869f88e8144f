use super::{Browser, rounds, service, text};
use motherlode_proto::{
    ledger::v1::{FindIdRequest, SetExchangeRateRequest, found_id::Kind},
    round::v1::{Account, Stake},
    spin::v1::{GrantCampaignRequest, OpenSessionRequest, OpenSessionResponse},
};
use motherlode_tests::operators::Service;

const EXPIRES_S: i64 = 4_102_444_800;

async fn opened(service: &Service, account: &Account) -> OpenSessionResponse {
    let mut client = service.client("acme-all").await;
    let stake = Stake { coin_value: "0.01".into(), lines: 5, coins_per_line: 1, ..Default::default() };
    let campaign = GrantCampaignRequest {
        request_id: "grant-1".into(),
        account: Some(account.clone()),
        campaign_id: "spring-26".into(),
        game: "neptune".into(),
        stake: Some(stake),
        rounds: 3,
        expire_time: Some(prost_types::Timestamp { seconds: EXPIRES_S, nanos: 0 }),
    };
    client.spin.grant_campaign(campaign).await.unwrap();
    let request = OpenSessionRequest {
        request_id: "session-1".into(),
        account: Some(account.clone()),
        game: "neptune".into(),
        operator_session: "casino-77".into(),
        ..Default::default()
    };
    client.spin.open_session(request).await.unwrap().into_inner()
}

async fn rate(service: &Service) {
    let mut client = service.client("platform-all").await;
    let rate = SetExchangeRateRequest {
        request_id: "rate-1".into(),
        currency_code: "SEK".into(),
        eur_per_unit: "0.09".into(),
        source: "ECB".into(),
    };
    client.ledger.set_exchange_rate(rate).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_20_a_request_a_session_and_a_campaign_are_found_without_their_player() {
    let service = service().await;
    let (alice, ..) = rounds(&service).await;
    let session = opened(&service, &alice).await;
    rate(&service).await;
    let mut client = service.client("acme-all").await;
    for (id, kind) in [
        ("alice", Kind::Player),
        ("a", Kind::Request),
        ("deposit-EUR", Kind::Request),
        ("grant-1", Kind::Request),
        ("session-1", Kind::Request),
        (&*session.session_id, Kind::Session),
        (&*session.session_name, Kind::Session),
        ("casino-77", Kind::Session),
        ("spring-26", Kind::Campaign),
    ] {
        for operator in ["", "acme"] {
            let request = FindIdRequest { operator_id: operator.into(), id: id.into() };
            let found = client.ledger.find_id(request).await.unwrap().into_inner().found;
            let found: Vec<_> = found.iter().map(|of| (of.kind(), &*of.operator_id, &*of.player_id)).collect();
            assert_eq!(found, [(kind, "acme", "alice")], "{id}");
        }
    }
    let mut browser = Browser::logged_in(service.server.console(), "acme-support").await;
    for (typed, place) in [
        ("acme%2Falice", "/player/acme/alice"),
        ("b", "/find?q=acme%2Falice+b&currency=EUR"),
        ("acme%2Fb", "/find?q=acme%2Falice+b&currency=EUR"),
        ("spring-26", "/player/acme/alice?currency=EUR&campaign=spring-26#free-rounds"),
    ] {
        let page = browser.get(&format!("/find?q={typed}")).await;
        assert_eq!((page.status, page.header("location")), (303, place), "{typed}: {}", page.body);
    }
    let page = browser.get("/find?q=b&currency=EUR").await;
    assert!(browser.get(page.header("location")).await.body.contains("The request was applied exactly once."));
    let page = browser.get(&format!("/find?q={}", session.session_name)).await;
    assert!(page.body.contains("#today-limits-and-sessions\">session "), "{}", page.body);
    let mut platform = Browser::logged_in(service.server.console(), "platform-all").await;
    let page = platform.get("/find?q=rate-1").await;
    let page = platform.get(page.header("location")).await;
    assert!(page.body.contains("The request was applied exactly once."), "{}", page.body);
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_27_every_kind_of_id_of_another_operator_is_unknown_to_every_role() {
    let service = service().await;
    let (alice, over, _) = rounds(&service).await;
    let session = opened(&service, &alice).await;
    let ids = ["alice", "a", "deposit-EUR", "grant-1", "session-1", "spring-26", "casino-77"];
    let ids = ids.into_iter().chain([&*session.session_id, &*session.session_name, &*over]);
    let ids: Vec<_> = ids.flat_map(|id| [id.to_owned(), format!("acme/{id}"), format!("acme/{id} a")]).collect();
    for token in ["bravo", "platform"] {
        for role in ["play", "wallet", "support", "audit", "admin", "all"] {
            let mut browser = Browser::logged_in(service.server.console(), &format!("{token}-{role}")).await;
            // An id with a space names a player's request, which the platform's admin may look up to decide on voids.
            for id in ids.iter().filter(|id| token == "bravo" || !id.contains(' ')) {
                let (start, end) = id.rsplit_once('/').map_or(("", &**id), |(start, end)| (start, end));
                let start = if start.is_empty() { String::new() } else { format!("{start}/") };
                let none: String =
                    end.chars().map(|letter| if letter.is_ascii_lowercase() { 'q' } else { letter }).collect();
                let none = format!("{start}{none}");
                let mut pages = vec![];
                for asked in [id, &none] {
                    let asked = asked.replace('/', "%2F").replace(' ', "+");
                    let mut page = browser.get(&format!("/find?q={asked}")).await;
                    while page.status == 303 && !page.header("location").is_empty() {
                        page = browser.get(page.header("location")).await;
                    }
                    let shown = text(&page).replace(&none, "ID").replace(&**id, "ID");
                    pages.push((page.status, shown));
                }
                assert_eq!(pages[0], pages[1], "{id} as {token}-{role}");
                assert!(!pages[0].1.contains("0.15"), "{id} as {token}-{role}");
            }
        }
    }
    let mut client = service.client("bravo-all").await;
    for operator in ["", "acme"] {
        let request = FindIdRequest { operator_id: operator.into(), id: "spring-26".into() };
        assert_eq!(client.ledger.find_id(request).await.unwrap().into_inner().found, []);
    }
    service.server.stop().await.unwrap();
}
