use motherlode_proto::spin::v1::Played;
use motherlode_testkit::sim::SimDisk;
use motherlode_tests::{Client, EUR, Player, bet, config, reason, start_on, store_on};
use std::{
    path::Path,
    sync::{Arc, atomic::AtomicU64},
};
use tonic::Code;

async fn cut(operation: u64, seed: u64) {
    let disk = SimDisk::new();
    let data = tempfile::tempdir().unwrap();
    let server = start_on(&config(data.path()), store_on(&disk)).await;
    let mut client = Client::connect(server.address()).await;
    let mut players = vec![];
    for player in 0..4 {
        players.push(Player::join(&mut client, &format!("p{player}"), "0.05").await);
    }
    disk.stop_at(disk.operations() + operation);
    let tasks: Vec<_> = players
        .into_iter()
        .map(|mut player| {
            let mut client = client.clone();
            tokio::spawn(async move {
                let status = player.play(&mut client, &Arc::new(AtomicU64::new(0))).await;
                assert_eq!(status.code(), Code::Unavailable, "{status}");
                player
            })
        })
        .collect();
    let mut players = vec![];
    for task in tasks {
        players.push(task.await.unwrap());
    }
    players[0].balance_is_served(&mut client).await;
    server.stop().await.unwrap();

    let left = disk.after_power_cut(seed);
    let data = tempfile::tempdir().unwrap();
    let server = start_on(&config(data.path()), store_on(&left)).await;
    let mut client = Client::connect(server.address()).await;
    for player in &mut players {
        player.check(&mut client).await;
    }
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_30_a_power_cut_loses_nothing_acknowledged() {
    for cycle in 0..24_u64 {
        cut(1 + cycle * cycle % 97, cycle).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_answers_an_error_keeps_reading_and_goes_on_with_room() {
    let disk = SimDisk::new();
    let data = tempfile::tempdir().unwrap();
    let server = start_on(&config(data.path()), store_on(&disk)).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("alice", EUR, 1_000_000).await;
    disk.set_room(Some(0));
    let (mut round, mut balance) = (0, 1_000_000);
    let status = loop {
        match client.play_out(bet(&format!("r{round}"), &account, "0.01")).await {
            Ok(steps) => {
                round += 1;
                let paid = |step: &Played| Some(step.jackpot.as_ref()?.amount.as_ref()?.amount_minor);
                balance += steps.iter().filter_map(paid).sum::<i64>() - 15;
                balance += steps.last().unwrap().win.as_ref().unwrap().amount_minor;
            }
            Err(status) => break status,
        }
    };
    assert_eq!((status.code(), reason(&status).as_str()), (Code::Unavailable, "LOG_FULL"));
    let open = server.ledger().player(&motherlode_state::StreamId::player("acme", "alice")).unwrap().unwrap();
    let staked: i64 = open.open_rounds().map(|round| round.started.bet.0).sum();
    assert_eq!(
        client.balance(&account).await,
        balance - staked,
        "the balance is readable and no acknowledged round is lost"
    );
    disk.set_room(None);
    let before = server.ledger().durable();
    while let Err(refused) = client.play_out(bet(&format!("r{round}"), &account, "0.01")).await {
        assert_eq!((refused.code(), reason(&refused).as_str()), (Code::Unavailable, "LOG_FULL"));
    }
    assert!(server.ledger().durable() > before);
    server.stop().await.unwrap();
    let server = start_on(&config(data.path()), store_on(&disk.after_kill())).await;
    let mut client = Client::connect(server.address()).await;
    client.play_out(bet(&format!("r{}", round + 1), &account, "0.01")).await.unwrap();
    server.stop().await.unwrap();
}

#[tokio::test]
async fn an_unusable_index_folder_is_said() {
    let data = tempfile::tempdir().unwrap();
    let blocked = data.path().join("index");
    std::fs::write(&blocked, "").unwrap();
    let store = Box::new(motherlode_log::MemoryStore::new(0));
    let opened = motherlode_ledger::open(store, Path::new(&blocked.join("0")), motherlode_ledger::Options::default());
    assert!(opened.err().is_some_and(|error| error.to_string().contains("index")));
}
