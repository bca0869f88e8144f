use crate::PROGRAM;
use motherlode_jetstream::JetStreamStore;
use motherlode_log::{AppendError, Record, Store as _, hash};
use motherlode_runtime::{Config, config::Store};
use motherlode_server::{Copied, LogLocation, copy, open_stores};
use motherlode_state::StreamId;
use motherlode_testkit::nats::{Node, toml};
use motherlode_tests::{Client, Player, Process, Server, config, partitions::settled, serving, start_on, until};
use serde_json::Value;
use std::{
    fs,
    path::Path,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

const PARTITIONS: u32 = 3;
const PLAYERS: [&str; 3] = ["ann", "ben", "alice"];

async fn join(client: &mut Client) -> Vec<Player> {
    let mut players = vec![];
    for (partition, name) in (0..).zip(PLAYERS) {
        assert_eq!(StreamId::player("acme", name).partition(PARTITIONS), partition);
        players.push(Player::join(client, name, "0.05").await);
    }
    players
}

fn audited(place: &str, store: &Store) -> Value {
    let key = store.key_file.as_ref().unwrap();
    let audit = ["audit", place, "--format", "json", "--stream-key", key.to_str().unwrap()];
    let output = Command::new(PROGRAM).args(audit).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}");
    let mut report: Value = serde_json::from_slice(&output.stdout).unwrap();
    for partition in report["partitions"].as_array_mut().unwrap() {
        for beside in ["index", "checkpoints", "tree_size"] {
            partition[beside] = Value::Null;
        }
    }
    report
}

fn plays(mut player: Player, process: &Process, answers: &Arc<AtomicU64>) -> tokio::task::JoinHandle<Player> {
    let (address, answers) = (process.address, Arc::clone(answers));
    tokio::spawn(async move {
        let mut client = Client::connect(address).await;
        player.play(&mut client, &answers).await;
        player
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_30_a_writer_that_loses_one_partition_steps_down_from_all_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(&folder.path().join("nats"), "");
    let store = node.config("S");
    let file = folder.path().join("motherlode.toml");
    let text = format!("partitions = {PARTITIONS}\n{}", toml(&store));
    fs::write(&file, text).unwrap();
    let process = Process::start(PROGRAM, &folder.path().join("data"), Some(&file));
    let mut players = join(&mut Client::connect(process.address).await).await;
    for partition in 0..PARTITIONS {
        for under_load in [false, true] {
            until("a writer of all partitions", async || serving(process.address).await).await;
            let answers = Arc::new(AtomicU64::new(0));
            let mut playing = vec![];
            if under_load {
                playing.extend(players.drain(..).map(|player| plays(player, &process, &answers)));
                until("answers", async || answers.load(Ordering::Relaxed) > 10).await;
            }
            let taken = store.clone();
            let taking = tokio::task::spawn_blocking(move || JetStreamStore::open(&taken, partition).unwrap());
            let mut thief = taking.await.unwrap();
            until("the writer steps down", async || !serving(process.address).await).await;
            for playing in playing {
                players.push(playing.await.expect("repeated requests got the same answers"));
            }
            until("the writer takes over again", async || serving(process.address).await).await;
            let record = [&[0x0A, 0x20], &thief.head()[..], b"of a writer before"].concat();
            let late = tokio::task::spawn_blocking(move || thief.append(thief.end(), &[record.into()])).await.unwrap();
            assert!(matches!(late, Err(AppendError::Fenced { .. })), "{late:?}");
            let mut client = Client::connect(process.address).await;
            for player in &mut players {
                player.check(&mut client).await;
            }
        }
    }
    assert_eq!(process.terminate().await, Some(0));
    let report = audited(&format!("{}/S", node.url()), &store);
    assert_eq!((report["players"].as_u64(), report["partitions"].as_array().unwrap().len()), (Some(3), 3));
}

fn folder(data: &Path) -> LogLocation {
    LogLocation::Folder { data: data.to_owned(), segment_bytes: 1 << 20 }
}

fn copied(from: &LogLocation, to: &LogLocation) -> Vec<Copied> {
    copy(from, to, false, &AtomicBool::new(false), &AtomicU64::new(0)).map_err(|error| error.to_string()).unwrap()
}

fn records(place: &LogLocation) -> Vec<Vec<Record>> {
    let of = |partition| place.existing(partition).unwrap().map(Result::unwrap).collect();
    (0..PARTITIONS).map(of).collect()
}

async fn serve(data: &Path, store: Store) -> Server {
    let config = Config { partitions: PARTITIONS, store, ..config(data) };
    start_on(&config, open_stores(&config).unwrap()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_30_a_log_of_several_partitions_moves_to_streams_and_back_with_the_same_hashes() {
    let at = tempfile::tempdir().unwrap();
    let node = Node::start(&at.path().join("nats"), "");
    let (old, back, store) = (at.path().join("old"), at.path().join("back"), node.config("S"));
    let (streams, url) = (LogLocation::Stream(store.clone()), format!("{}/S", node.url()));
    let server = serve(&old, Store::default()).await;
    let mut client = Client::connect(server.address()).await;
    let mut players = join(&mut client).await;
    let over = Arc::new(AtomicBool::new(false));
    let following = {
        let (from, to, over) = (folder(&old), streams.clone(), Arc::clone(&over));
        std::thread::spawn(move || copy(&from, &to, true, &over, &AtomicU64::new(0)))
    };
    for player in &mut players {
        player.play_rounds(&mut client, 20).await.unwrap();
    }
    settled(server.ledgers()).await;
    let ends = server.ends();
    server.stop().await.unwrap();
    over.store(true, Ordering::Release);
    let there = following.join().unwrap().map_err(|error| error.to_string()).unwrap();
    assert!(there.iter().zip(ends).all(|(copied, end)| copied.before == 0 && copied.end >= end));
    let before = records(&folder(&old));
    assert_eq!(records(&streams), before);
    assert_eq!(audited(&url, &store), audited(old.to_str().unwrap(), &store));

    let server = serve(&at.path().join("new"), store.clone()).await;
    let mut client = Client::connect(server.address()).await;
    for player in &mut players {
        player.check(&mut client).await;
        player.play_rounds(&mut client, 5).await.unwrap();
    }
    settled(server.ledgers()).await;
    server.stop().await.unwrap();
    let now = records(&streams);
    assert!(now.iter().zip(&before).all(|(now, before)| now.len() > before.len() && now.starts_with(before)));
    for (data, known) in [(&old, &before), (&back, &vec![vec![]; 3])] {
        let copies = copied(&streams, &folder(data));
        for ((copied, known), now) in copies.iter().zip(known).zip(&now) {
            let ends = (known.len() as u64, now.len() as u64, hash(&now.last().unwrap().bytes));
            assert_eq!((copied.before, copied.end, copied.head), ends);
        }
        assert_eq!(records(&folder(data)), now);
        assert_eq!(audited(&url, &store), audited(data.to_str().unwrap(), &store));
    }
    let server = serve(&old, Store::default()).await;
    for player in &mut players {
        player.check(&mut Client::connect(server.address()).await).await;
    }
    server.stop().await.unwrap();
}
