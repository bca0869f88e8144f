use motherlode_proto::round::v1::RoundState;
use motherlode_tests::{
    Client, EUR, Force, Server, bet, checked, config, partitions::settled, pool::pool_model, start, start_fresh, vials,
};
use std::time::Duration;

async fn hit(client: &mut Client, player: &str, coin: &str) -> motherlode_proto::spin::v1::Played {
    let account = client.fund(player, EUR, 100_000_000).await;
    let mut request = bet("hit", &account, coin);
    request.stake.as_mut().unwrap().coins_per_line = 10;
    let spun = client.spin(request, Some(Force::Pick)).await.unwrap();
    client.choose("hit.1", &spun.round_id, vials(), Some(Force::Jackpot)).await.unwrap()
}

async fn contributed(server: &Server) -> i128 {
    settled(server.ledgers()).await;
    server.ledger().books(|books| books.pool("bewitched").unwrap().contributions.0)
}

#[tokio::test(flavor = "multi_thread")]
async fn bw_20_a_suspended_pool_takes_and_gives_nothing() {
    use motherlode_proto::jackpot::v1::{GetPoolRequest, PoolStatus, ResumePoolRequest, SuspendPoolRequest};
    let data = tempfile::tempdir().unwrap();
    let server = start_fresh(&config(data.path())).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("alice", EUR, 10_000_000).await;
    client.play_out(bet("before", &account, "1.00")).await.unwrap();
    let suspend = SuspendPoolRequest {
        request_id: "s1".into(),
        pool_id: "bewitched".into(),
        reason: "test".into(),
        actor: "ann".into(),
    };
    client.jackpot.suspend_pool(suspend).await.unwrap();
    let before = contributed(&server).await;
    client.play_out(bet("while", &account, "1.00")).await.unwrap();
    assert_eq!(contributed(&server).await, before);
    let pool = client.jackpot.get_pool(GetPoolRequest { pool_id: "bewitched".into() }).await.unwrap().into_inner().pool;
    assert_eq!(pool.unwrap().status(), PoolStatus::Suspended);
    let resume = ResumePoolRequest { request_id: "s2".into(), pool_id: "bewitched".into(), actor: "ann".into() };
    client.jackpot.resume_pool(resume).await.unwrap();
    client.play_out(bet("after", &account, "1.00")).await.unwrap();
    let pool = client.jackpot.get_pool(GetPoolRequest { pool_id: "bewitched".into() }).await.unwrap().into_inner().pool;
    assert_eq!(pool.unwrap().cycle, 1, "the pool keeps its cycle after a restart");
    assert_eq!(contributed(&server).await - before, 75_000_000);
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn bw_22_bw_24_a_line_win_can_be_doubled_five_times() {
    use motherlode_proto::round::v1::{Card, choice::Kind};
    let data = tempfile::tempdir().unwrap();
    let server = start_fresh(&config(data.path())).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("alice", EUR, 10_000).await;
    let mut request = bet("d", &account, "0.01");
    request.offer_double = true;
    let spun = client.spin(request, Some(Force::Double)).await.unwrap();
    assert_eq!(spun.state(), RoundState::Open);
    let wins = spun.outcome.as_ref().unwrap().spins[0].wins.iter();
    let mut at_risk: i64 = wins.filter(|win| win.line > 0).map(|win| i64::try_from(win.coins).unwrap()).sum();
    let rest = spun.win.unwrap().amount_minor - at_risk;
    let mut turned = vec![];
    for turn in 1..=5 {
        let guess = Kind::Double(Card::RedHeart.into());
        let played = client.choose(&format!("d.{turn}"), &spun.round_id, guess, Some(Force::Right)).await.unwrap();
        let outcome = played.outcome.as_ref().unwrap();
        turned.insert(0, Card::RedHeart as i32);
        assert_eq!(outcome.double_strip, turned, "the strip of cards begins with the latest");
        at_risk *= 2;
        assert_eq!(played.win.as_ref().unwrap().amount_minor, rest + at_risk);
        let state = if turn == 5 { RoundState::Settled } else { RoundState::Open };
        assert_eq!(played.state(), state, "turn {turn}");
    }
    assert_eq!(client.balance(&account).await, 10_000 - 15 + rest + at_risk);
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn bw_11_contributions_of_concurrent_bets_are_pooled_exactly() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let client = Client::connect(server.address()).await;
    let tasks: Vec<_> = (0..16)
        .map(|task| {
            let mut client = client.clone();
            tokio::spawn(async move {
                let account = client.fund(&format!("p{task}"), EUR, 10_000_000).await;
                for round in 0..20 {
                    client.play_out(bet(&format!("r{round}"), &account, "0.05")).await.unwrap();
                }
                hit(&mut client, &format!("h{task}"), "0.20").await;
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    settled(server.ledgers()).await;
    assert_eq!(pool_model(server.ledgers(), 16).contributed, (320 * 75 + 16 * 3_000) * 50_000);
    server.stop().await.unwrap();
    checked(data.path());
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_27_an_award_is_shown_to_its_own_operator_and_to_the_platform() {
    use motherlode_proto::jackpot::v1::ListAwardsRequest;
    use motherlode_runtime::{Config, connect::connect};
    use motherlode_tests::operators::{operator, token};

    let all = r#"["play", "wallet", "audit"]"#;
    let ids = ["acme", "other", "platform"];
    let text = ids.map(|id| operator(id, &[(id, all)])).concat();
    let data = tempfile::tempdir().unwrap();
    let config = Config { operators: Config::parse(&text).unwrap().operators, ..config(data.path()) };
    let server = start_fresh(&config).await;
    let target = format!("http://{}", server.address());
    let client = async |id: &str| Client::on(connect(&target, &token(id), None).await.unwrap());
    hit(&mut client("acme").await, "alice", "0.10").await;
    let awards = async |id: &str| {
        let request = ListAwardsRequest { pool_id: "bewitched".into(), ..ListAwardsRequest::default() };
        client(id).await.jackpot.list_awards(request).await.unwrap().into_inner().awards
    };
    let own = async {
        loop {
            let own = awards("acme").await;
            if !own.is_empty() {
                break own;
            }
        }
    };
    let own = tokio::time::timeout(Duration::from_secs(20), own).await.expect("the award is listed");
    assert_eq!(own[0].round_id, "acme/alice/1");
    assert_eq!(awards("platform").await, own);
    assert_eq!(awards("other").await, []);
    server.stop().await.unwrap();
}
