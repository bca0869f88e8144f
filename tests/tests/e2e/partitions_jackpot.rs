use motherlode_jackpot::PoolCoordinator;
use motherlode_ledger::{Handle, LedgerApi, Ledgers, Options};
use motherlode_proto::{
    jackpot::v1::{Award, ListAwardsRequest},
    ledger::v1::{VoidRoundRequest, ledger_service_server::LedgerServiceServer},
    round::v1::jackpot_win,
    spin::v1::{Played, spin_service_server::SpinServiceServer},
};
use motherlode_runtime::Config;
use motherlode_server::{index_folder, open_stores};
use motherlode_spin::{Dealer, SpinApi};
use motherlode_state::{Event, Nano, StreamId};
use motherlode_tests::{
    Client, EUR, Force, Server, audited, bet, commits, config,
    incidents::give_back,
    partitions::{balanced, settled},
    pool::{Hit, POOL, pool_model},
    scripted, start_on, vials,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    time::Duration,
};

async fn serve(data: &Path, partitions: u32) -> (Server, Client) {
    let config = Config { partitions, ..config(data) };
    let server = start_on(&config, open_stores(&config).unwrap()).await;
    let client = Client::connect(server.address()).await;
    (server, client)
}

async fn hit(client: &mut Client, player: &str, coin: &str) -> Played {
    let account = client.fund(player, EUR, 100_000_000).await;
    let mut request = bet("hit", &account, coin);
    request.stake.as_mut().unwrap().coins_per_line = 10;
    let spun = client.spin(request, Some(Force::Pick)).await.unwrap();
    client.choose("hit.1", &spun.round_id, vials(), Some(Force::Jackpot)).await.unwrap()
}

async fn paid_once(server: &Server, hits: usize) -> BTreeMap<Hit, i128> {
    settled(server.ledgers()).await;
    balanced(server.ledgers());
    let expected = pool_model(server.ledgers(), hits).expected;
    assert_eq!(expected.len(), hits, "no other round hit the jackpot by chance");
    expected.into_iter().collect()
}

