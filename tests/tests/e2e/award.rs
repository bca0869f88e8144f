use motherlode_ledger::Options;
use motherlode_proto::{
    ledger::v1::GetRoundRequest,
    report::v1::GetPoolStatementRequest,
    round::v1::{Round, jackpot_win},
    spin::v1::OpenSessionRequest,
};
use motherlode_state::Nano;
use motherlode_tests::{Client, EUR, Force, bet, config, fresh, start_with, vials};
use std::time::Duration;

async fn hit_in_a_session(client: &mut Client) -> (SessionIs, Round) {
    let account = client.fund("alice", EUR, 1_000_000).await;
    let open = OpenSessionRequest {
        request_id: "session".into(),
        account: Some(account.clone()),
        game: "bewitched".into(),
        ..OpenSessionRequest::default()
    };
    let opened = client.spin.open_session(open).await.unwrap().into_inner();
    let mut request = bet("hit", &account, "0.20");
    request.session_id.clone_from(&opened.session_id);
    request.stake.as_mut().unwrap().coins_per_line = 10;
    let spun = client.spin(request, Some(Force::Pick)).await.unwrap();
    client.choose("hit.1", &spun.round_id, vials(), Some(Force::Jackpot)).await.unwrap();
    let paid = async {
        loop {
            let request = GetRoundRequest { round_id: spun.round_id.clone() };
            let round = client.ledger.get_round(request).await.unwrap().into_inner().round.unwrap();
            if round.jackpots.iter().any(|won| won.state() == jackpot_win::State::Paid) {
                break round;
            }
        }
    };
    let round = tokio::time::timeout(Duration::from_secs(20), paid).await.expect("the award is paid");
    (SessionIs { id: opened.session_id, name: opened.session_name }, round)
}

struct SessionIs {
    id: String,
    name: String,
}

const NOON_MS: i64 = (20_777 * 24 + 12) * 3_600_000;

async fn service_at_noon(data: &std::path::Path) -> motherlode_tests::Server {
    let options = Options::on_clock(|| NOON_MS);
    let config = config(data);
    start_with(&config, fresh(&config), options).await
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_21_a_round_keeps_its_contribution_its_jackpot_and_its_session() {
    let data = tempfile::tempdir().unwrap();
    let server = service_at_noon(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let (session, round) = hit_in_a_session(&mut client).await;
    let euro = |text: &str| text.parse::<Nano>().unwrap();
    assert_eq!((round.bet.as_ref().unwrap().amount_minor, euro(&round.contribution_eur)), (3_000, euro("0.15")));
    assert_eq!(round.jackpots.len(), 1);
    let won = &round.jackpots[0];
    assert_eq!((won.pool_id.as_str(), won.amount.as_ref().unwrap().amount_minor), ("bewitched", 40_000));
    assert_eq!(won.hit_position, round.steps[1].position);
    assert_eq!((round.session_name.as_str(), session.name.len()), (session.name.as_str(), 32));
    assert_ne!(
        round.session_name, session.id,
        "the session id is secret, so a reader of the round cannot use the session"
    );
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_24_a_days_statement_has_its_hit_with_its_sources_and_reconciles() {
    let data = tempfile::tempdir().unwrap();
    let server = service_at_noon(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let (_, round) = hit_in_a_session(&mut client).await;
    let request = GetPoolStatementRequest { pool_id: "bewitched".into(), date: "2026-11-20".into() };
    let statement = client.report.get_pool_statement(request).await.unwrap().into_inner();
    let euro = |text: &str| text.parse::<Nano>().unwrap();
    assert_eq!(euro(&statement.difference_eur), Nano::ZERO);
    assert_eq!(statement.hits.len(), 1);
    let hit = &statement.hits[0];
    assert_eq!((hit.round_id.as_str(), hit.hit_position), (&*round.round_id, round.jackpots[0].hit_position));
    assert_eq!((&hit.amount, hit.cycle, hit.collision), (&round.jackpots[0].amount, 1, false));
    let sources = [&hit.increments_eur, &hit.seed_from_reserve_eur, &hit.seed_from_house_eur, &hit.to_reserve_eur];
    assert_eq!(sources.map(|figure| euro(figure)), ["0.003", "0", "400", "0.15"].map(euro));
    let closing = statement.closing.unwrap();
    let meters = [&closing.contributions_eur, &closing.house_funding_eur, &closing.paid_eur, &closing.increments_eur];
    assert_eq!(meters.map(|figure| euro(figure)), ["0.15", "400", "400", "0"].map(euro));
    assert_eq!((euro(&closing.reserve_eur), closing.cycle), (euro("0.15"), 2));
    server.stop().await.unwrap();
}
