use motherlode_log::Record;
use motherlode_proto::convert::record;
use motherlode_runtime::{Config, config::Store};
use motherlode_server::{LogLocation, copy, log_folder, open_stores};
use motherlode_state::{Currency, HOME, StreamId};
use motherlode_testkit::nats::Node;
use motherlode_tests::{Client, EUR, Player, Server, account, answers, checked, config, start_on};
use std::{
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

fn on(data: &Path, store: Store) -> Config {
    Config { store, ..config(data) }
}

fn folder(data: &Path) -> LogLocation {
    LogLocation::from_config(&on(data, Store::default()))
}

async fn serve(config: &Config) -> Server {
    start_on(config, open_stores(config).unwrap()).await
}

fn records(place: &LogLocation) -> Vec<Record> {
    place.existing(HOME).unwrap().map(|record| record.unwrap()).collect()
}

fn copied(from: &LogLocation, to: &LogLocation) -> Result<(), String> {
    copy(from, to, false, &AtomicBool::new(false), &AtomicU64::new(0)).map(|_| ()).map_err(|error| error.to_string())
}

fn files_copied(data: &Path, to: &Path) {
    let (from, to) = (log_folder(data, HOME), log_folder(to, HOME));
    fs::create_dir_all(&to).unwrap();
    let mut names: Vec<_> = fs::read_dir(&from).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert!(names.len() > 1, "several segments");
    for name in names {
        fs::copy(from.join(&name), to.join(&name)).unwrap();
    }
}

fn balance_after(records: &[Record], player: &str) -> Option<i64> {
    let stream = StreamId::player("acme", player);
    let logged = records.iter().rev().map(|stored| record::decode(&stored.bytes).unwrap());
    let last = logged.into_iter().find(|logged| logged.commit.stream == stream)?;
    last.balances_after.iter().find(|(currency, _)| *currency == Currency::EUR).map(|(_, amount)| amount.0)
}

async fn busy(mut player: Player, mut client: Client, stop: Arc<AtomicBool>, answers: Arc<AtomicU64>) {
    while !stop.load(Ordering::Acquire) {
        player.play_round(&mut client, &answers).await.unwrap();
        player.next_round();
    }
}

async fn answered(answers: &AtomicU64, more: u64) {
    let wanted = answers.load(Ordering::Relaxed) + more;
    while answers.load(Ordering::Relaxed) < wanted {
        tokio::task::yield_now().await;
    }
}

async fn restores(at: &Path, config: Config, played: u64, take: impl Fn(&LogLocation, &Path) + Send + 'static) {
    let server = serve(&config).await;
    let mut client = Client::connect(server.address()).await;
    let mut idle = Player::join(&mut client, "idle", "0.05").await;
    idle.play_rounds(&mut client, 40).await.unwrap();
    let then = answers::of_players(&mut client, &[account("idle", EUR)]).await;
    let player = Player::join(&mut client, "busy", "0.05").await;
    let (stop, count) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let playing = tokio::spawn(busy(player, client.clone(), Arc::clone(&stop), Arc::clone(&count)));
    answered(&count, played).await;
    let durable = server.ledger().durable();
    let (from, backup) = (LogLocation::from_config(&config), at.join("backup"));
    let taken = tokio::task::spawn_blocking({
        let (from, backup) = (from.clone(), backup.clone());
        move || take(&from, &backup)
    });
    answered(&count, 50).await;
    taken.await.unwrap();
    answered(&count, 50).await;
    stop.store(true, Ordering::Release);
    playing.await.unwrap();

    let restored = on(&at.join("restored"), Store::default());
    copied(&folder(&backup), &folder(&restored.data)).unwrap();
    let (all, held) = (records(&from), records(&folder(&restored.data)));
    assert!(held.len() as u64 >= durable, "the copy has every commit acknowledged before it began");
    assert!(all.len() > held.len() && all.starts_with(&held), "the copy is a prefix of the log");
    checked(&restored.data);
    let second = serve(&restored).await;
    let mut client = Client::connect(second.address()).await;
    assert_eq!(answers::of_players(&mut client, &[account("idle", EUR)]).await, then);
    assert_eq!(Some(client.balance(&account("busy", EUR)).await), balance_after(&all[..held.len()], "busy"));
    idle.check(&mut client).await;
    idle.play_rounds(&mut client, 5).await.unwrap();
    second.stop().await.unwrap();
    checked(&restored.data);
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_30_a_copy_of_segment_files_that_are_written_restores_to_an_audited_service() {
    let at = tempfile::tempdir().unwrap();
    restores(at.path(), on(&at.path().join("data"), Store::default()), 100, |from, backup| {
        copied(from, &folder(backup)).unwrap()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_30_the_files_themselves_copied_while_they_are_written_restore_to_an_audited_service() {
    let at = tempfile::tempdir().unwrap();
    let mut config = on(&at.path().join("data"), Store::default());
    config.limits.segment_bytes = 64 << 10;
    restores(at.path(), config, 300, |from, backup| match from {
        LogLocation::Folder { data, .. } => files_copied(data, backup),
        LogLocation::Stream(_) => panic!("only folders are copied as files"),
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_30_a_copy_of_a_stream_that_is_written_restores_to_an_audited_service() {
    let at = tempfile::tempdir().unwrap();
    let node = Node::start(&at.path().join("nats"), "");
    restores(at.path(), on(&at.path().join("data"), node.config("S")), 100, |from, backup| {
        copied(from, &folder(backup)).unwrap()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_30_a_restore_overwrites_nothing() {
    let at = tempfile::tempdir().unwrap();
    let node = Node::start(&at.path().join("nats"), "");
    let (data, backup) = (at.path().join("data"), at.path().join("backup"));
    let config = on(&data, Store::default());
    let server = serve(&config).await;
    let mut client = Client::connect(server.address()).await;
    let mut player = Player::join(&mut client, "p", "0.05").await;
    player.play_rounds(&mut client, 5).await.unwrap();
    copied(&folder(&data), &folder(&backup)).unwrap();
    let stream = LogLocation::Stream(node.config("S"));
    copied(&folder(&backup), &stream).unwrap();
    player.play_rounds(&mut client, 5).await.unwrap();

    let served = copied(&folder(&backup), &folder(&data)).unwrap_err();
    assert!(served.contains("the source has fewer records than the target") || served.contains("in use"), "{served}");
    server.stop().await.unwrap();
    let other = at.path().join("other");
    let server = serve(&on(&other, Store::default())).await;
    Player::join(&mut Client::connect(server.address()).await, "q", "0.05").await;
    server.stop().await.unwrap();
    copied(&folder(&data), &stream).unwrap();
    for (target, why) in [
        (folder(&data), "the source has fewer records than the target"),
        (stream, "the source has fewer records than the target"),
        (folder(&other), "the source has a different record than the target"),
    ] {
        let before = records(&target);
        let refused = copied(&folder(&backup), &target).unwrap_err();
        assert!(refused.contains(why), "{refused}");
        assert_eq!(records(&target), before);
    }
    let served = serve(&config).await;
    player.check(&mut Client::connect(served.address()).await).await;
    served.stop().await.unwrap();
}