fn partitions_of(paid: &BTreeMap<Hit, i128>) -> BTreeSet<u32> {
    paid.keys().map(|(partition, _)| *partition).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn bw_16_bw_17_sixty_four_concurrent_hits_over_all_partitions_are_paid_in_homes_order() {
    for partitions in [1, 2, 4] {
        let data = tempfile::tempdir().unwrap();
        let (server, client) = serve(data.path(), partitions).await;
        let coins = ["0.01", "0.20", "1.00", "10.00"];
        let tasks: Vec<_> = (0..64)
            .map(|task| {
                let mut client = client.clone();
                tokio::spawn(async move { hit(&mut client, &format!("p{task}"), coins[task % 4]).await })
            })
            .collect();
        let mut answered = BTreeMap::new();
        for (player, task) in tasks.into_iter().enumerate() {
            let jackpot = task.await.unwrap().jackpot.expect("the forced step hits the jackpot");
            let partition = StreamId::player("acme", format!("p{player}")).partition(partitions);
            let amount = jackpot.amount.filter(|_| jackpot.state == i32::from(jackpot_win::State::Paid));
            if let Some(amount) = amount {
                answered.insert((partition, jackpot.hit_position), i128::from(amount.amount_minor));
            }
        }
        let paid = paid_once(&server, 64).await;
        assert_eq!(partitions_of(&paid), (0..partitions).collect());
        assert!(answered.iter().all(|(hit, amount)| paid[hit] == *amount), "the answers state the paid amounts");
        server.stop().await.unwrap();

        let (server, _) = serve(data.path(), partitions).await;
        assert_eq!(paid_once(&server, 64).await, paid);
        server.stop().await.unwrap();
        assert_eq!(audited(data.path(), partitions as usize).in_transit, Nano::ZERO);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bw_16_hits_of_all_partitions_without_their_awards_at_a_crash_are_awarded_once_after_it() {
    for partitions in [1, 3] {
        let data = tempfile::tempdir().unwrap();
        let players = ["p0", "p2", "p6", "p1", "p3"];
        {
            let config = Config { partitions, ..config(data.path()) };
            let stores = open_stores(&config).unwrap();
            let index = |partition| index_folder(data.path(), partition);
            let ledgers = Ledgers::open(stores, index, &Options::default()).unwrap();
            let mut coordinator = PoolCoordinator::new(ledgers.clone());
            coordinator.ensure_pool(POOL).await.unwrap();
            coordinator.keep_up(true).await.unwrap();
            drop(coordinator);
            let (_stopper, stop) = motherlode_runtime::stop::channel();
            let api =
                SpinApi::new(ledgers.clone(), scripted(Dealer::from_master([9; 32])), Duration::ZERO, stop.clone());
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let serving = tokio::spawn(
                tonic::transport::Server::builder()
                    .add_service(SpinServiceServer::new(api))
                    .add_service(LedgerServiceServer::new(LedgerApi::new(ledgers.clone(), stop)))
                    .serve_with_incoming(tonic::transport::server::TcpIncoming::from(listener)),
            );
            let mut client = Client::connect(address).await;
            for player in players {
                let played = hit(&mut client, player, "1.00").await;
                assert_eq!(played.jackpot.unwrap().state(), jackpot_win::State::Pending);
            }
            serving.abort();
            let _ = serving.await;
            ledgers.close().await;
        }
        let (server, mut client) = serve(data.path(), partitions).await;
        let paid = paid_once(&server, players.len()).await;
        assert_eq!(partitions_of(&paid), (0..partitions).collect());
        let listed = awards(&mut client, players.len()).await.into_iter();
        let listed = listed.map(|award| {
            let hit = (award.hit_partition, award.hit_position);
            (hit, i128::from(award.amount.unwrap().amount_minor))
        });
        assert_eq!(listed.collect::<BTreeMap<_, _>>(), paid);
        server.stop().await.unwrap();
        assert_eq!(audited(data.path(), partitions as usize).in_transit, Nano::ZERO);
    }
}

async fn awards(client: &mut Client, count: usize) -> Vec<Award> {
    let listed = async {
        loop {
            let request = ListAwardsRequest { pool_id: POOL.into(), ..ListAwardsRequest::default() };
            let awards = client.jackpot.list_awards(request).await.unwrap().into_inner().awards;
            if awards.len() == count {
                break awards;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(60), listed).await.expect("the awards are listed")
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_38_the_contribution_of_a_voided_hit_of_any_partition_is_returned_for_an_incident_and_its_paid_award_stays()
{
    let data = tempfile::tempdir().unwrap();
    let (server, mut client) = serve(data.path(), 3).await;
    for player in ["p0", "p2", "p6"] {
        let played = hit(&mut client, player, "0.20").await;
        let (round_id, reason, actor) = (played.round_id, "stuck".into(), "ann".into());
        let request = VoidRoundRequest { request_id: "void".into(), round_id, reason, actor };
        client.ledger.void_round(request).await.unwrap();
    }
    settled(server.ledgers()).await;
    balanced(server.ledgers());
    let contributed = || server.ledger().books(|books| books.pool(POOL).unwrap().contributions);
    assert!(contributed() > Nano::ZERO, "the operator bears the contributions");
    give_back(&server, &mut client, "i-1").await;
    balanced(server.ledgers());
    assert_eq!(contributed(), Nano::ZERO, "all contributions are returned");
    let paid: usize = server.ledgers().all().map(payments).sum();
    assert_eq!(paid, 3, "each award is paid once");
    server.stop().await.unwrap();
    assert_eq!(audited(data.path(), 3).in_transit, Nano::ZERO);
}

fn payments(ledger: &Handle) -> usize {
    let paid = |event: &&Event| matches!(event, Event::JackpotPaid { .. });
    commits(ledger, 1).map(|logged| logged.commit.events.iter().filter(paid).count()).sum()
}
